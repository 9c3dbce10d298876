"""queues.toml: what is read, what is refused, and how well a mistake is explained."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from evenmatch import config
from evenmatch.cli.check import check
from evenmatch.domain.queue import (
    SEATS_MAX,
    SECONDS_MAX,
    TEAM_SIZE_MAX,
    TEAMS_MAX,
    Format,
    MatcherSpec,
    MatchSpec,
    QueueSpec,
    ReadyCheckSpec,
    TicketSpec,
    WaveSpec,
    rule_broken,
)
from evenmatch.errors import ConfigError

EXAMPLE: Final = Path(__file__).parent.parent / "examples" / "queues.toml"


def mistakes(text: str) -> list[str]:
    """What is wrong with a text, a line each."""
    with pytest.raises(ConfigError) as caught:
        config.parse(text, "queues.toml")
    return str(caught.value).split("\n")


def mistake(text: str) -> str:
    found = mistakes(text)
    assert len(found) == 1, found
    return found[0]


# What is read.


def test_every_key_of_a_queue_is_read() -> None:
    text = """
        [queues.duel]
        format = { teams = 3, size = 4 }
        matcher = { name = "first_come" }
        wave = { every_s = 2, deadline_s = 1.5, isolate = true }
        ready_check = { timeout_s = 15 }
        ticket = { expires_s = 300, heartbeat_s = 30 }
        match = { runs_s = 7 }
        require_equal = ["region", "mode"]
    """
    assert config.parse(text, "queues.toml") == (
        QueueSpec(
            name="duel",
            format=Format(3, 4),
            matcher=MatcherSpec("first_come", {}),
            wave=WaveSpec(every_s=2.0, deadline_s=1.5, isolate=True),
            ready_check=ReadyCheckSpec(15.0),
            ticket=TicketSpec(300.0, 30.0),
            match=MatchSpec(7.0),
            require_equal=("region", "mode"),
        ),
    )


EMPTY = config.with_door(QueueSpec("duel", matcher=MatcherSpec("even")))


def test_an_empty_queue_has_every_default_and_no_ready_check() -> None:
    assert config.parse("[queues.duel]", "queues.toml") == (EMPTY,)
    assert EMPTY.matcher == MatcherSpec("even")


def test_whole_seconds_become_floats() -> None:
    (spec,) = config.parse("[queues.duel]\nwave = { every_s = 2 }", "queues.toml")
    assert type(spec.wave.every_s) is float


def test_further_keys_of_the_matcher_are_its_parameters() -> None:
    text = '[queues.duel]\nmatcher = { name = "exact", pool_max = 6 }'
    (spec,) = config.parse(text, "queues.toml")
    assert spec.matcher == MatcherSpec("exact", {"pool_max": 6})


def test_queues_keep_the_order_of_the_file() -> None:
    specs = config.parse("[queues.z]\n[queues.a]\n[queues.m]", "queues.toml")
    assert [spec.name for spec in specs] == ["z", "a", "m"]


def test_the_builtin_queues_keep_the_rules_and_can_be_written_and_read() -> None:
    duel, team5 = config.builtin()
    assert (duel.name, str(duel.format), duel.wave.every_s) == ("duel", "2x1", 1.0)
    assert (team5.name, str(team5.format), team5.wave.every_s) == ("team5", "2x5", 1.0)
    assert duel.ready_check == team5.ready_check == ReadyCheckSpec(20.0)
    assert duel.matcher == team5.matcher == MatcherSpec("even")
    assert rule_broken(duel) is rule_broken(team5) is None
    assert config.parse(config.to_toml(config.builtin()), "built in") == config.builtin()


def test_the_example_is_right_and_begins_with_a_builtin_queue() -> None:
    specs = config.load(EXAMPLE)
    assert len(specs) == 12
    assert specs[0] == config.builtin()[0]


# Files.


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: there is no such file"):
        config.load(tmp_path / "nowhere.toml")


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this is a directory"):
        config.load(tmp_path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "queues.toml/inner"])
def test_a_path_that_cannot_be_one_is_a_config_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "queues.toml").write_text("[queues.duel]")
    with pytest.raises(ConfigError):
        config.load(tmp_path / name)


def test_a_file_that_is_not_utf8_names_the_line_and_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    path.write_bytes(b"[queues.duel]\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"queues\.toml:2: byte 0xe9 is not UTF-8"):
        config.load(path)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    path.write_bytes(b"\xef\xbb\xbf[queues.duel]\r\nwave = { every_s = 2 }\r\n")
    assert config.load(path) == (msgspec.structs.replace(EMPTY, wave=WaveSpec(2.0)),)


# Malformed TOML.


def test_malformed_toml_names_line_and_column() -> None:
    assert mistake('[queues.duel]\nwave = "1\n').startswith("queues.toml:2:10: not TOML: ")


def test_toml_that_ends_too_early_names_the_last_line() -> None:
    assert mistake("[queues.duel]\nwave = ").startswith("queues.toml:2:8: not TOML: ")


def test_tables_that_stand_too_deep_are_a_config_error() -> None:
    assert "queues.toml" in mistake("a = " + "[" * 100_000)


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "f" * 5000, "9223372036854775808"])
def test_an_integer_that_is_too_long_is_a_config_error(digits: str) -> None:
    assert "queues.toml" in mistake(f"[queues.duel]\nformat = {{ teams = {digits} }}")
    assert "queues.toml" in mistake(f'[queues.duel]\nmatcher = {{ name = "exact", pool_max = [{digits}] }}')


# Mistaken keys and values.


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    assert mistake("[queues.duel]\nformat = {}\nwave = { evry_s = 1 }") == (
        "queues.toml:3: queues.duel.wave.evry_s: unknown key 'evry_s' in queues.duel.wave: "
        "did you mean 'every_s'? known keys: every_s, deadline_s, isolate"
    )


def test_an_unknown_key_with_no_near_one_lists_the_known_ones() -> None:
    assert mistake("[queues.duel]\nwave = { zzzz = 1 }") == (
        "queues.toml:2: queues.duel.wave.zzzz: unknown key 'zzzz' in queues.duel.wave; "
        "known keys: every_s, deadline_s, isolate"
    )


def test_a_key_one_level_too_high_is_shown_its_table() -> None:
    assert "did you mean 'wave.every_s'?" in mistake("[queues.duel]\nevery_s = 1")


def test_an_unknown_key_at_the_top_is_told() -> None:
    assert mistake("[queue.duel]") == (
        "queues.toml:1: queue: unknown key 'queue' at the top: did you mean 'queues'? known keys: queues, lanes, shards"
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "[queues]\n"])
def test_a_file_without_queues_says_how_to_add_one(text: str) -> None:
    assert mistake(text) == "queues.toml: queues: there are none: add a table such as [queues.duel]"


DUEL: Final = "[queues.duel]\n"


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("queues = 3", "queues", "3 is not a table"),
        ("[[queues]]", "queues", "an array is not a table"),
        ("queues.duel = true", "queues.duel", "true is not a table: write [queues.duel]"),
        (DUEL + "wave = 1", "queues.duel.wave", "1 is not a table: write one such as wave = { every_s = 1.0 }"),
        (DUEL + "ready_check = false", "queues.duel.ready_check", "false is not a table"),
        (DUEL + 'wave = { every_s = "1" }', "queues.duel.wave.every_s", '"1" is not a number: use one such as 1.0'),
        (DUEL + "wave = { every_s = true }", "queues.duel.wave.every_s", "true is not a number"),
        (DUEL + "wave = { every_s = nan }", "queues.duel.wave.every_s", "nan is not a finite number"),
        (DUEL + "wave = { every_s = -inf }", "queues.duel.wave.every_s", "-inf is not a finite number"),
        (DUEL + "wave = { every_s = [] }", "queues.duel.wave.every_s", "an array is not a number"),
        (DUEL + "wave = { every_s = 2020-01-01 }", "queues.duel.wave.every_s", "2020-01-01 is not a number"),
        (DUEL + "wave = { isolate = 1 }", "queues.duel.wave.isolate", "1 is neither true nor false"),
        (DUEL + "format = { teams = 2.0 }", "queues.duel.format.teams", "2.0 is not a whole number: use one such as 2"),
        (DUEL + "format = { size = true }", "queues.duel.format.size", "true is not a whole number"),
        (DUEL + "format = { size = {} }", "queues.duel.format.size", "a table is not a whole number"),
        (DUEL + 'require_equal = "region"', "queues.duel.require_equal", "is not an array"),
        (DUEL + 'require_equal = ["a", 2]', "queues.duel.require_equal", "entry 2, 2, is not a string"),
        (DUEL + 'matcher = "first_come"', "queues.duel.matcher", 'write one such as { name = "even" }'),
        (DUEL + "matcher = {}", "queues.duel.matcher", "the table names no matcher"),
        (DUEL + "matcher = { name = 3 }", "queues.duel.matcher.name", "3 is not a matcher's name"),
        (DUEL + 'matcher = { name = "frist_come" }', "queues.duel.matcher", "did you mean 'first_come'?"),
        (DUEL + 'matcher = { name = "first_come", zeal = 1 }', "queues.duel.matcher", "unknown parameter 'zeal'"),
        (DUEL + "rating = true", "queues.duel.rating", 'write one such as rating = { model = "weng_lin" }'),
        (DUEL + "rating = { model = 3 }", "queues.duel.rating.model", '3 is not a text: use one such as "weng_lin"'),
        (DUEL + 'rating = { model = "whr" }', "queues.duel.rating", "known: weng_lin, elo, glicko2"),
        (DUEL + "rating = { trust_backend = 1 }", "queues.duel.rating.trust_backend", "1 is neither true nor false"),
        (DUEL + "rating = { placement = 1.5 }", "queues.duel.rating.placement", "1.5 is not a whole number"),
        (DUEL + "rating = { placement = -1 }", "queues.duel.rating.placement", "use 0 to 10000"),
        (DUEL + "rating = { start = 1e9 }", "queues.duel.rating.start", "is not a rating"),
        (DUEL + "rating = { deviation = -1 }", "queues.duel.rating.deviation", "use 0 to 1e+06"),
        (DUEL + 'rating = { ladder = "a/b" }', "queues.duel.rating.ladder", "cannot name a ladder"),
        (DUEL + "rating = { parameters = 3 }", "queues.duel.rating.parameters", "3 is not a table"),
        (DUEL + "rating = { parameters = { k = 1 } }", "queues.duel.rating", "weng_lin: unknown parameter 'k'"),
        (DUEL + "rating = { parameters = { mu = 1 } }", "queues.duel.rating.parameters", "give it as the key 'start'"),
        (DUEL + "rating = { modle = 1 }", "queues.duel.rating.modle", "did you mean 'model'?"),
        (DUEL + "format = { teams = 1, size = 2 }\nrating = {}", "queues.duel.rating", "has no winner to rate"),
    ],
)
def test_a_mistake_names_the_line_the_key_and_what_would_be_right(text: str, key: str, words: str) -> None:
    told = mistake(text)
    assert told.startswith(f"queues.toml:{len(text.splitlines())}: {key}: ")
    assert words in told


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("[queues.Duel]", "queues.Duel", "cannot name a queue"),
        ('[queues."no spaces"]', 'queues."no spaces"', "cannot name a queue"),
        (DUEL + "format = { teams = 0 }", "queues.duel.format.teams", "use 1 to 100"),
        (DUEL + "format = { teams = 1 }", "queues.duel.format", "1x1 makes 1 seats a match"),
        (DUEL + "wave = { every_s = 0 }", "queues.duel.wave.every_s", "use 0.01 to"),
        (DUEL + "match = { runs_s = -1 }", "queues.duel.match.runs_s", "use 0 to"),
        (DUEL + "ready_check = { timeout_s = 1e99 }", "queues.duel.ready_check.timeout_s", "use 0.01 to"),
        (DUEL + 'require_equal = ["a", "a"]', "queues.duel.require_equal", "listed twice"),
    ],
)
def test_a_broken_rule_is_told_with_its_line_and_key(text: str, key: str, words: str) -> None:
    told = mistake(text)
    assert told.startswith(f"queues.toml:{len(text.splitlines())}: {key}: ")
    assert words in told


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = """
        extra = 1
        [queues.duel]
        format = { teams = 0, sise = 1 }
        wave = { every_s = "1", deadline_s = true }
        ticket = { expires_s = -1 }
        [queues.team5]
        matcher = { name = "nobody" }
        require_equal = [""]
        [queues.right]
    """
    keys = [told.split(": ")[:2] for told in mistakes(text)]
    assert keys == [
        ["queues.toml:2", "extra"],
        ["queues.toml:4", "queues.duel.format.sise"],
        ["queues.toml:5", "queues.duel.wave.every_s"],
        ["queues.toml:5", "queues.duel.wave.deadline_s"],
        ["queues.toml:6", "queues.duel.ticket.expires_s"],
        ["queues.toml:8", "queues.team5.matcher"],
        ["queues.toml:9", "queues.team5.require_equal"],
    ]


def test_all_mistakes_of_one_table_are_told_at_once() -> None:
    text = """
        [queues.duel]
        format = { teams = 0, size = 0 }
        wave = { every_s = 0, deadline_s = 0 }
        ready_check = { timeout_s = 0 }
        cooldown = { growth = 0, decline_s = -1 }
        party = { rating = "x", ping = "y" }
        venue = { channels = -1, map_memory = -1, regions = ["a", "a"] }
        backfill = { window = -1, rated = "x" }
        rating = { start = 1e9, deviation = -1 }
    """
    keys = sorted(told.split(": ")[1].removeprefix("queues.duel.") for told in mistakes(text))
    assert keys == sorted(
        [
            "format.teams",
            "format.size",
            "wave.every_s",
            "wave.deadline_s",
            "ready_check.timeout_s",
            "cooldown.growth",
            "cooldown.decline_s",
            "party.rating",
            "party.ping",
            "venue.channels",
            "venue.map_memory",
            "venue.regions",
            "backfill.window",
            "backfill.rated",
            "rating.start",
            "rating.deviation",
        ]
    )


def test_lines_are_found_across_comments_headers_dotted_keys_and_values_of_many_lines() -> None:
    text = (
        '# [queues.a]\n[ queues . "a" ]\nrequire_equal = [\n  "[x]",\n  "y",\n]\nwave.every_s = 0\n\n'
        '[queues.a.ticket]\nlife = """\n1\n"""\n'
    )
    assert [told.split(": ")[0] for told in mistakes(text)] == ["queues.toml:7", "queues.toml:10"]


# Writing.

seconds = st.floats(0.01, SECONDS_MAX) | st.integers(1, 3600).map(float)
formats = st.integers(1, TEAMS_MAX).flatmap(
    lambda teams: st.builds(
        Format, st.just(teams), st.integers(2 if teams == 1 else 1, min(TEAM_SIZE_MAX, SEATS_MAX // teams))
    )
)
matchers = st.just(MatcherSpec()) | st.integers(2, 8).map(lambda most: MatcherSpec("exact", {"pool_max": most}))
attribute = st.text(st.characters(codec="utf-8"), min_size=1, max_size=64)
queue_specs = st.builds(
    QueueSpec,
    name=st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True),
    format=formats,
    matcher=matchers,
    wave=st.builds(WaveSpec, seconds, seconds, st.none() | st.booleans()),
    ready_check=st.none() | st.builds(ReadyCheckSpec, seconds),
    ticket=st.builds(TicketSpec, seconds, seconds),
    match=st.builds(MatchSpec, st.just(0.0) | seconds),
    require_equal=st.lists(attribute, unique=True, max_size=4).map(tuple),
)


@given(st.lists(queue_specs, min_size=1, max_size=4, unique_by=lambda spec: spec.name).map(tuple))
def test_what_is_written_reads_as_what_it_was(specs: tuple[QueueSpec, ...]) -> None:
    assert config.parse(config.to_toml(specs), "queues.toml") == specs


def test_two_queues_of_one_name_and_a_parameter_called_name_cannot_be_written() -> None:
    with pytest.raises(ConfigError, match="two queues have this name"):
        config.to_toml([QueueSpec("duel"), QueueSpec("duel")])
    with pytest.raises(ConfigError, match="called 'name'"):
        config.to_toml([QueueSpec("duel", matcher=MatcherSpec("exact", {"name": 1}))])


scraps = st.sampled_from(
    [
        *("[queues.duel]", "[queues.a]", "queues", "wave", "every_s", "format", "matcher", "name", "'first_come'"),
        *("=", "{", "}", "[", "]", "\n", ",", ".", '"', '"""', "#", " ", "1", "-1", "0.5", "nan", "true"),
    ]
)


