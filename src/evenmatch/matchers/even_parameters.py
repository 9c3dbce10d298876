"""The parameters of `even`: what they mean, their defaults and what they may be.

Windows. A ticket's window is the widest range of ratings that it accepts: `window` + `window_growth` for each second of
its wait, without limit once it has waited `window_free_s`. Where its neighbourhood is thin it is wider: a ticket whose
`NEIGHBOURS`-th nearest other ticket is f times as far away as that of the middle ticket has a window f times as wide,
at most `window_density` times and never narrower; with fewer than `DENSE_LEAST` tickets there is no density to speak
of, and f is 1.

The window rule. A ticket's rating is the mean of its players'. The range of a match is the difference between its
highest and its lowest ticket, and must not exceed what `window_policy` makes of the windows of its tickets:

    mean    their mean, every ticket counting once for each of its players
    older   the window of the first of them in canonical order
    both    the least of them

For two single players these are the rules of a pair. The default is `mean`: a newcomer's narrow window is outweighed
by a long wait, and nobody's choice alone decides. Under `both` a newcomer can say no to somebody who has waited for
ever, so the promise to outliers is not given; under `older` newcomers pay for the waits of others.

Long waiters. A ticket is due once it has missed more than `overtaken_most` waves or has waited `outlier_s`. Due tickets
go first; `even` says what exactly is promised.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from evenmatch.domain.queue import Format
from evenmatch.errors import MatcherError
from evenmatch.matchers.parameters import choice, number, whole_number
from evenmatch.numerics.match_terms import Weights

__all__ = [
    "BOTH",
    "DENSE_LEAST",
    "MEAN",
    "NEIGHBOURS",
    "NEVER",
    "NO_ROLES",
    "OFF_ROLE",
    "OLDER",
    "POLICIES",
    "WORK_MOST",
    "Hold",
    "WindowRule",
    "cannot_play",
    "judge_off_role",
    "judge_roles",
    "judge_sides",
    "judge_weights",
]

NEIGHBOURS: Final = 8
"""How near the so-many-th nearest ticket is tells how dense a neighbourhood is."""
DENSE_LEAST: Final = 32
"""With fewer tickets than this no neighbourhood is called thin."""
POLICIES: Final = ("mean", "older", "both")
MEAN, OLDER, BOTH = range(3)
NO_ROLES: Final[Mapping[str, int]] = {}
NEVER: Final = "never"
OFF_ROLE: Final = 1
"""By default, what it costs to play a role that one did not name."""
WORK_MOST: Final = 10**9
SIDES: Final = 2
_NAME: Final = "even"
_DAY_S: Final = 86_400.0
_HIGH: Final = 1e6


class WindowRule(NamedTuple):
    """How windows grow, and whose count."""

    window: float
    window_growth: float
    """Rating points a second."""
    window_free_s: float
    window_density: float
    policy: int
    """The place of the policy among `POLICIES`."""

    @classmethod
    def judged(cls, window: object, growth: object, free_s: object, density: object, policy: object) -> "WindowRule":
        """From parameters as they are written; raises MatcherError."""
        return cls(
            number(_NAME, "window", window, least=0, most=_HIGH),
            number(_NAME, "window_growth", growth, least=0, most=_HIGH),
            number(_NAME, "window_free_s", free_s, least=0, most=30 * _DAY_S),
            number(_NAME, "window_density", density, least=1, most=1000),
            POLICIES.index(choice(_NAME, "window_policy", policy, POLICIES)),
        )

    def after(self, waited_ms: int, _misses: int | None, _rating: float) -> str:
        """The window after a wait, in words: and that it is wider where few others are near."""
        if waited_ms >= self.window_free_s * 1000:
            return "without limit"
        width = self.window + self.window_growth * waited_ms / 1000
        return f"{round(width, 1):,.10g} points{', wider while few others are near' * (self.window_density > 1)}"


class Hold(NamedTuple):
    """What decides whether a poor match is made now or left for later."""

    on: bool
    seat_value: float
    """A match may cost so much for each player where nobody else is to be expected."""
    wait_value: float
    """What a second of waiting costs a player."""

    @classmethod
    def judged(cls, hold: object, seat_value: object, wait_value: object) -> "Hold":
        """From parameters as they are written; raises MatcherError."""
        if not isinstance(hold, bool):
            raise MatcherError(f"{_NAME}: hold must be true or false, not {hold!r} ({type(hold).__name__})")
        worth = number(_NAME, "seat_value", seat_value, least=0, most=1000)
        wait = number(_NAME, "wait_value", wait_value, least=0, most=1000)
        if hold and not (worth and wait):
            name = "wait_value" if worth else "seat_value"
            raise MatcherError(f"{_NAME}: hold needs a {name} above 0, such as the default: else nobody is ever seated")
        return cls(hold, worth, wait)


def remarks_on(expires_s: float, outlier_s: float, window_free_s: float) -> list[str]:
    """What a queue whose tickets live so long makes of these parameters, though nothing is wrong with them."""
    promised = [("outlier_s", outlier_s, "go first"), ("window_free_s", window_free_s, "accept any rating")]
    return [
        f"tickets expire after {expires_s:g} s, before they would {what} ({name} = {after_s:g}): "
        f"raise ticket.expires_s or lower {name}"
        for name, after_s, what in promised
        if expires_s <= after_s
    ]


def judge_weights(**weights: object) -> Weights:
    """The weights of the terms, each 0 to 1000; raises MatcherError."""
    return Weights(
        **{term: number(_NAME, f"weight_{term}", value, least=0, most=1000) for term, value in weights.items()}
    )


def judge_sides(sides: object) -> Sequence[str]:
    """The names of two sides, or none at all; raises MatcherError."""
    if isinstance(sides, Sequence) and not isinstance(sides, str):
        named = [side for side in sides if isinstance(side, str) and side]
        if len(named) == len(sides) and len(set(named)) == len(named) and len(named) in (0, SIDES):
            return sides
    raise MatcherError(f"{_NAME}: sides must be the names of two different sides, or left out, not {sides!r}")


def judge_roles(roles: object) -> Mapping[str, int]:
    """A table of roles and the places that a team has for each; raises MatcherError."""
    if not isinstance(roles, Mapping) or not all(isinstance(role, str) and role for role in roles):
        raise MatcherError(f"{_NAME}: roles must be a table of names and places a team, not {roles!r}")
    for role, places in roles.items():
        whole_number(_NAME, f"roles.{role}", places, least=1, most=100)
    return roles


def judge_off_role(off_role: object) -> float | str:
    """What it costs to play a role one did not name, or that nobody does; raises MatcherError."""
    if off_role == NEVER:
        return NEVER
    if isinstance(off_role, str):
        raise MatcherError(f"{_NAME}: off_role must be a number from 0 to 1000 or {NEVER!r}, not {off_role!r}")
    return number(_NAME, "off_role", off_role, least=0, most=1000)


def cannot_play(form: Format, sides: Sequence[str], roles: Mapping[str, int]) -> str | None:
    """Why a format can't be played with these sides and roles; None = it can."""
    if sides and roles:
        return "gives out sides or roles, not both: leave out one of the two, as a side of one player has no roles"
    if sides and (form.teams, form.size) != (SIDES, 1):
        return f"plays 2x1 (one against one) where there are sides, not {form}"
    if roles and sum(roles.values()) != form.size:
        return f"has {sum(roles.values())} places for roles, and a team of {form} has {form.size}: they must be as many"
    return None
