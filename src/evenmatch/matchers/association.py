"""How closely two players are associated, from their profiles: the weights that `lom` and its siblings match by.

Problem. LOM wants a number for each leader and member, smaller = closer, "out of the scope" of its paper, which only
says that it may be made of "the habit, interest, country, language, skill level, network condition".

Idea. A queue declares its features, and a weight is the sum over them:

    numeric       weight * |a - b| / scale      a difference of one `scale` counts as much as one other language
    categorical   weight * (a != b)

A sum, because each term can then be read off and explained by itself; any other distance can be given as a matrix to
`assign`. `rating` and `ping_ms` are the player's own; any other name is a profile feature or, if there is none of that
name, another column of the snapshot (`region`, `ratings.SIDE`). Without a declaration: rating and ping, of which one is
left out where nobody brings it.

Invariant. No weight is NaN, infinite or negative: a player without a declared feature is an error that names both.
"""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers.parameters import choice, number
from evenmatch.numerics.profiles import Profiles

__all__ = ["DEFAULT", "Declared", "Feature", "counted", "declared_features", "kept", "profiles_of", "required", "words"]

Declared: TypeAlias = list[dict[str, Any]]
"""Features as queues.toml has them: tables of name, kind, weight, scale."""

KINDS: Final = ("numeric", "categorical")
OWN: Final = ("rating", "ping_ms")
KEYS: Final = ("name", "kind", "weight", "scale")
WEIGHT_MAX: Final = 1e6
SCALE_MIN: Final = 1e-6
SCALE_MAX: Final = 1e6


class Feature(NamedTuple):
    """One term of the weight."""

    name: str
    kind: str = "numeric"
    weight: float = 1.0
    scale: float = 1.0


DEFAULT: Final = (Feature("rating", scale=400.0), Feature("ping_ms", scale=50.0))
"""What counts where nothing is declared: 400 points are ten to one in expected score, 50 ms can be felt."""


def declared_features(matcher: str, features: object) -> tuple[Feature, ...]:
    """The features of a declaration, `DEFAULT` for None; raises MatcherError for what cannot be used."""
    if features is None:
        return DEFAULT
    if not isinstance(features, list | tuple) or not features:
        raise MatcherError(
            f'{matcher}: features must be a list of tables such as {{name = "rating"}}, not {features!r}'
        )
    found: list[Feature] = []
    for position, table in enumerate(features):
        feature = _feature(matcher, f"entry {position + 1} of features", table)
        if feature.name in [other.name for other in found]:
            raise MatcherError(f"{matcher}: features declares {feature.name!r} twice")
        found.append(feature)
    return tuple(found)


def _feature(matcher: str, entry: str, table: object) -> Feature:
    if not isinstance(table, Mapping):
        raise MatcherError(f'{matcher}: {entry} must be a table such as {{name = "rating"}}, not {table!r}')
    for key in table:
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise MatcherError(f"{matcher}: {entry} has an unknown key {key!r}: {guess}known: {', '.join(KEYS)}")
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise MatcherError(f"{matcher}: {entry} must have the name of a feature, not {name!r}")
    kind = choice(matcher, f"kind of {name!r} in features", table.get("kind", "numeric"), KINDS)
    if kind == "categorical" and "scale" in table:
        raise MatcherError(f"{matcher}: {name!r} in features is categorical and has no scale: use its weight")
    weight = number(matcher, f"weight of {name!r} in features", table.get("weight", 1), least=0, most=WEIGHT_MAX)
    scale = number(matcher, f"scale of {name!r} in features", table.get("scale", 1), least=SCALE_MIN, most=SCALE_MAX)
    return Feature(name, kind, weight, scale)


def kept(matcher: str, features: Declared | None) -> tuple[str, ...]:
    """The facts and traits beside rating and ping that a queue must keep for these features."""
    names = [feature.name for feature in declared_features(matcher, features) if feature.name not in OWN]
    return tuple(column for name in names for column in (f"profile.{name}", name))


