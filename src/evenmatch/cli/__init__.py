"""The command line: one file a verb; each parses, calls one function and prints."""

import sys
from typing import Final

from cyclopts import App

from evenmatch import __version__

app = App(
    name="evenmatch",
    help="A matchmaker for online games.",
    version=__version__,
    help_on_error=False,
    help_format="plaintext",
)
journal = App(name="journal", help="Look into a server's journal.")
queues = App(name="queues", help="The rules of a running server as a file, and the other way round.")
keys = App(name="keys", help="Make, list and revoke API keys.")
lab = App(name="lab", help="Try matchers on simulated players.")
cluster = App(name="cluster", help="The processes that share a PostgreSQL database.")
drill = App(name="drill", help="Let things go wrong on purpose, and audit what is left.")
bench = App(name="bench", help="Measure, side by side with a baseline in the same run.")

# Named by string, so that `evenmatch --help` imports none of them.
app.command("evenmatch.cli.serve:serve", name="serve", help="Run the live server until Ctrl-C.")
app.command(
    "evenmatch.cli.check:check",
    name="check",
    help="Look a queues.toml over: show its queues, or everything that is wrong with it.",
)
app.command("evenmatch.cli.demo:demo", name="demo", help="A server with a simulated crowd, to look at.")
app.command(
    "evenmatch.cli.watch:watch", name="watch", help="Follow tickets over their WebSockets until their story is over."
)
app.command("evenmatch.cli.plan:plan", name="plan", help="Run one wave over a file of tickets, with no server.")
app.command(
    "evenmatch.cli.reproduce:reproduce",
    name="reproduce",
    help="Run the documents' tables, examples, claims and experiments again, theirs beside ours.",
)
app.command(
    "evenmatch.cli.rate:rate",
    name="rate",
    help="Rate the players of a file of results, and score the predictions.",
)
app.command(keys)
keys.command("evenmatch.cli.keys:add", name="add", help="Make an API key and print it, once.")
keys.command("evenmatch.cli.keys:show", name="list", help="List the API keys, without their secrets.")
keys.command("evenmatch.cli.keys:revoke", name="revoke", help="Take an API key back.")
app.command("evenmatch.cli.token:token", name="token", help="Print a player's token, for trying things out.")
app.command(journal)
journal.command("evenmatch.cli.journal:show", name="show", help="Print a journal's events, one a line.")
journal.command(
    "evenmatch.cli.journal:verify",
    name="verify",
    help="Replay a journal, prove every checkpoint and print the state hash.",
)
journal.command(
    "evenmatch.cli.journal:archive",
    name="archive",
    help="Move events that no restart needs any more into a file of their own.",
)
journal.command(
    "evenmatch.cli.journal:prune",
    name="prune",
    help="Drop the records of finished tickets and matches that are older than so many days.",
)
journal.command(
    "evenmatch.cli.journal:backup",
    name="backup",
    help="Copy a journal to a new file, also while its server runs, and prove the copy.",
)
journal.command(
    "evenmatch.cli.journal:copy",
    name="copy",
    help="Copy a journal from a file into PostgreSQL, or back, with the hash proved equal.",
)
app.command(cluster)
cluster.command(
    "evenmatch.cli.cluster:status",
    name="status",
    help="Show the processes of a cluster and its lanes; status 1 if something is wrong.",
)
app.command(queues)
queues.command("evenmatch.cli.queues:pull", name="pull", help="Write the rules in force on a server as a queues.toml.")
queues.command("evenmatch.cli.queues:push", name="push", help="Give a running server the rules of a queues.toml.")
app.command(
    "evenmatch.cli.refusals:refusals",
    name="refusals",
    help="Print every reason for which the server says no, as Markdown.",
)
app.command("evenmatch.cli.top:top", name="top", help="Watch the queues of a server in the terminal.")
app.command(lab)
lab.command(
    "evenmatch.cli.lab:compare",
    name="compare",
    help="Run matchers on the same simulated traffic, and set waits and quality side by side.",
)
lab.command(
    "evenmatch.cli.lab_calibrate:calibrate",
    name="calibrate",
    help="Find parameters that fit your own players, and print the tables of queues.toml.",
)
lab.command(
    "evenmatch.cli.lab_tune:tune",
    name="tune",
    help="Search a matcher's parameters until a target is met, and check them on other traffic.",
)
lab.command(
    "evenmatch.cli.lab_population:population",
    name="population",
    help="Print a population as a file to begin with, or list the presets.",
)
lab.command(
    "evenmatch.cli.lab_faults:faults",
    name="faults",
    help="Lose, delay and double what players send, crash the engine, and audit every step.",
)
app.command(
    "evenmatch.cli.replay:replay",
    name="replay",
    help="Prove a journal, or ask what another algorithm would have done with its players.",
)
app.command(drill)
drill.command(
    "evenmatch.cli.drill:crash",
    name="crash",
    help="Kill a server at random instants under load: nothing that was acknowledged may be lost.",
)
drill.command(
    "evenmatch.cli.drill:faults",
    name="faults",
    help="Let servers and their way to PostgreSQL fail at random instants under load: nothing may be lost.",
)
app.command(bench)
bench.command(
    "evenmatch.cli.bench:engine",
    name="engine",
    help="Joins a second through the engine in memory, and bytes a waiting ticket.",
)
bench.command(
    "evenmatch.cli.bench:service",
    name="service",
    help="Durable joins a second over real sockets, beside a bare ASGI echo.",
)
bench.command(
    "evenmatch.cli.bench:matchers",
    name="matchers",
    help="The matchers beside others that do the same work: times, growth, memory, agreement.",
)
bench.command(
    "evenmatch.cli.bench:even",
    name="even",
    help="The matcher even beside its bounds, other solvers and the other matchers.",
)
bench.command(
    "evenmatch.cli.bench_teams:teams",
    name="teams",
    help="Teams by even: seats and cost beside their bounds, and beside a greedy rule.",
)
bench.command(
    "evenmatch.cli.bench:waves",
    name="waves",
    help="A wave from end to end over up to a million waiting tickets, and joins answered meanwhile.",
)
bench.command(
    "evenmatch.cli.bench_live:live",
    name="live",
    help="Thousands of connected players from join to result and round again, beside a bare echo.",
)
bench.command(
    "evenmatch.cli.bench_cluster:cluster",
    name="cluster",
    help="Several processes on one PostgreSQL, an owner killed under load, beside SQLite and bare INSERTs.",
)
bench.command(
    "evenmatch.cli.bench_lab:lab",
    name="lab",
    help="Simulated player-hours a second, beside a bare model of the same comings and goings.",
)
bench.command("evenmatch.cli.bench:restart", name="restart", help="Time to ready after a million journal events.")
bench.command(
    "evenmatch.cli.bench:start",
    name="start",
    help="What a start costs: the program, and each matcher's first wave in a fresh process.",
)


