"""What a comparison found: a value that prints as a table and can be taken elsewhere."""

import csv
import io
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch.domain.refusals import Reasons
from evenmatch.domain.shards import Split
from evenmatch.errors import LabError

from .intervals import Interval
from .plain import named, percent_down
from .population import Population
from .world import STEP_MS

__all__ = ["COLUMNS", "Comparison", "NotPlayed", "Row"]

WAIT: Final = "wait_to_match_s.p90"
QUALITY: Final = "true_odds.fair_share"
SERVED_LEAST: Final = 0.9
"""Who serves a smaller share of those who came is not called best, unless all are such."""
COLUMNS: Final = {
    "matches_an_hour": ("matches/h", "{:.0f}"),
    "never_matched": ("never matched", "{:.1%}"),
    "wait_to_match_s.p50": ("wait p50 s", "{:.1f}"),
    WAIT: ("p90 s", "{:.1f}"),
    "wait_to_match_s.p99": ("p99 s", "{:.1f}"),
    "true_odds.fair_share": ("fair 45-55 %", "{:.1%}"),
    "true_odds.mean": ("favourite wins", "{:.1%}"),
    "true_odds.worst": ("worst 1 %", "{:.1%}"),
    "gap.p50": ("gap p50", "{:.0f}"),
    "latency_extra_ms.mean": ("extra ms", "{:.1f}"),
    "overtaking.share": ("overtaken", "{:.1%}"),
}
"""The columns of the short table: what is measured, what stands above it, how it is written."""


class NotPlayed(msgspec.Struct, frozen=True):
    """A matcher that cannot play this game."""

    name: str
    why: str


class Row(msgspec.Struct, frozen=True):
    """One queue, over all seeds."""

    name: str
    queue: dict[str, Any]
    """Its rules."""
    measures: dict[str, Interval]
    """By dotted name."""
    runs: list[dict[str, Any]]
    """All that was measured, a seed each."""
    timing: list[dict[str, Any]]
    origin: str = "given"
    """Where its parameters come from: given, fitted or default."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Those that ran; what is not named has its default."""
        found: dict[str, Any] = self.queue.get("matcher", {}).get("parameters", {})
        return found

    @property
    def setting(self) -> str:
        """The same in words."""
        told = f"{named(self.parameters)} ({self.origin})" if self.parameters else "its defaults"
        return f"{told}; {msgspec.convert(self.queue['shards'], Split)}" if "shards" in self.queue else told

    def by_seed(self, measure: str) -> list[float | None]:
        """A measure in each of the runs, in order of their seeds."""
        found = []
        for run in self.runs:
            value: Any = run
            for name in measure.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            found.append(value)
        return found

    def mean(self, measure: str) -> float | None:
        """The mean over seeds."""
        found = self.measures.get(measure)
        return None if found is None else found.mean

    @property
    def served(self) -> float | None:
        """The share that was matched, of those who came and whose wait has ended, turned away at the door or not."""
        never = self.mean("never_matched")
        return None if never is None else round(1.0 - never, 6)

    @property
    def serves_enough(self) -> bool:
        """Whether that is enough to be compared with others."""
        if self.served is None:
            return self.mean("matches") != 0
        return self.served >= SERVED_LEAST

    @property
    def surely_few(self) -> bool:
        """Too few are served, and no chance of the seeds explains it."""
        never = self.measures.get("never_matched")
        return not self.serves_enough and not (never and never.low is not None and never.low <= 1.0 - SERVED_LEAST)

    @property
    def warning(self) -> str:
        """What stands beside the name of one that does not."""
        if self.serves_enough:
            return ""
        return "nobody is matched" if self.served is None else f"serves {percent_down(self.served)} of those who came"

    @property
    def turned_away(self) -> tuple[float, list[str]]:
        """The share of all that came which was turned away at the door, and for which reasons."""
        came = sum(run["tickets"] for run in self.runs)
        refused = [run["turned_away"] for run in self.runs]
        share = sum(sum(one.values()) for one in refused) / came if came else 0.0
        return share, sorted({Reasons[reason.upper()].title for one in refused for reason in one})


