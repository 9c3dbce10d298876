"""Events and checkpoints as bytes: what goes in comes out, bit for bit, and garbage is called damage."""

import math
import struct
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenmatch.domain import events as ev
from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.queue import Format, MatchSpec, Mode, QueueSpec, ReadyCheckSpec
from evenmatch.domain.table import Choice, Table
from evenmatch.errors import JournalDamaged, JournalNewer
from evenmatch.storage import codec
from evenmatch.storage.codec import decode_content, decode_events, encode_content, encode_events, encode_pieces

KINDS: list[Any] = list(ev.Event.__args__)
DTYPES = ["i1", "?", "i2", "i4", "i8", "u8", "f8"]


def arrays(*dtypes: str) -> st.SearchStrategy[Array]:
    """Arrays of one or two dimensions, any bits, empty ones too."""
    shapes = st.tuples(st.integers(0, 4)) | st.tuples(st.integers(0, 3), st.integers(0, 3))
    return st.builds(_filled, st.sampled_from(dtypes), shapes, st.binary(min_size=72, max_size=72), st.booleans())


def _filled(dtype: str, shape: tuple[int, ...], content: bytes, transposed: bool) -> Array:
    count = math.prod(shape)
    array: Array
    if dtype == "?":
        array = np.frombuffer(content, np.uint8)[:count] > 127
    else:
        array = np.frombuffer(content * 2, dtype)[:count]
    array = array.reshape(shape)
    return array.T if transposed else array


def tables(rows: int, deep: int = 1) -> st.SearchStrategy[Table]:
    """Tables of so many rows, with columns of every sort."""
    numbers = st.sampled_from(DTYPES).map(lambda dtype: np.arange(rows).astype(dtype))
    words = st.lists(st.none() | st.text() | st.lists(st.integers(0, 9)), min_size=1, max_size=3)
    columns: st.SearchStrategy[Any] = numbers | words.map(lambda w: Choice(np.arange(rows) % len(w), w))
    if deep:
        columns |= tables(rows, deep - 1)
    return st.dictionaries(st.text(), columns, max_size=3).filter(_whole).map(Table)


def _whole(columns: dict[str, Any]) -> bool:
    """A table without a column has no rows."""
    return len({len(column) for column in columns.values()}) <= 1


SPECS = st.builds(
    QueueSpec,
    st.sampled_from(["duel", "a-b_c"]),
    st.builds(Format, st.integers(2, 5), st.integers(1, 5)),
    ready_check=st.none() | st.builds(ReadyCheckSpec, st.floats(0.01, 1e6)),
    match=st.builds(MatchSpec, st.floats(0, 1e6)),
    require_equal=st.lists(st.text(), max_size=2).map(tuple),
)
FIELDS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**64 - 1),
    str: st.text(),
    float: st.floats(allow_nan=False),
    Array: arrays(*DTYPES),
    QueueSpec: SPECS,
    dict[str, Array]: st.dictionaries(st.text(), arrays("f8"), max_size=2),
    tuple[str, ...]: st.lists(st.text(), max_size=3).map(tuple),
    dict[str, list[Any]]: st.dictionaries(st.text(), st.lists(st.none() | st.text(), max_size=3), max_size=2),
    bool: st.booleans(),
    Mode: st.sampled_from(Mode),
    Table: st.integers(0, 3).flatmap(tables),
}


def of_kind(kind: Any) -> st.SearchStrategy[Any]:
    """Events of a kind with anything in their fields."""
    return st.builds(kind, **{field.name: FIELDS[field.type] for field in msgspec.structs.fields(kind)})


def same(one: object, other: object) -> bool:
    """Equal bit for bit; arrays also in kind and shape."""
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray)
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, Table):
        return isinstance(other, Table) and same(one.plain(), other.plain())
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        assert isinstance(other, dict)
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, msgspec.Struct) and type(one) in KINDS:
        return type(one) is type(other) and all(
            same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__
        )
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=settings().max_examples // 3)
@given(st.data())
def test_an_event_comes_back_as_it_went(kind: Any, data: st.DataObject) -> None:
    events = data.draw(st.lists(of_kind(kind), min_size=1, max_size=3))
    back = decode_events(encode_events(events))
    assert len(back) == len(events)
    assert all(same(one, other) for one, other in zip(events, back, strict=True))


