"""Events and checkpoints as bytes: MessagePack, with arrays as extension values.

An array is written as its dtype, its shape and its bytes in little-endian order, so that a journal can be read on any
machine. Floats are written as they are: a NaN comes back with the same bits, and so with the same state hash.

SCHEMA is the version of everything written. Events of an older version pass through `UPCASTERS` as plain dictionaries
before they become events; adding a field with a default needs none.

1. The details of a wave were a dictionary a proposal.
2. They are a table: a dictionary of columns.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.events import Event
from evenmatch.domain.table import Table
from evenmatch.errors import JournalDamaged, JournalNewer

SCHEMA: Final = 2


def _details_became_columns(event: dict[str, Any]) -> dict[str, Any]:
    """A dictionary a proposal -> a column a name, None where a proposal did not have it."""
    rows = event.get("details")
    if event["type"] != "wave_finished" or rows is None:
        return event
    names = dict.fromkeys(name for row in rows for name in row)
    code = np.arange(len(rows), dtype=np.int32)
    return event | {"details": {name: [code, [row.get(name) for row in rows]] for name in names}}


UPCASTERS: Final[dict[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {1: _details_became_columns}
"""Version -> how an event of that version becomes one of the next."""

_ARRAY: Final = 1
_DTYPES: Final = ("|i1", "|b1", "<i2", "<i4", "<i8", "<u8", "<f8")
_CODE_OF: Final = {np.dtype(name): code for code, name in enumerate(_DTYPES)}
_HEADER: Final = struct.Struct("<BBI")
_MATRIX: Final = struct.Struct("<I")


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        code = _CODE_OF[value.dtype.newbyteorder("=")]
        head = _HEADER.pack(code, value.ndim, value.shape[0])
        if value.ndim == 2:
            head += _MATRIX.pack(value.shape[1])
        return msgspec.msgpack.Ext(_ARRAY, head + value.astype(_DTYPES[code], copy=False).tobytes())
    if isinstance(value, Table):
        return value.plain()
    raise TypeError(f"{type(value)} cannot be written to the journal")


def _unpack(code: int, content: memoryview) -> Any:
    if code != _ARRAY:
        raise ValueError(f"extension value {code} is not known")
    kind, dimensions, rows = _HEADER.unpack_from(content)
    offset = _HEADER.size
    shape: tuple[int, ...] = (rows,)
    if dimensions == 2:
        shape += _MATRIX.unpack_from(content, offset)
        offset += _MATRIX.size
    elif dimensions != 1:
        raise ValueError(f"an array of {dimensions} dimensions")
    return np.frombuffer(content, _DTYPES[kind], offset=offset).reshape(shape)


def _as_ours(kind: type, value: Any) -> Any:
    if kind is Table:
        return Table.from_plain(value)
    if isinstance(value, np.ndarray):
        return value
    raise ValueError(f"expected an array, got {type(value)}")


_UNREADABLE: Final = (
    msgspec.DecodeError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    RecursionError,
    struct.error,
)
"""What reading bytes that nobody wrote can end in, upcasters included."""

_encoder = msgspec.msgpack.Encoder(enc_hook=_pack)
_decoder = msgspec.msgpack.Decoder(list[Event], ext_hook=_unpack, dec_hook=_as_ours)
_plain_decoder = msgspec.msgpack.Decoder(ext_hook=_unpack)


def encode_events(events: list[Event]) -> bytes:
    """The events of one commit."""
    return _encoder.encode(events)


def decode_events(body: bytes, schema: int = SCHEMA) -> list[Event]:
    """The events of one commit, brought up to the present schema."""
    if schema > SCHEMA:
        raise JournalNewer(f"a commit has schema {schema}; this evenmatch knows up to {SCHEMA}: upgrade")
    try:
        if schema == SCHEMA:
            return _decoder.decode(body)
        old = _plain_decoder.decode(body)
        for version in range(schema, SCHEMA):
            old = [UPCASTERS[version](event) for event in old]
        return msgspec.convert(old, list[Event], dec_hook=_as_ours)
    except _UNREADABLE as error:
        raise JournalDamaged(f"the events of a commit cannot be read: {error}") from error


def encode_content(content: dict[str, Any]) -> bytes:
    """A checkpoint's content."""
    return _encoder.encode(content)


def encode_pieces(content: dict[str, Any], length: int) -> Iterator[bytes]:
    """The bytes of `encode_content` in pieces of about this length, each made when it is asked for."""
    waiting, size = [], 0
    for part in _parts(content):
        for first in range(0, len(part), length):
            piece = part[first : first + length]
            waiting.append(piece)
            size += len(piece)
            if size >= length:
                yield b"".join(waiting)
                waiting, size = [], 0
    yield b"".join(waiting)


def _parts(value: Any) -> Iterator[bytes]:
    """What a value is written as, column by column."""
    if isinstance(value, dict):
        yield struct.pack(">BI", 0xDF, len(value))
        for name, inner in value.items():
            yield _encoder.encode(name)
            yield from _parts(inner)
    elif isinstance(value, list) and all(isinstance(inner, dict) for inner in value):
        yield struct.pack(">BI", 0xDD, len(value))
        for inner in value:
            yield from _parts(inner)
    else:
        yield _encoder.encode(value)


def decode_content(body: bytes) -> dict[str, Any]:
    """A checkpoint's content."""
    try:
        content = _plain_decoder.decode(body)
    except _UNREADABLE as error:
        raise JournalDamaged(f"a checkpoint cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise JournalDamaged("a checkpoint is not a table of columns")
    return content
