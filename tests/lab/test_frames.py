"""A comparison as a frame of polars and as Parquet: what `make setup` installs can do both."""

from pathlib import Path

import polars

from evenmatch import lab


def test_a_comparison_goes_on_as_polars_and_parquet(tmp_path: Path) -> None:
    found = lab.compare(matchers=["first_come", "random"], hours=0.1, seeds=2, workers=1)
    frame = found.to_polars()
    assert frame["name"].to_list() == ["first_come", "random"]
    assert frame.columns == list(dict.fromkeys(name for record in found.records() for name in record))
    assert frame["matches_an_hour"].to_list() == [row.mean("matches_an_hour") for row in found.rows]
    found.to_parquet(tmp_path / "found.parquet")
    assert polars.read_parquet(tmp_path / "found.parquet").equals(frame)
