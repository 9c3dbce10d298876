"""What `evenmatch rate --report` writes: how good the predictions were, in pictures and numbers, on one page."""

from html import escape
from pathlib import Path
from typing import Final

from evenmatch.pages import page
from evenmatch.pages.charts import Chart, Series, number
from evenmatch.rating import Outcome, Score

__all__ = ["html", "write"]

_SKIPPED_MOST: Final = 50
_NAMES: Final = {"openskill_default": "openskill, defaults", "coin": "coin"}


def write(path: Path, outcome: Outcome, source: str) -> None:
    """Write the page."""
    page.write(path, html(outcome, source))


def html(outcome: Outcome, source: str) -> str:
    """The whole page; `source` names the file that was rated."""
    parameters = ", ".join(f"{name}={value:g}" for name, value in outcome.parameters.items())
    body = (
        f"<header><h1>Ratings from {escape(source)}</h1>"
        f'<p class="lead">{number(outcome.games)} match{"es" * (outcome.games != 1)} rated by {escape(outcome.model)}, '
        f"{number(outcome.draws)} of them draw{'s' * (outcome.draws != 1)}; "
        f"{number(outcome.skipped)} row{'s' * (outcome.skipped != 1)} skipped. Each match was "
        f"predicted before it was rated, and the last {number(outcome.scored)} with a winner are scored.</p>"
        f'<p class="soft">{escape(outcome.model)}({escape(parameters)}), temperature {outcome.temperature:.3f}</p>'
        f"</header>{_scores(outcome)}{''.join(page.figure(chart) for chart in charts(outcome))}"
        f"<h2>The best</h2>{_leaders(outcome)}{_skipped(outcome)}"
    )
    return page.page(f"Ratings from {source}", body)


def charts(outcome: Outcome) -> list[Chart]:
    """The pictures that there is something to show in."""
    found = []
    bins = outcome.calibration
    if bins:
        found.append(
            Chart(
                name="reliability",
                title="Do favourites win as often as was said?",
                caption="Matches by what was said of the favourite. On the line: the odds mean what they say. "
                "Above it favourites won more often than was said, below it less.",
                kind="lines",
                x_label="said of the favourite, %",
                y_label="favourites that won, %",
                series=(
                    Series("won", tuple(100 * b.predicted for b in bins), tuple(100 * b.won for b in bins)),
                    Series("as said", (50.0, 100.0), (50.0, 100.0)),
                ),
            )
        )
    if len(outcome.running) > 1:
        at = tuple(float(point.match) for point in outcome.running)
        found.append(
            Chart(
                name="running",
                title="Log-loss so far",
                caption="The mean over the matches scored up to each; lower is better. A coin has 0.693.",
                kind="steps",
                x_label="match",
                y_label="log-loss",
                series=(
                    Series("calibrated", at, tuple(point.log_loss for point in outcome.running)),
                    Series("openskill", at, tuple(point.openskill for point in outcome.running)),
                    Series("coin", (at[0], at[-1]), (0.6931, 0.6931)),
                ),
            )
        )
    found.append(
        Chart(
            name="ratings",
            title="Ratings at the end",
            caption="How many players have a rating of about so much.",
            kind="columns",
            x_label="rating",
            y_label="players",
            series=(
                Series(
                    "players",
                    tuple(middle for middle, _ in outcome.histogram),
                    tuple(float(count) for _, count in outcome.histogram),
                ),
            ),
        )
    )
    return found


def _scores(outcome: Outcome) -> str:
    rows = {
        "calibrated": Score(outcome.log_loss, outcome.accuracy),
        "as the model says": outcome.uncalibrated,
        **{_NAMES.get(name, name): score for name, score in outcome.baselines.items()},
    }
    told = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{_told(score.log_loss, "{:.4f}")}</td>'
        f'<td class="number">{_told(score.accuracy, "{:.1%}")}</td></tr>'
        for name, score in rows.items()
    )
    return (
        '<div class="scroll"><table><thead><tr><th>predictions</th><th class="number">log-loss</th>'
        f'<th class="number">favourites that won</th></tr></thead><tbody>{told}</tbody></table></div>'
    )


def _told(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _leaders(outcome: Outcome) -> str:
    rows = "".join(
        f'<tr><td>{escape(one.player)}</td><td class="number">{one.rating:.0f}</td>'
        f'<td class="number">{one.uncertainty:.0f}</td><td class="number">{one.matches}</td></tr>'
        for one in outcome.leaders
    )
    return (
        '<div class="scroll"><table><thead><tr><th>player</th><th class="number">rating</th><th class="number">±</th>'
        f'<th class="number">matches</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _skipped(outcome: Outcome) -> str:
    if not outcome.skipped_rows:
        return ""
    rows = "".join(
        f'<tr><td class="number">{row.line}</td><td>{escape(row.why)}</td></tr>'
        for row in outcome.skipped_rows[:_SKIPPED_MOST]
    )
    more = outcome.skipped - _SKIPPED_MOST
    rest = f'<p class="soft">and {number(more)} more</p>' if more > 0 else ""
    return (
        '<h2>Rows that were skipped</h2><div class="scroll"><table><thead><tr><th class="number">line</th><th>why</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div>{rest}"
    )
