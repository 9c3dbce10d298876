"""Lines of the log: one a happening, as JSON or as text, and whatever a caller sends stays inside its line.

Both forms are ASCII: a line break, an escape sequence or a letter that looks like another is written as `\\uXXXX`.
What Python's own logging says (uvicorn) is written the same way.
"""

import json
import logging
import re
import threading
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

import structlog

Form = Literal["json", "text"]
LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_encode: Final = json.JSONEncoder(default=str).encode
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:#@/+-]+", re.ASCII)


def line_of(form: Form, at: str, level: str, event: str, fields: Mapping[str, Any]) -> str:
    """One line, without its end."""
    if form == "json":
        return _encode({"timestamp": at, "level": level, "event": event, **fields})
    said = " ".join(f"{_word(name)}={_shown(value)}" for name, value in fields.items())
    return f"{at} {level:<7} {_shown(event)[1:-1] if not _PLAIN.fullmatch(event) else event:<22} {said}".rstrip()


def _word(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else _encode(name)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else _encode(value)
    return _encode(value)


def moment(at_ms: int) -> str:
    """A moment as the log tells it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Lines:
    """Where the lines of one process go, whole, whichever thread writes them."""

    def __init__(self, stream: TextIO, form: Form, level: str) -> None:
        self.form: Form = form
        self.level = LEVELS[level]
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Write lines that have their ends."""
        with self._lock:
            self._stream.write(text)
            self._stream.flush()

    def flush(self) -> None:
        """Nothing waits: every write is followed by it."""


class _Foreign(logging.Handler):
    """What Python's own logging says, in our lines."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.WARNING)
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info:
            fields["exception"] = logging.Formatter().formatException(record.exc_info)
        at = moment(round(record.created * 1000))
        self.lines.write(line_of(self.lines.form, at, record.levelname.lower(), record.getMessage(), fields) + "\n")


def log_to(lines: Lines) -> None:
    """Send everything that this process logs there."""

    def rendered(_: Any, __: str, fields: MutableMapping[str, Any]) -> str:
        told = dict(fields)
        return line_of(lines.form, told.pop("timestamp"), told.pop("level"), str(told.pop("event", "")), told)

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(lines.level),
        logger_factory=structlog.WriteLoggerFactory(lines),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    # uvicorn writes a traceback for every text frame that is none: whoever likes could fill the log with it
    logging.getLogger("uvicorn.error").addFilter(lambda record: not str(record.msg).startswith("Invalid UTF-8"))
    logging.getLogger().addHandler(_Foreign(lines))