_MATCHING: Final = ("serve", "demo", "plan")
"""Verbs that people try first, and that need compiled code."""
_LOOKING: Final = ("check",)
"""Verbs that build matchers to look them over, and run none."""


def _prepared(arguments: list[str]) -> None:
    """Compile what a first start needs, and say so: otherwise its imports would, for minutes and without a word."""
    if arguments and arguments[0] in _LOOKING:
        from evenmatch.numerics.compiled import compile_later

        compile_later()
    if arguments and arguments[0] in _MATCHING and not {"--help", "-h"} & set(arguments):
        from evenmatch.warming import prepare

        try:
            prepare(lambda line: print(f"evenmatch: {line}", file=sys.stderr, flush=True))
        except KeyboardInterrupt:
            print("evenmatch: stopped; what is compiled is kept", file=sys.stderr)
            raise SystemExit(130) from None


def main() -> None:
    """Run the command line; an expected mistake ends with one clear line and status 2."""
    from cyclopts import CycloptsError

    from evenmatch.errors import EvenmatchError

    try:
        _prepared(sys.argv[1:])
        app(sys.argv[1:], exit_on_error=False, print_error=False)
    except CycloptsError as error:  # an argument that is missing, unknown or of the wrong kind
        print(f"evenmatch: {' '.join(str(error).split())} See --help.", file=sys.stderr)
        raise SystemExit(2) from None
    except EvenmatchError as error:
        print(f"evenmatch: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
