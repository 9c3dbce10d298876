"""The exceptions of evenmatch: raised when the world fails or the caller is mistaken.

An expected "no" to a command is not here: it is a `Refusal`, a value with a reason (`domain/refusals.py`).

    EvenmatchError
    ├── ConfigError            a queues.toml that cannot be used; names the file and the key
    ├── MatcherError           a matcher was named, built or fed wrongly
    ├── TicketError            tickets given by a caller that cannot be used; names the ticket and the field
    ├── RatingError            a rating model or a file of results that cannot be used; names the column or the line
    ├── ClientError            what a client of the server was told, or was not
    │   ├── Refused            the server said no; with reason, detail, status and retry_after
    │   └── Unreachable        no answer came, however often it was tried
    └── JournalError           the journal could not do what was asked; nothing was half-done
        ├── JournalForeign     the file is not an evenmatch journal
        ├── JournalDamaged     the file is one, but its content is not what was written
        │   └── JournalEdited  somebody edited or deleted its lease, or its commits
        ├── JournalNewer       the file was written by a newer evenmatch
        ├── JournalBusy        another process owns the file
        ├── JournalStale       another owner has taken over since (I9)
        ├── JournalWithdrawn   a request that the commit carried out was taken back meanwhile
        ├── JournalConflict    another lane has claimed a player of this commit (I11)
        └── JournalUnavailable the disk is full, read-only or failing; the database cannot be reached
            └── JournalUnsure  the connection broke within a commit: whether it is written is not known
"""

__all__ = [
    "ClientError",
    "ConfigError",
    "EvenmatchError",
    "JournalBusy",
    "JournalConflict",
    "JournalDamaged",
    "JournalEdited",
    "JournalError",
    "JournalForeign",
    "JournalNewer",
    "JournalStale",
    "JournalUnavailable",
    "JournalUnsure",
    "JournalWithdrawn",
    "MatcherError",
    "RatingError",
    "Refused",
    "TicketError",
    "Unreachable",
]


class EvenmatchError(Exception):
    """The root of every exception that evenmatch raises on purpose."""


class ConfigError(EvenmatchError):
    """A configuration that cannot be used."""


class MatcherError(EvenmatchError, ValueError):
    """A matcher that is unknown, badly parameterised or fed something it cannot use."""


class TicketError(EvenmatchError, ValueError):
    """Tickets, given by a caller, that cannot be used."""


class RatingError(EvenmatchError, ValueError):
    """A rating model that is unknown or badly parameterised, or results that cannot be rated."""


class ClientError(EvenmatchError):
    """What a client of the server was told, or was not."""


class Refused(ClientError):
    """The server said no. Nothing was changed."""

    def __init__(self, reason: str, detail: str, status: int, retry_after: float) -> None:
        super().__init__(f"{detail} ({reason})")
        self.reason = reason
        """The stable code, such as already_waiting."""
        self.detail = detail
        self.status = status
        self.retry_after = retry_after
        """After so many seconds it may be granted; 0 = that is not a matter of time."""


class Unreachable(ClientError):
    """No answer came, however often it was tried. Whether the last try was carried out is not known."""


class JournalError(EvenmatchError):
    """The journal could not do what was asked of it."""


class JournalForeign(JournalError):
    """The file is not an evenmatch journal."""


class JournalDamaged(JournalError):
    """The journal's content is not what was written."""


class JournalEdited(JournalDamaged):
    """Somebody edited or deleted the journal's lease, or its commits."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.why = why
        """The same without the name of the journal, for anybody."""


class JournalNewer(JournalError):
    """The journal was written by a newer evenmatch."""


class JournalBusy(JournalError):
    """Another process owns the journal."""


class JournalStale(JournalError):
    """Another owner has taken the journal over (I9)."""


class JournalWithdrawn(JournalError):
    """A request of another node that the commit carried out was taken back meanwhile; nothing was written."""


class JournalConflict(JournalError):
    """Another lane was faster to claim players whom this commit claims; nothing of it was written (I11)."""


class JournalUnavailable(JournalError):
    """The disk under the journal is full, read-only or failing, or its database cannot be reached."""


class JournalUnsure(JournalUnavailable):
    """The connection broke within a commit: whether it is written is not known before the journal is read again."""


class LabError(EvenmatchError, ValueError):
    """What the lab was asked for cannot be done as it stands."""
