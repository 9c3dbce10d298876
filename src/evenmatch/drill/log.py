"""What the clients of a drill know for certain: the one side that an audit compares."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Joined:
    """A join that was acknowledged."""

    key: str
    ticket: int
    queue: str
    players: tuple[str, ...]
    joined_ms: int


@dataclass(frozen=True)
class Seen:
    """A ticket as GET showed it."""

    ticket: int
    status: str
    waited_ms: int
    misses: int
    proposal: int | None = None
    match: int | None = None


@dataclass(frozen=True)
class Told:
    """A message over a WebSocket."""

    ticket: int
    sequence: int
    type: str


@dataclass
class Log:
    """Everything that clients know for certain. Only appended to, so threads may share it."""

    attempted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """key -> players, of every join that was sent and not refused, whether or not an answer came."""
    joined: list[Joined] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    stories: dict[int, list[Told]] = field(default_factory=dict)
    """ticket -> all its messages, where a client followed it to the end over however many connections."""
    accepted: list[tuple[int, str]] = field(default_factory=list)
    """proposal, player"""
    declined: list[tuple[int, str]] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    results: list[tuple[int, list[int]]] = field(default_factory=list)
    """match, ranks: results that were acknowledged"""
    unexplained: list[int] = field(default_factory=list)
    """Tickets that wait, and whose owner is not told why though waves are run."""
    wrong: list[str] = field(default_factory=list)
    """What nobody asked for: refusals, answers that contradict earlier ones."""

    def add(self, other: "Log") -> None:
        """Take over what other clients know."""
        self.attempted |= other.attempted
        self.stories |= other.stories
        for name in ("joined", "seen", "told", "accepted", "declined", "left", "results", "unexplained", "wrong"):
            getattr(self, name).extend(getattr(other, name))
