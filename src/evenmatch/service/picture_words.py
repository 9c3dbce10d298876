"""What the picture of a queue shows, in a sentence or two, by the rules of its matcher."""

from typing import Any, Final

from .picture_scale import Scale
from .spans import span

_LEADERS: Final = (
    "Who goes with whom is decided by association weight, of which rating is one part: players may be close by ping or "
    "profile and far apart here. Lines go from a leader to its members."
)
_WORDS: Final = {
    "buckets": "Stripes are buckets. A bar is a ticket's range, which grows while it waits; two meet when each is in "
    "the other's range.",
    "ladder": "A bar is a ticket's window, which grows with every wave it misses; colours are sides.",
    "cinder": "A bar is the usual range of a lobby's ratings; its strong part is what it shares with the lobby whose "
    "range overlaps most.",
    "epgc": "Lobbies are made within a tier (colour), of those whose pings are close and who have waited long.",
    "lom": _LEADERS,
    "l2m": _LEADERS,
    "m2l": _LEADERS,
    "first_come": "Who came first is seated first; ratings do not count.",
    "exact": "The plan is the best of all there are; lines join those who play together.",
    "random": "Sessions are drawn by lot.",
}
_BINNED: Final = {
    "; its strong part is what it shares with the lobby whose range overlaps most": "; those meet that overlap",
    "A bar is a ticket's": "A bar is the mean over a dot's tickets of the",
    "A bar is the usual range of a lobby's ratings": "A bar is the mean of the usual ranges of a dot's lobbies",
}
_POLICIES: Final = {
    "mean": "the mean of their windows",
    "older": "the window of the one of them who has waited longest",
    "both": "the narrowest of their windows",
}


def words_of(matcher: Any, binned: bool = False, waiting: int = 0) -> str:
    """What is to be seen of those who wait for this matcher; `binned`: a dot stands for many tickets."""
    words = _words_of(matcher)
    if hasattr(matcher, "leads"):
        words = f"{_leading(matcher.session_size, matcher.leaders, waiting)} {words}"
    if hasattr(matcher, "overlap_min"):
        words += f" Two can meet from an overlap of {matcher.overlap_min:.0%} on."
    for one, of_many in _BINNED.items() if binned else ():
        words = words.replace(one, of_many)
    return words


def _leading(size: int, how: str, waiting: int) -> str:
    """Who leads, or why nobody does."""
    if waiting < size:
        return f"Nobody leads yet: a session takes {size} players."
    chosen = "those who came first" if how == "first" else "drawn by lot, anew with everybody who comes"
    return f"As in a wave of this moment, diamonds lead, one for each {size} players ({chosen}), and dots are members."


def beyond_words(scale: Scale, *, by_ping: bool) -> str:
    """Who is beyond the scale; empty = nobody."""
    unit = "ms" if by_ping else "points"
    told = [
        f"{_many(count)} {where}, {how}"
        for count, where, how in (
            (scale.below, "further left", f"down to {scale.least:,.0f} {unit}"),
            (scale.above, "further right", f"up to {scale.most:,.0f} {unit}"),
            (scale.longer, "longer", f"up to {span(scale.oldest_s * 1000)}"),
        )
        if count
    ]
    return f"Not to scale, at the edge with an arrow: {'; '.join(told)}." if told else ""


def _many(count: int) -> str:
    return f"{count:,} ticket{'s' * (count != 1)}"


def _words_of(matcher: Any) -> str:
    name = str(matcher.name)
    if name != "even":
        return _WORDS.get(name, "")
    thin = ", and is wider while few others are near" * (matcher.window_density > 1)
    return (
        f"A bar is a ticket's window, which grows while it waits{thin}; tickets can share a match if their ratings "
        f"differ by no more than {_POLICIES[matcher.window_policy]}."
    )
