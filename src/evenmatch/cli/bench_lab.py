"""evenmatch bench lab: how fast the lab lives, beside a bare model of the same comings and goings."""

from rich.console import Console

from evenmatch.cli.bench import JsonFlag, show
from evenmatch.errors import ConfigError


def lab(
    *,
    sizes: str = "10000,100000,400000",
    hours: float = 0.5,
    step: float = 1.0,
    matcher: str = "buckets",
    json_output: JsonFlag = False,
) -> None:
    """Simulated player-hours a second of processor time, beside a bare simpy model of the same traffic.

    Parameters
    ----------
    sizes
        Sessions a day, with commas between them.
    hours
        How much virtual time is run.
    step
        Seconds between the lab's moments.
    matcher
        The matcher that the lab runs.
    json_output
        Print the numbers as JSON.
    """
    from evenmatch.bench.lab import measure
    from evenmatch.lab.comparing import STEP_LEAST_S

    try:
        wanted = tuple(int(size) for size in sizes.split(",") if size.strip())
    except ValueError:
        raise ConfigError(f"--sizes {sizes!r} are no numbers: write them as 2000,10000") from None
    if not wanted or min(wanted) < 1 or hours <= 0 or step < STEP_LEAST_S:
        raise ConfigError(f"--sizes and --hours must be more than 0, and --step {STEP_LEAST_S:g} or more")
    with Console(stderr=True).status("simulating ..."):
        found = measure(wanted, hours, matcher, step)
    rows = []
    for one in found["sizes"]:
        ours, plain = one["evenmatch"], one["simpy"]
        rows.append(
            (
                f"player-hours a second, {one['sessions_a_day']:,} sessions a day",
                f"{ours['player_hours_per_s']:,.0f}",
                f"{plain['player_hours_per_s']:,.0f}",
            )
        )
        rows.append(("  us a ticket", f"{ours['us_a_ticket']:,.0f}", f"{plain['us_a_ticket']:,.0f}"))
        rows.append(("  as fast as the bare model", f"{one['ratio']:.3f}x", ""))
    if found["growth"]["evenmatch"] is not None:
        ours, plain = (f"n^{found['growth'][kind]:.2f}" for kind in ("evenmatch", "simpy"))
        rows.append(("time grows with sessions as", ours, plain))
    title = f"lab, {matcher}, {hours:g} h in steps of {step:g} s; baseline: simpy, comings and goings alone"
    show(found, json_output, title, rows)
