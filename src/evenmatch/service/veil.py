"""Rules as those may see them who do not operate the server: without where game servers are asked for.

`allocate.url` is an address inside the game's own network, `allocate.secret` the name of a variable of this machine.
They are shown empty, so that whoever copies the rules sees that something is kept back.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from evenmatch.domain.queue import QueueSpec

from .access import caller_of
from .rules import RuleChange, VersionsView
from .views import QueueView

_KEPT: Final = ("url", "secret")


def sees_rules(scope: Any) -> bool:
    """May who asks see all rules of a queue? Operators may."""
    caller = caller_of(scope)
    return caller is not None and caller.role == "operator"


def shown_to(scope: Any) -> Callable[[QueueView], QueueView]:
    """A queue as who asks may see it."""
    return (lambda view: view) if sees_rules(scope) else veiled_queue


def veiled_queue(view: QueueView) -> QueueView:
    """A queue, with its rules veiled."""
    return msgspec.structs.replace(view, spec=_spec(view.spec))


def _spec(spec: QueueSpec) -> QueueSpec:
    if spec.allocate is None:
        return spec
    return msgspec.structs.replace(spec, allocate=msgspec.structs.replace(spec.allocate, **dict.fromkeys(_KEPT, "")))


def veiled_versions(view: VersionsView) -> VersionsView:
    """All versions of a queue's rules, veiled."""
    versions = [
        msgspec.structs.replace(version, rules=_table(version.rules), changes=[_change(one) for one in version.changes])
        for version in view.versions
    ]
    return msgspec.structs.replace(view, versions=versions)


def _table(rules: dict[str, Any]) -> dict[str, Any]:
    asked = rules.get("allocate")
    return rules | {"allocate": asked | dict.fromkeys(_KEPT, "")} if isinstance(asked, dict) else rules


def _change(change: RuleChange) -> RuleChange:
    if change.key not in [f"allocate.{name}" for name in _KEPT]:
        return change
    before, after = (None if value is None else "" for value in (change.before, change.after))
    return RuleChange(change.key, before, after, change.default)