def counted(matcher: str, features: Declared | None, snapshot: Snapshot | None) -> Declared:
    """The features that count, as queues.toml would declare them; by default those of which a snapshot has any."""
    wanted = declared_features(matcher, features)
    if features is None and snapshot is not None:
        wanted = tuple(feature for feature in wanted if _anybody_has(snapshot, feature.name))
    return [feature._asdict() for feature in wanted]


def required(matcher: str, features: Declared | None) -> tuple[tuple[str, ...], ...]:
    """What every player must bring for these features; of each group, one is enough."""
    names = [feature.name for feature in declared_features(matcher, features) if feature.name != "rating"]
    return tuple((name,) if name in OWN else (f"profile.{name}", name) for name in names)


def words(matcher: str, features: Declared | None) -> tuple[str, ...]:
    """Those of the kept ones that are categories and not numbers."""
    names = [feature.name for feature in declared_features(matcher, features) if feature.kind == "categorical"]
    return tuple(column for name in names for column in (f"profile.{name}", name))


def profiles_of(matcher: str, snapshot: Snapshot, features: Declared | None, order: Array) -> Profiles:
    """The profiles of single players, those of the snapshot's rows in this order, and what each feature counts."""
    wanted = declared_features(matcher, features)
    if features is None:
        wanted = tuple(feature for feature in wanted if _anybody_has(snapshot, feature.name))
        if not wanted and len(snapshot):
            raise MatcherError(f"{matcher}: nobody has a rating or a ping_ms: declare the features to match by")
    points = np.empty((len(order), len(wanted)))
    for place, feature in enumerate(wanted if len(order) else ()):
        points[:, place] = _values(matcher, snapshot, feature, order)
    return Profiles(points, *_counts(wanted))


@lru_cache(maxsize=256)
def _counts(features: tuple[Feature, ...]) -> tuple[Array, Array, Array]:
    """Which features are categories, and the weight and scale of each; kept from wave to wave."""
    found = (
        np.array([feature.kind == "categorical" for feature in features], bool),
        np.array([feature.weight for feature in features], np.float64),
        np.array([feature.scale for feature in features], np.float64),
    )
    for column in found:
        column.flags.writeable = False
    return found


def _anybody_has(snapshot: Snapshot, fact: str) -> bool:
    column = snapshot.facts.get(fact)
    if column is None or not len(column):
        return False
    return not math.isnan(column[0]) or not np.isnan(column).all()


def _values(matcher: str, snapshot: Snapshot, feature: Feature, order: Array) -> Array:
    """A number a player, in this order: the feature's value, or the code of its category."""
    name = feature.name
    for column in (name,) if name in OWN else (f"profile.{name}", name):
        if column in snapshot.facts:
            values: Array = snapshot.facts[column][order]
            if not (given := np.isfinite(values)).all():
                raise _not_given(matcher, snapshot, name, order[given.argmin()])
            return values if feature.kind == "numeric" else np.unique(values, return_inverse=True)[1]
        if column in snapshot.traits:
            given_words = snapshot.traits[column]
            words = [given_words[row] for row in order.tolist()]
            if None in words:
                raise _not_given(matcher, snapshot, name, order[words.index(None)])
            if feature.kind == "numeric":
                raise MatcherError(
                    f"{matcher}: ticket {int(snapshot.ticket[order[0]])}: feature {name!r} is {words[0]!r}, not a "
                    'number: declare it with kind = "categorical"'
                )
            codes: dict[Any, int] = {}
            return np.array([codes.setdefault(word, len(codes)) for word in words])
    known = [*OWN, *sorted(c.removeprefix("profile.") for c in (*snapshot.facts, *snapshot.traits) if c not in OWN)]
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise MatcherError(f"{matcher}: no ticket has the feature {name!r}: {guess}known: {', '.join(known)}")


def _not_given(matcher: str, snapshot: Snapshot, name: str, row: int) -> MatcherError:
    return MatcherError(f"{matcher}: ticket {int(snapshot.ticket[row])} has no usable value for the feature {name!r}")
