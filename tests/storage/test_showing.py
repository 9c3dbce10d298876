"""What is shown of a journal's place: never its password, whatever stands in it."""

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.errors import ConfigError, EvenmatchError, JournalUnavailable
from evenmatch.storage import postgres_line
from evenmatch.storage.places import in_database, open_store
from evenmatch.storage.showing import shown
from tests import nursery

PLACES = (
    "postgresql://leak:{}@127.0.0.1:1/base",
    "postgres://leak:{}@127.0.0.1:1,127.0.0.1:2/base?sslmode=disable&connect_timeout=2",
    "postgresql://127.0.0.1:1/base?user=leak&password={}",
    "postgresql://127.0.0.1:1/base?user=leak&password={}&connect_timeout=2&sslmode=disable",
    "postgresql://leak@127.0.0.1:1/base?sslpassword={}",
    "postgresql://leak@corp:{}@127.0.0.1:1/base",
    "postgresql://leak@127.0.0.1:1/base?pasword={}",
    "postgresql://leak@127.0.0.1:1/base?sslmode=disable&sslpasword={}&connect_timeout=2",
    "postgresql://leak@127.0.0.1:1/base?passwort={}",
    "postgresql://127.0.0.1:1/base?user=leak&pass={}",
)
REFUSED = (
    "mysql://leak:{}@127.0.0.1/base",
    "postgresql:/leak:{}@127.0.0.1/base",
    " postgresql://leak:{}@127.0.0.1/base",
    "jdbc:postgresql://leak:{}@127.0.0.1/base",
    "postgresql//leak:{}@127.0.0.1/base",
    "POSTGRESQL://leak:{}@127.0.0.1/base",
    "host=127.0.0.1 user=leak password={} dbname=base",
    "password='{}' host=127.0.0.1",
)
# What people paste, and what is special somewhere: in URLs, to libpq, in patterns, on a terminal.
passwords = st.text(
    st.sampled_from("abzXY0189@:/?#%&=+,;[]()|\\'\"* .-_~$^\n\tß€") | st.characters(exclude_categories=["Cs"]),
    min_size=4,
    max_size=24,
)
HARD = (
    "hush#hush2",
    "hush?hush2",
    "hush/hush2",
    "hush@hush2",
    "hush@hush2/x:y@z",
    "hush%zzhush2",
    "hush%",
    "hush hush2",
    "hush&user=x",
    "hush&hush2",
    "12345/6789",
    "12345?password=x",
    'hu"sh"2',
    "hush:@[",
    "[hush2",
)


def told(place: str) -> str:
    """What opening a place says, all of it."""
    with pytest.raises(EvenmatchError) as found:
        open_store(place)
    assert found.value.__cause__ is None, "a traceback would show what it came from"
    return str(found.value)


@given(st.sampled_from(PLACES + REFUSED), passwords)
def test_no_password_is_in_what_is_shown(place: str, password: str) -> None:
    assert password in shown(place.format("")) or password not in shown(place.format(password))


@pytest.mark.parametrize("password", HARD)
@pytest.mark.parametrize("place", PLACES)
def test_no_piece_of_a_password_is_in_what_is_said_of_a_place_that_cannot_be_reached(place: str, password: str) -> None:
    found = told(place.format(password)) + shown(place.format(password))
    for piece in ("hush", "12345", "6789"):
        assert piece not in found
    assert password not in found


@given(st.sampled_from(PLACES), passwords)
def test_what_libpq_says_of_a_url_that_it_cannot_read_has_no_password_in_it(place: str, password: str) -> None:
    url = place.format(password)
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        with pytest.raises(JournalUnavailable) as found:
            postgres_line.connect(url, shown(url))
        assert password in shown(place.format("")) or password not in str(found.value).partition("In a password")[0]


@pytest.mark.parametrize("place", REFUSED)
def test_a_place_in_a_form_that_is_not_taken_is_refused_without_its_password(place: str) -> None:
    with pytest.raises(ConfigError, match="use a file, or postgresql://") as found:
        in_database(place.format("hush#hush2"))
    assert "hush" not in str(found.value)