def test_every_field_of_every_event_is_drawn() -> None:
    kinds = {field.type for kind in KINDS for field in msgspec.structs.fields(kind)}
    assert kinds <= set(FIELDS)


@given(st.integers(1, 40), st.integers(0, 30))
def test_pieces_of_a_checkpoint_make_up_what_the_whole_is(length: int, rows: int) -> None:
    column = np.arange(rows)
    content = {"a": {"x": column, "y": column / 2}, "queues": [{"z": column}, {}], "list": [[1, column]], "none": []}
    pieces = list(encode_pieces(content, length))
    assert all(len(piece) < 2 * length for piece in pieces)
    back = decode_content(b"".join(pieces))
    assert same(back, decode_content(encode_content(content)))


def wave_in_plain() -> dict[str, Any]:
    """A wave as it stands in the journal."""
    none = np.empty((0, 2), np.int64)
    wave = ev.WaveFinished(1, "duel", 1, 2, 3, 4, 5, 6, 7, none, none, NONE, NONE, none, 8, 9, 10)
    (content,) = codec._plain_decoder.decode(encode_events([wave]))
    assert isinstance(content, dict)
    return content


def test_details_of_schema_1_become_columns() -> None:
    old = wave_in_plain()
    old["details"] = [{"gap": 1.5, "sides": {"bw": 1}}, {"gap": 2.0, "map": "Eclipse"}, {}]
    del old["more"]
    (event,) = decode_events(codec._encoder.encode([old]), 1)
    assert isinstance(event, ev.WaveFinished)
    assert list(event.details) == [
        {"gap": 1.5, "sides": {"bw": 1}, "map": None},
        {"gap": 2.0, "sides": None, "map": "Eclipse"},
        {"gap": None, "sides": None, "map": None},
    ]
    assert event.more is False


@pytest.mark.parametrize(
    "details",
    [
        [1],
        {"a": 5},
        {"a": [1, 2]},
        {"a": [np.arange(2), ["x"]]},
        {"a": [np.arange(2) - 1, ["x"]]},
        {"a": np.arange(2), "b": np.arange(3)},
        {"a": [np.zeros(1), ["x"]]},
    ],
    ids=str,
)
def test_details_that_are_no_table_are_damage(details: Any) -> None:
    body = codec._encoder.encode([wave_in_plain() | {"details": details}])
    with pytest.raises(JournalDamaged):
        decode_events(body)


def test_a_nan_comes_back_with_its_bits() -> None:
    odd = np.frombuffer(struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF), np.float64)
    back = decode_content(encode_content({"column": odd}))
    assert back["column"].tobytes() == odd.tobytes()


def test_an_array_of_the_other_byte_order_is_written_in_ours() -> None:
    swapped = np.array([1, 2**40], ">i8")
    back = decode_content(encode_content({"column": swapped}))["column"]
    assert (back.dtype, back.tolist()) == (np.dtype("<i8"), [1, 2**40])


def test_what_has_no_place_in_a_journal_is_not_written() -> None:
    with pytest.raises(TypeError):
        encode_content({"column": object()})


def decoded(body: bytes, schema: int = codec.SCHEMA) -> None:
    """Read bytes as a commit and as a checkpoint; both may only ever call them damaged."""
    for read in (lambda: decode_events(body, schema), lambda: decode_content(body)):
        try:
            read()
        except JournalDamaged:
            continue


def _ext(content: bytes, code: int = 1) -> bytes:
    return bytes([0xC7, len(content), code]) + content