class Comparison(msgspec.Struct, frozen=True):
    """Queues side by side."""

    called: str
    population: Population
    hours: float
    seeds: int
    rows: list[Row]
    not_played: list[NotPlayed]
    step_s: float = STEP_MS / 1000
    """How far the moments of virtual time are apart."""

    @property
    def dealt(self) -> list[str]:
        """Those that make lobbies, of which the game makes its teams."""
        if self.population.game.format.teams == 1:
            return []
        return [row.name for row in self.rows if row.queue.get("format", {}).get("teams") == 1]

    @property
    def contenders(self) -> list[Row]:
        """Those that serve enough to be called best; all, where none does."""
        return [row for row in self.rows if row.serves_enough] or self.rows

    @property
    def front(self) -> list[str]:
        """Those contenders that no other beats both in wait and in quality, on average: the Pareto front."""
        points = {row.name: (row.mean(WAIT), row.mean(QUALITY)) for row in self.contenders}
        known = {name: (wait, fair) for name, (wait, fair) in points.items() if wait is not None and fair is not None}
        return [
            name
            for name, (wait, fair) in known.items()
            if not any(
                other_wait <= wait and other_fair >= fair and (other_wait, other_fair) != (wait, fair)
                for other_wait, other_fair in known.values()
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; whatever hangs on the machine stands under `timing`."""
        return {
            "population": self.called,
            "hours": self.hours,
            "step_s": self.step_s,
            "seeds": list(range(1, self.seeds + 1)),
            "matchers": [
                {
                    "name": row.name,
                    "front": row.name in self.front,
                    "served": row.served,
                    "serves_enough": row.serves_enough,
                    "measures": msgspec.to_builtins(row.measures),
                    "parameters": row.parameters,
                    "parameters_from": row.origin,
                    "queue": row.queue,
                    "runs": row.runs,
                }
                for row in self.rows
            ],
            "not_applicable": msgspec.to_builtins(self.not_played),
            "configuration": msgspec.to_builtins(self.population),
            "timing": {row.name: row.timing for row in self.rows},
        }

    def records(self) -> list[dict[str, Any]]:
        """A row a queue, a column a measure, with its interval."""
        found = []
        for row in self.rows:
            record: dict[str, Any] = {"name": row.name, "front": row.name in self.front, "parameters_from": row.origin}
            for measure, one in row.measures.items():
                record |= {measure: one.mean, f"{measure}.low": one.low, f"{measure}.high": one.high}
            found.append(record)
        return found

    def to_csv(self, path: str | Path | None = None) -> str:
        """The records as CSV; written to a file, too, if one is named."""
        records = self.records()
        names = list(dict.fromkeys(name for record in records for name in record))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        if path is not None:
            Path(path).write_text(text.getvalue(), "utf-8")
        return text.getvalue()

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of the records."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError:
            raise LabError("pandas is not installed: pip install pandas") from None
        return pandas.DataFrame.from_records(self.records())

    def to_polars(self) -> Any:
        """A polars.DataFrame of the records."""
        try:
            import polars
        except ImportError:
            raise LabError("polars is not installed: install evenmatch[lab]") from None
        return polars.DataFrame(self.records(), infer_schema_length=None)

    def to_parquet(self, path: str | Path) -> None:
        """The records as a Parquet file, by polars or else by pandas."""
        try:
            self.to_polars().write_parquet(path)
        except LabError:
            try:
                self.to_pandas().to_parquet(path)
            except (LabError, ImportError):
                raise LabError("Parquet needs polars, or pandas with pyarrow: install evenmatch[lab]") from None

    def __str__(self) -> str:
        lines = [["", *(title for title, _ in COLUMNS.values())]]
        for row in self.rows:
            name = row.name + (" *" if row.name in self.front else "")
            lines.append([name, *(_shown(row, measure, form) for measure, (_, form) in COLUMNS.items())])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
        words = [f"{row.name}: {row.warning}" for row in self.rows if row.warning]
        words += [f"{row.name}: {row.setting}" for row in self.rows]
        words += [f"{one.name}: not applicable: {one.why}" for one in self.not_played]
        return "\n".join(["  ".join(line) for line in aligned] + words)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The short table, for notebooks."""
        head = "".join(f"<th>{escape(title)}</th>" for title in ("", *(title for title, _ in COLUMNS.values())))
        front, lines = self.front, []
        for row in self.rows:
            name = f"<b>{escape(row.name)}</b>" if row.name in front else escape(row.name)
            cells = "".join(f"<td>{_shown(row, measure, form)}</td>" for measure, (_, form) in COLUMNS.items())
            warning = f"<br><small>{row.warning}</small>" if row.warning else ""
            lines.append(f"<tr><td>{name}{warning}</td>{cells}</tr>")
        words = "".join(f"<p>{escape(row.name)}: {escape(row.setting)}</p>" for row in self.rows)
        words += "".join(f"<p>{escape(one.name)}: not applicable: {escape(one.why)}</p>" for one in self.not_played)
        return f"<table><tr>{head}</tr>{''.join(lines)}</table>{words}"


def _shown(row: Row, measure: str, form: str) -> str:
    value = row.mean(measure)
    return "-" if value is None else form.format(value)
