"""What the picture of a queue shows, in a sentence or two, by the rules of its matcher."""

from typing import Any, Final

_WORDS: Final = {
    "buckets": "A bar is a ticket's range, which grows while it waits; two meet when each is in the other's range.",
    "ladder": "A bar is a ticket's window, which grows with every wave it misses; colours are sides.",
    "cinder": "A bar is the usual range of a lobby's ratings; lobbies meet whose ranges overlap.",
    "epgc": "Lobbies are made within a tier (colour), of those whose pings are close and who have waited long.",
    "lom": "Sessions gather round leaders: lines go from the leader to its members.",
    "l2m": "Sessions gather round leaders: lines go from the leader to its members.",
    "m2l": "Sessions gather round leaders: lines go from the leader to its members.",
    "first_come": "Who came first is seated first; ratings do not count.",
    "exact": "The plan is the best of all there are; lines join those who play together.",
    "random": "Sessions are drawn by lot.",
}
_POLICIES: Final = {
    "mean": "the mean of their windows",
    "older": "the window of the one of them who has waited longest",
    "both": "the narrowest of their windows",
}


def words_of(matcher: Any) -> str:
    """What is to be seen of those who wait for this matcher."""
    name = str(matcher.name)
    if name != "even":
        return _WORDS.get(name, "")
    return (
        "A bar is a ticket's window, which grows while it waits; tickets can share a match if their ratings differ by "
        f"no more than {_POLICIES[matcher.window_policy]}."
    )
