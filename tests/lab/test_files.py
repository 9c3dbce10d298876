"""Files from elsewhere: separators, archives, matrices and curves; and where servers would stand by measured times."""

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.errors import LabError
from evenmatch.lab import files, people
from evenmatch.lab.servers import regions_of

from .small import crowd


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("zipped", [False, True])
def test_columns_stand_between_commas_semicolons_or_tabs(tmp_path: Path, mark: str, zipped: bool) -> None:
    text = f"rank{mark}rating\r\n1{mark}1500.5\r\n2{mark}\r\n3{mark} 900 \r\n"
    file = tmp_path / ("r.csv.gz" if zipped else "r.csv")
    file.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    assert files.column(file, "rating").tolist() == [1500.5, 900.0]


def test_an_archive_is_called_one(tmp_path: Path) -> None:
    file = tmp_path / "m.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        entry = tarfile.TarInfo("matrix")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"0 1"))
    with pytest.raises(LabError, match="is an archive: unpack it"):
        files.matrix(file)


def test_a_matrix_with_words_is_refused_shortly(tmp_path: Path) -> None:
    file = tmp_path / "m.txt"
    file.write_text("0 " + "x" * 500 + "\n1 0\n")
    with pytest.raises(LabError, match="holds numbers only") as told:
        files.matrix(file)
    assert len(str(told.value)) < len(str(file)) + 150


def test_the_curve_of_a_day_is_the_mean_of_its_hours(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    days = [f"2024-05-0{day} {hour:02}:00:00,{hour * day}" for day in (1, 3) for hour in range(24)]
    file.write_text("time,count\n" + "\n".join(days) + "\n2024-05-04 00:00:00,\n")
    assert files.hours(file, "time", "count").tolist() == [2.0 * hour for hour in range(24)]


def cost(times: Array, servers: list[int]) -> float:
    return float(times[:, servers].min(axis=1).sum())


@given(st.integers(0, 10_000), st.integers(3, 12), st.data())
def test_no_server_can_be_moved_to_anybodys_gain(seed: int, hosts: int, data: st.DataObject) -> None:
    chance = np.random.default_rng(seed)
    place = chance.random((hosts, 2)) * 100
    times = np.hypot(*(place[:, None, :] - place[None, :, :]).transpose(2, 0, 1)) + 1.0
    count = data.draw(st.integers(1, hosts))
    servers, whose = regions_of(times, count)
    assert len(set(servers.tolist())) == count
    assert whose[servers].tolist() == list(range(count))
    sizes = np.bincount(whose, minlength=count).tolist()
    assert sizes == sorted(sizes, reverse=True)
    found = cost(times, servers.tolist())
    for place_, _ in enumerate(servers):
        for other in range(hosts):
            moved = [*servers[:place_].tolist(), other, *servers[place_ + 1 :].tolist()]
            assert cost(times, moved) >= found - 1e-9
    assert (times[np.arange(hosts), servers[whose]] <= times[:, servers].min(axis=1) + 1e-9).all()


def test_players_are_near_the_servers_of_their_own_region(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    town = np.repeat([0, 1, 2], [5, 30, 15])[chance.permutation(50)]
    times = np.where(town[:, None] == town[None, :], 10.0, 150.0) + chance.random((50, 50))
    np.fill_diagonal(times, 0.0)
    times[4, 7] = 0.0  # one that is missing
    np.savetxt(tmp_path / "rtt.txt", times)
    given_ = crowd(regions={"shares": {"as": 0.1, "eu": 0.6, "us": 0.3}, "file": "rtt.txt"})
    found = people.draw(given_, tmp_path, 1, 500)
    assert found.ping.max() < 12
    far = found.latency.copy()
    far[np.arange(500), found.region] = np.inf
    assert far.min() > 100
    again = people.draw(given_, tmp_path, 1, 500)
    assert (again.latency == found.latency).all()


def test_a_matrix_needs_a_row_for_every_region(tmp_path: Path) -> None:
    (tmp_path / "rtt.txt").write_text("0 5\n5 0\n")
    given_ = crowd(regions={"shares": {"a": 0.5, "b": 0.25, "c": 0.25}, "file": "rtt.txt"})
    with pytest.raises(LabError, match="2 rows are too few for 3 regions"):
        people.draw(given_, tmp_path, 1, 10)
