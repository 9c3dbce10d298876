"""Judging the arguments of a matcher's constructor, in words that a person editing queues.toml can act on."""

from evenmatch.errors import MatcherError


def whole_number(matcher: str, parameter: str, value: object, *, least: int, most: int) -> int:
    """The value, if it is a whole number from `least` to `most`; raises MatcherError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):  # True is an int to Python, but not to a reader
        kind = type(value).__name__
        raise MatcherError(
            f"{matcher}: {parameter} must be a whole number from {least} to {most}, not {value!r} ({kind})"
        )
    if not least <= value <= most:
        raise MatcherError(f"{matcher}: {parameter} must be a whole number from {least} to {most}, not {value}")
    return value
