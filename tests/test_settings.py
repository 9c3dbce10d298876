"""Process settings: defaults, variables, and what is said of nonsense."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.errors import ConfigError
from evenmatch.settings import PREFIX, Settings, from_environment

VARIABLES = [PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)]
NUMBERS = [variable for variable in VARIABLES if variable not in ("EVENMATCH_HOST", "EVENMATCH_DB")]


def test_an_empty_environment_gives_the_defaults() -> None:
    assert from_environment({}) == Settings()
    assert (Settings().host, Settings().port, Settings().db) == ("127.0.0.1", 8750, Path("evenmatch.db"))


def test_every_setting_is_read_from_its_variable() -> None:
    environ = {
        "EVENMATCH_HOST": "0.0.0.0",
        "EVENMATCH_PORT": "0",
        "EVENMATCH_DB": "somewhere/else.db",
        "EVENMATCH_MAILBOX": "7",
        "EVENMATCH_BODY_MAX_BYTES": "1000",
        "EVENMATCH_BATCH_BODY_MAX_BYTES": "2000",
        "EVENMATCH_BATCH_MAX": "5",
        "EVENMATCH_TICK_MS": "10",
        "EVENMATCH_CHECKPOINT_DEBT": "99",
        "EVENMATCH_KEEP_S": "1.5",
        "EVENMATCH_THREADS": "1",
    }
    assert sorted(environ) == sorted(VARIABLES)
    assert from_environment(environ) == Settings(
        host="0.0.0.0",
        port=0,
        db=Path("somewhere/else.db"),
        mailbox=7,
        body_max_bytes=1000,
        batch_body_max_bytes=2000,
        batch_max=5,
        tick_ms=10,
        checkpoint_debt=99,
        keep_s=1.5,
        threads=1,
    )


def test_empty_variables_and_those_of_others_change_nothing() -> None:
    environ = dict.fromkeys(VARIABLES, " ") | {"EVENMATCH_PORT_8750_TCP": "x", "PORT": "1", "HOME": "y"}
    assert from_environment(environ) == Settings()


def test_a_whole_number_of_seconds_is_read_as_a_float() -> None:
    assert type(from_environment({"EVENMATCH_KEEP_S": "5"}).keep_s) is float


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize("variable", NUMBERS)
@pytest.mark.parametrize(
    "text", ["many", "-1", "1e400", "nan", "inf", "9" * 30, "9" * 5000, "٣", "0x10", "1,5", "true"]
)
def test_nonsense_names_the_variable_and_what_would_be_right(variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{variable}: .*: use a (whole )?number from \d+ to \d+$"):
        from_environment({variable: text})


@pytest.mark.parametrize("variable", [variable for variable in NUMBERS if variable != "EVENMATCH_KEEP_S"])
def test_a_fraction_is_not_a_whole_number(variable: str) -> None:
    with pytest.raises(ConfigError, match=f"^{variable}: '1.5' is not a whole number"):
        from_environment({variable: "1.5"})


def test_a_port_set_by_kubernetes_is_recognised() -> None:
    with pytest.raises(ConfigError, match=r"EVENMATCH_PORT: .*enableServiceLinks"):
        from_environment({"EVENMATCH_PORT": "tcp://10.0.0.1:8750"})


def test_all_mistaken_variables_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        from_environment({"EVENMATCH_PORT": "65536", "EVENMATCH_TICK_MS": "0", "EVENMATCH_KEEP_S": "-0.1"})
    told = [line.split(":")[0] for line in str(caught.value).split("\n")]
    assert told == ["EVENMATCH_PORT", "EVENMATCH_TICK_MS", "EVENMATCH_KEEP_S"]


@given(st.sampled_from(VARIABLES), st.text())
def test_no_text_brings_anything_but_settings_or_a_config_error(variable: str, text: str) -> None:
    told = variable
    try:
        from_environment({variable: text})
    except ConfigError as problem:
        told = str(problem)
    assert told.startswith(variable)