def told(text: str) -> list[str]:
    """What is wrong with a text, a line each; nothing where it can be used."""
    try:
        specs = config.parse(text, "queues.toml")
    except ConfigError as problem:
        return str(problem).split("\n")
    assert specs
    assert all(rule_broken(spec) is None for spec in specs)
    return []


@given(st.lists(scraps, max_size=30).map("".join) | st.text())
def test_no_text_brings_anything_but_queues_or_a_config_error(text: str) -> None:
    assert all(line.startswith("queues.toml:") for line in told(text)[:1])


values: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters(codec="utf-8")) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.sampled_from(["format", "matcher", "wave", "ready_check", "ticket", "match", "require_equal", "rating"]),
    st.sampled_from(
        [
            "model",
            "start",
            "parameters",
            "teams",
            "size",
            "name",
            "pool_max",
            "every_s",
            "isolate",
            "timeout_s",
            "expires_s",
            "runs_s",
            "",
        ]
    ),
    values,
)
def test_no_value_of_any_kind_brings_anything_but_queues_or_a_config_error(section: str, key: str, value: Any) -> None:
    text = tomli_w.dumps({"queues": {"duel": {section: {key: value} if key else value}}})
    assert all(line.startswith("queues.toml:") for line in told(text))


def test_queues_that_share_a_ladder_must_rate_alike() -> None:
    text = "[queues.a]\nrating = { start = 1200 }\n[queues.b]\nrating = { ladder = 'a', placement = 3 }\n"
    assert told(text) == [
        "queues.toml:4: queues.b.rating.start: queues a and b share the ladder 'a': give both the same start"
    ]
    assert told(text.replace("placement = 3", "placement = 3, start = 1200")) == []


