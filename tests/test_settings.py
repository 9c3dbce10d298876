"""Process settings: defaults, variables, and what is said of nonsense."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.errors import ConfigError
from evenmatch.settings import PREFIX, Secret, Settings, from_environment

VARIABLES = [PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)]
TEXTS = (
    "HOST",
    "DB",
    "CLUSTER",
    "KEYS",
    "PLAYER_SECRET",
    "PLAYER_JWKS",
    "PLAYER_AUDIENCE",
    "CORS_ORIGINS",
    "LOG",
    "LOG_LEVEL",
    "ROLE",
)
NUMBERS = [variable for variable in VARIABLES if variable.removeprefix(PREFIX) not in TEXTS]
DECIMALS = ("EVENMATCH_KEEP_S", "EVENMATCH_KEY_RATE", "EVENMATCH_PLAYER_RATE")


def test_an_empty_environment_gives_the_defaults() -> None:
    assert from_environment({}) == Settings()
    assert (Settings().host, Settings().port, Settings().db) == ("127.0.0.1", 8750, "evenmatch.db")


def test_every_setting_is_read_from_its_variable() -> None:
    environ = {
        "EVENMATCH_HOST": "0.0.0.0",
        "EVENMATCH_PORT": "0",
        "EVENMATCH_DB": "somewhere/else.db",
        "EVENMATCH_CLUSTER": "eu",
        "EVENMATCH_MAILBOX": "7",
        "EVENMATCH_BODY_MAX_BYTES": "1000",
        "EVENMATCH_BATCH_BODY_MAX_BYTES": "2000",
        "EVENMATCH_BATCH_MAX": "5",
        "EVENMATCH_TICK_MS": "10",
        "EVENMATCH_CHECKPOINT_DEBT": "99",
        "EVENMATCH_KEEP_S": "1.5",
        "EVENMATCH_THREADS": "1",
        "EVENMATCH_KEYS": "/etc/evenmatch/keys",
        "EVENMATCH_KEY_RATE": "100",
        "EVENMATCH_PLAYER_RATE": "0.5",
        "EVENMATCH_PLAYER_SECRET": "s" * 32,
        "EVENMATCH_PLAYER_AUDIENCE": "this game",
        "EVENMATCH_CORS_ORIGINS": "https://a.example, http://localhost:3000",
        "EVENMATCH_LOG": "text",
        "EVENMATCH_LOG_LEVEL": "debug",
        "EVENMATCH_ROLE": "worker",
    }
    assert sorted([*environ, "EVENMATCH_PLAYER_JWKS"]) == sorted(VARIABLES)
    assert from_environment(environ) == Settings(
        host="0.0.0.0",
        port=0,
        db="somewhere/else.db",
        cluster="eu",
        mailbox=7,
        body_max_bytes=1000,
        batch_body_max_bytes=2000,
        batch_max=5,
        tick_ms=10,
        checkpoint_debt=99,
        keep_s=1.5,
        threads=1,
        keys=Path("/etc/evenmatch/keys"),
        key_rate=100.0,
        player_rate=0.5,
        player_secret=Secret("s" * 32),
        player_audience="this game",
        cors_origins=("https://a.example", "http://localhost:3000"),
        log="text",
        log_level="debug",
        role="worker",
    )
    for source in ("https://keys.example/set.json", "keys.json"):
        assert from_environment({"EVENMATCH_PLAYER_JWKS": source}).player_jwks == source


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


@pytest.mark.parametrize("variable", [variable for variable in NUMBERS if variable not in DECIMALS])
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


# Secrets and origins.


def test_a_secret_is_never_shown() -> None:
    settings = from_environment({"EVENMATCH_PLAYER_SECRET": "do not tell " * 4})
    assert settings.player_secret is not None
    assert settings.player_secret.text == ("do not tell " * 4).strip()
    for shown in (repr(settings), str(settings), f"{settings.player_secret}"):
        assert "do not tell" not in shown


@pytest.mark.parametrize("secret", ["short", "x" * 31, "ä" * 15])
def test_a_short_secret_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(ConfigError, match=r"^EVENMATCH_PLAYER_SECRET: has \d+ bytes: use 32 or more") as caught:
        from_environment({"EVENMATCH_PLAYER_SECRET": secret})
    assert secret not in str(caught.value)


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("f" * 40 + "\n")
    assert from_environment({"EVENMATCH_PLAYER_SECRET_FILE": str(file)}).player_secret == Secret("f" * 40)
    with pytest.raises(ConfigError, match="use one of the two"):
        from_environment({"EVENMATCH_PLAYER_SECRET_FILE": str(file), "EVENMATCH_PLAYER_SECRET": "s" * 32})


@pytest.mark.parametrize("content", [None, b"", b" \n", b"short", b"\xff" * 40])
def test_a_file_without_a_usable_secret_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"^EVENMATCH_PLAYER_SECRET: "):
        from_environment({"EVENMATCH_PLAYER_SECRET_FILE": str(file)})


def test_tokens_are_signed_with_a_secret_or_with_keys_not_both() -> None:
    with pytest.raises(ConfigError, match="one of the two"):
        from_environment({"EVENMATCH_PLAYER_SECRET": "s" * 32, "EVENMATCH_PLAYER_JWKS": "keys.json"})


@pytest.mark.parametrize("source", ["http://keys.example/set", "ftp://keys.example/set", "file:///etc/keys"])
def test_keys_are_not_fetched_where_anybody_could_change_them(source: str) -> None:
    with pytest.raises(ConfigError, match="use an https URL, or a file"):
        from_environment({"EVENMATCH_PLAYER_JWKS": source})


@pytest.mark.parametrize(
    "origins", ["example.com", "https://a.example/", "https://a.example/path", "https://", "null", "a b"]
)
def test_what_is_no_origin_is_refused(origins: str) -> None:
    with pytest.raises(ConfigError, match=r"^EVENMATCH_CORS_ORIGINS: .* is not an origin"):
        from_environment({"EVENMATCH_CORS_ORIGINS": origins})


def test_all_origins_may_be_allowed() -> None:
    assert from_environment({"EVENMATCH_CORS_ORIGINS": "*,,"}).cors_origins == ("*",)