@given(st.binary(max_size=60))
@example(_ext(b"\x09\x01\x00\x00\x00\x00"))  # no such dtype
@example(_ext(b"\x04\x02\x03\x00\x00\x00"))  # a matrix without its width
@example(_ext(b"\x04\x01\x03\x00\x00\x00\x00"))  # a part of a number
@example(_ext(b"\x04"))
@example(_ext(b"", 9))
@example(b"\x91" * 5_000 + b"\x90")
@example(b"\x91\x81\xa4type\xa7resumed")
def test_garbage_is_called_damage_and_nothing_else(body: bytes) -> None:
    decoded(body)
    decoded(b"\x91" + body)


@given(st.data())
def test_a_commit_with_a_changed_byte_is_read_or_called_damaged(data: st.DataObject) -> None:
    body = bytearray(encode_events([data.draw(of_kind(data.draw(st.sampled_from(KINDS))))]))
    where = data.draw(st.integers(0, len(body) - 1))
    body[where] ^= 1 << data.draw(st.integers(0, 7))
    decoded(bytes(body))
    decoded(bytes(body[:where]))


def test_a_length_that_does_not_fit_its_array_is_damage() -> None:
    body = encode_events([ev.TicketsSeen(1, "duel", np.arange(3))])
    with pytest.raises(JournalDamaged):
        decode_events(body.replace(struct.pack("<BBI", 4, 1, 3), struct.pack("<BBI", 4, 1, 2)))
    with pytest.raises(JournalDamaged):
        decode_events(body.replace(struct.pack("<BBI", 4, 1, 3), struct.pack("<BBI", 4, 3, 3)))


def test_a_field_that_is_no_array_is_damage() -> None:
    body = msgspec.msgpack.encode([{"type": "tickets_seen", "at_ms": 1, "queue": "duel", "ticket": [1, 2]}])
    with pytest.raises(JournalDamaged, match="array"):
        decode_events(body)


def test_an_event_from_before_a_field_gets_its_default() -> None:
    ticket = encode_content({"ticket": np.arange(2)})[len(b"\x81\xa6ticket") :]
    body = b"\x91\x84\xa4type\xa9forgotten\xa5at_ms\x05\xa5queue\xa4duel\xa6ticket" + ticket
    (event,) = decode_events(body)
    assert isinstance(event, ev.Forgotten)
    assert (event.ticket.tolist(), event.proposal.tolist()) == ([0, 1], [])


def test_an_event_of_an_older_schema_passes_through_every_upcaster(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds_became_milliseconds(event: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in event.items() if name != "at_s"} | {"at_ms": event["at_s"] * 1000}

    def players_became_tickets(event: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in event.items() if name != "players"} | {"ticket": event["players"] + 1}

    monkeypatch.setattr(codec, "SCHEMA", 3)
    monkeypatch.setattr(codec, "UPCASTERS", {1: seconds_became_milliseconds, 2: players_became_tickets})
    first = {"type": "tickets_seen", "at_s": 7, "queue": "duel", "players": np.arange(3)}
    second = {"type": "tickets_seen", "at_ms": 8, "queue": "duel", "players": np.arange(2)}
    for old, schema, at_ms, tickets in ((first, 1, 7_000, [1, 2, 3]), (second, 2, 8, [1, 2])):
        body = codec._encoder.encode([old])
        (event,) = decode_events(body, schema)
        assert isinstance(event, ev.TicketsSeen)
        assert (event.at_ms, event.ticket.tolist()) == (at_ms, tickets)


@pytest.mark.parametrize("body", [b"\x90", b"\x91\x05", b"\x05", b"\x91\x80", b"\x91\x81\xa1x\x01"])
def test_garbage_of_an_older_schema_is_called_damage_too(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(event: dict[str, Any]) -> dict[str, Any]:
        event["new"] = event.pop("old")
        return event

    monkeypatch.setattr(codec, "SCHEMA", 2)
    monkeypatch.setattr(codec, "UPCASTERS", {1: renamed})
    decoded(body, 1)
    decoded(body, 0)


def test_a_commit_of_a_schema_that_is_not_known_is_damage() -> None:
    body = encode_events([ev.Resumed(1, 2)])
    for schema in (0, -5):
        with pytest.raises(JournalDamaged):
            decode_events(body, schema)
    with pytest.raises(JournalNewer):
        decode_events(body, codec.SCHEMA + 1)
