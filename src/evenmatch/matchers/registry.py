"""Every matcher by name: one literal table, so that a reader sees them all and nothing registers itself.

A class is imported when it is first built, so that naming the matchers costs nothing. Its parameters are the keyword
arguments of its constructor and nothing else; the constructor judges their values, this file judges their names.
"""

import inspect
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, cast

from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import Matcher

__all__ = ["MATCHERS", "build", "defaults", "names"]

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


def names() -> list[str]:
    """The names of all matchers, in alphabetical order."""
    return sorted(MATCHERS)


def defaults(name: str) -> dict[str, Any]:
    """What a matcher's parameters are where nothing is given."""
    return {one.name: one.default for one in inspect.signature(_maker(name)).parameters.values()}


def build(name: str, parameters: Mapping[str, Any]) -> Matcher:
    """The matcher of that name with these parameters; raises MatcherError when either cannot be used."""
    if name not in MATCHERS:
        raise MatcherError(f"unknown matcher {name!r}: {_nearest(name, names())}known: {', '.join(names())}")
    maker = _maker(name)
    known = list(inspect.signature(maker).parameters)
    for parameter in parameters:
        if parameter not in known:
            allowed = f"known: {', '.join(known)}" if known else "it takes no parameters"
            raise MatcherError(f"{name}: unknown parameter {parameter!r}: {_nearest(parameter, known)}{allowed}")
    return cast(Matcher, maker(**parameters))


def _maker(name: str) -> Any:
    module, _, class_name = MATCHERS[name].partition(":")
    return getattr(import_module(module), class_name)


def _nearest(word: object, known: Collection[str]) -> str:
    """A guess at what was meant, as the beginning of an answer, or nothing."""
    near = get_close_matches(str(word), known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""
