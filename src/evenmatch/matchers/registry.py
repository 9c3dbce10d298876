"""Every matcher by name: one literal table, so that a reader sees them all and nothing registers itself.

A class is imported when it is first built, so that naming the matchers costs nothing. Its parameters are the keyword
arguments of its constructor and nothing else; the constructor judges their values, this file judges their names.
"""

import inspect
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, Final, cast

from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import Matcher

__all__ = ["DEFAULT", "MATCHERS", "build", "defaults", "in_force", "judged", "names"]

MATCHERS: Final[Mapping[str, str]] = {
    "buckets": "evenmatch.matchers.buckets:Buckets",
    "cinder": "evenmatch.matchers.cinder:Cinder",
    "epgc": "evenmatch.matchers.epgc:Epgc",
    "even": "evenmatch.matchers.even:Even",
    "exact": "evenmatch.matchers.exact:Exact",
    "first_come": "evenmatch.matchers.first_come:FirstCome",
    "l2m": "evenmatch.matchers.l2m:L2m",
    "ladder": "evenmatch.matchers.ladder:Ladder",
    "lom": "evenmatch.matchers.lom:Lom",
    "m2l": "evenmatch.matchers.m2l:M2l",
    "random": "evenmatch.matchers.random_sessions:Random",
}
DEFAULT: Final = "even"
"""The matcher where none is named."""


def names() -> list[str]:
    """The names of all matchers, in alphabetical order."""
    return sorted(MATCHERS)


def defaults(name: str) -> dict[str, Any]:
    """What a matcher's parameters are where nothing is given."""
    return dict(_defaults(_maker(name)))


def in_force(name: str, parameters: Mapping[str, Any], snapshot: Snapshot | None = None) -> dict[str, Any]:
    """All parameters of a matcher: those that are given, and what counts in place of the others.

    A default that stands for something else (None) is told as that, if the matcher says it by a method `stands_for`;
    what it takes from the snapshot of each wave is told where there is one.
    """
    told = defaults(name) | dict(parameters)
    if None in told.values():
        try:
            asked = getattr(build(name, parameters), "stands_for", None)
        except MatcherError:  # rules of long ago, that no version of now would take
            asked = None
        found = {} if asked is None else asked(snapshot)
        told |= {one: found[one] for one, value in told.items() if value is None and one in found}
    return told


@cache
def _defaults(maker: Any) -> dict[str, Any]:
    return {one.name: one.default for one in inspect.signature(maker).parameters.values()}


def build(name: str, parameters: Mapping[str, Any]) -> Matcher:
    """The matcher of that name with these parameters; raises MatcherError when either cannot be used."""
    if name not in MATCHERS:
        raise MatcherError(f"unknown matcher {name!r}: {_nearest(name, names())}known: {', '.join(names())}")
    maker = _maker(name)
    known = list(_defaults(maker))
    for parameter in parameters:
        if parameter not in known:
            allowed = f"known: {', '.join(known)}" if known else "it takes no parameters"
            raise MatcherError(f"{name}: unknown parameter {parameter!r}: {_nearest(parameter, known)}{allowed}")
    return cast(Matcher, maker(**parameters))


def judged(name: str, parameters: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """The parameters that can be used, and all that is wrong with the others; None = even those make no matcher."""
    whole = _mistake(name, parameters)
    if whole is None:
        return dict(parameters), []
    if _mistake(name, {}) is not None:  # the name is wrong, or it can't do without some
        return None, [whole]
    wrong = {one: what for one, value in parameters.items() if (what := _mistake(name, {one: value})) is not None}
    good = {one: value for one, value in parameters.items() if one not in wrong}
    together = _mistake(name, good)
    mistakes = list(wrong.values()) + ([together] if together is not None else [])
    return (good if together is None else None), mistakes


def _mistake(name: str, parameters: Mapping[str, Any]) -> str | None:
    """Why a matcher can't be made of these parameters; None = it can."""
    try:
        build(name, parameters)
    except MatcherError as problem:
        return str(problem)
    return None


def _maker(name: str) -> Any:
    module, _, class_name = MATCHERS[name].partition(":")
    return getattr(import_module(module), class_name)


def _nearest(word: object, known: Collection[str]) -> str:
    """A guess at what was meant, as the beginning of an answer, or nothing."""
    near = get_close_matches(str(word), known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""