def test_ratings_come_back_from_toml_as_they_went() -> None:
    text = "[queues.a]\nrating = { model = 'elo', placement = 3, parameters = { k = 24 } }\n"
    specs = config.parse(text, "queues.toml")
    assert config.parse(config.to_toml(specs), "queues.toml") == specs


# `evenmatch check`.


def test_check_notes_what_cannot_come_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "queues.toml"
    path.write_text("[queues.duel]\nticket = { expires_s = 600 }\n[queues.long]\n")
    check(path)
    shown = " ".join(capsys.readouterr().out.split())
    assert "note: duel: tickets expire after 600 s, before they would go first (outlier_s = 600)" in shown
    assert "before they would accept any rating (window_free_s = 600)" in shown
    assert "note: long" not in shown
    assert "2 queues, no mistakes" in shown


def test_check_shows_the_queues_of_a_right_file(capsys: pytest.CaptureFixture[str]) -> None:
    check(EXAMPLE)
    shown = capsys.readouterr()
    for word in ("duel", "2x5", "2.5 s", "none", "1800 s", "12 queues, no mistakes", "even"):
        assert word in shown.out
    assert shown.err == ""


def test_check_tells_mistakes_on_stderr_and_leaves_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "queues.toml"
    path.write_text("[queues.duel]\nwave = { evry_s = [1] }\n[queues.DUEL]\n")
    with pytest.raises(SystemExit) as left:
        check(path)
    assert left.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{path}:2: queues.duel.wave.evry_s: unknown key 'evry_s'" in shown.err
    assert shown.err.endswith("2 mistakes\n")


def test_check_notes_that_a_cap_without_regions_counts_pings_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "queues.toml"
    path.write_text('[queues.duel]\nmatcher = { name = "even", latency_cap_ms = 80 }\n', "utf-8")
    check(path)
    told = " ".join(capsys.readouterr().out.split())
    assert "note: duel: latency_cap_ms counts ping_ms only" in told
    assert 'add venue = { regions = ["eu", "us"] }' in told
    path.write_text(path.read_text("utf-8") + 'venue = { regions = ["eu"] }\n', "utf-8")
    check(path)
    assert "note" not in capsys.readouterr().out


def test_all_mistaken_parameters_of_a_matcher_are_told_and_what_the_others_make_of_the_format() -> None:
    text = """
[queues.team]
format = { teams = 2, size = 5 }
matcher = { name = "even", hold = "maybe", window = -1, windw = 3, roles = { tank = 1 } }
"""
    with pytest.raises(ConfigError) as caught:
        config.parse(text, "q.toml")
    told = str(caught.value).splitlines()
    assert len(told) == 4
    for words in ("hold must be true or false", "window must be", "unknown parameter 'windw'", "1 places for roles"):
        assert any(words in line for line in told), words
