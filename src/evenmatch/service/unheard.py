"""What became durable without anybody hearing of it, told once the journal has been read again.

    a commit whose answer is lost ─> orders: "not known" ─> reload: its events are there ──┐
    a follower that cannot look ─> others commit ─> it begins anew, further on ────────────┴─> tell those who listen

A line tells only what is newer than what it told last, so what fell into such a gap would never be told (I7). Each
ticket that is listened to is told its story from the gap on, as somebody who comes back with `after=` would be. Where
that is no longer kept, its lines are cut: who comes back hears so.
"""

from collections.abc import Callable

from . import messages
from .past_waves import PastWaves
from .runner import Runner


def tell_unheard(runner: Runner, after: int, now_ms: int, on_loop: Callable[..., None]) -> None:
    """Tell of all that came after a sequence; from the runner's thread, before it tells of anything newer."""
    upto = runner.engine.state.sequence
    if upto <= after:
        return
    runner.erasures += 1  # there may have been one
    runner.past_waves = PastWaves()  # reads back what it needs
    told: list[messages.Told] = []
    lost: list[int] = []
    for ticket in list(runner.listening):
        story = messages.story(runner.views, ticket, after, now_ms)
        if isinstance(story, messages.Story):
            told += story.told
        elif isinstance(story, messages.TooOld):
            lost.append(ticket)
    if told:
        on_loop(runner.push, told)
    if lost:
        on_loop(runner.cut, lost)