def test_what_is_no_password_is_shown() -> None:
    for plain in (
        "a.db",
        "/var/lib/evenmatch/evenmatch.db",
        "postgresql://u@db1.example:5432,db2.example:5432/evenmatch?target_session_attrs=read-write",
        "postgresql://u@[::1]:5432/d",
        "postgresql:///d?host=/var/run/postgresql",
        "postgresql://%2Fvar%2Frun/d",
        "postgresql://h",
        "postgresql://",
    ):
        assert shown(plain) == plain
    assert shown("postgresql://u:p@ss@h:5/d") == "postgresql://u:***@h:5/d"
    assert shown("postgresql://u:@h:5/d") == "postgresql://u:***@h:5/d"
    assert shown("postgresql://u:password@h/d") == "postgresql://u:***@h/d"
    assert shown("postgresql://u@h/d?password=x&sslmode=require") == "postgresql://u@h/d?password=***&sslmode=require"
    assert shown("postgresql://u@h/d?pass%77ord=x&y") == "postgresql://u@h/d?password=***"
    assert shown("postgresql://h:5/d?password=a@b") == "postgresql://***"
    assert shown("postgresql://u:forgot-the-host") == "postgresql://***"


@pytest.mark.parametrize(
    ("options", "seen", "said"),
    [
        ("pasword=hush", "pasword=***", "does not know, pasword: did you mean password?"),
        ("%70asword=hush", "pasword=***", "does not know, pasword: did you mean password?"),
        ("sslmod=hush", "sslmod=***", "does not know, sslmod: did you mean sslmode?"),
        ("schema=hush", "schema=***", "does not know, schema: leave it out"),
        ("schema=hush&hush2=hush3", "schema=***", "does not know, schema: leave it out"),
        ("schema=hush&sslmode=require", "schema=***&sslmode=require", "does not know, schema: leave it out"),
    ],
)
def test_an_option_that_libpq_does_not_know_is_told_by_its_name_alone(options: str, seen: str, said: str) -> None:
    place = f"postgresql://u@127.0.0.1:1/d?{options}"
    assert shown(place) == f"postgresql://u@127.0.0.1:1/d?{seen}"
    found = told(place)
    assert said in found
    assert "hush" not in found
    assert "%40" not in found


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://u@127.0.0.1:1/d?password=some&hush=9",
        "postgresql://u@127.0.0.1:1/d?pasword=some&hush=9",
        "postgresql://u@127.0.0.1:1/d?pasword=some@hush?hush2=9",
        "postgresql://u@127.0.0.1:1/d?hush",
        "postgresql://u@127.0.0.1:1/d?x y hush=9",
        "postgresql://u:12345?hush=9",
        "postgresql://u:some?hush=9&hush2=9@127.0.0.1:1/d",
    ],
)
def test_a_piece_of_a_password_is_not_taken_for_the_name_of_an_option(place: str) -> None:
    found = shown(place) + told(place)
    assert "hush" not in found
    assert "some" not in found


def test_a_short_password_leaves_the_words_of_a_message_whole() -> None:
    assert "Connection refused" in told("postgresql://u:e@127.0.0.1:1/d")
    assert "***" not in told("postgresql://u:e@127.0.0.1:1/d").partition("cannot be reached")[2]


def test_whoever_pasted_a_password_is_told_how_to_write_it() -> None:
    assert "write @ as %40, / as %2F" in told("postgresql://u:hush@hush2@127.0.0.1:1/d")
    assert "write @ as %40, / as %2F" in told("postgresql://u:hush%zz@127.0.0.1:1/d")
    assert "%40" not in told("postgresql://u:hush%40hush2@127.0.0.1:1/d")


@pytest.mark.parametrize("password", ["hush#hush2", "hush/hush2", "hush@hush2", "hush%zz"])
@pytest.mark.parametrize(
    "form", ["postgresql://leak:{}@127.0.0.1:1/base", "postgresql://leak@127.0.0.1:1/b?pasword={}"]
)
def test_no_verb_prints_a_password(form: str, password: str) -> None:
    place = form.format(password)
    for words in (
        ("serve", "--db", place),
        ("serve", "--role", "worker", "--db", place),
        ("cluster", "status", "--db", place),
        ("journal", "verify", place),
        ("journal", "show", place),
        ("replay", place),
    ):
        done = nursery.run(*words)
        assert done.returncode != 0
        assert "hush" not in done.stdout + done.stderr
