"""Settings that every test shares: quick and the same on every run, or (EVENMATCH_TESTS=thorough) long and random."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "quick", max_examples=60, derandomize=True, database=None, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "thorough", max_examples=1_000, stateful_step_count=100, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile(os.environ.get("EVENMATCH_TESTS", "quick"))


@pytest.fixture(scope="session", autouse=True)
def _no_server_is_left() -> Iterator[None]:
    """The PostgreSQL that tests share, if any asked for it, ends with them."""
    yield
    postgres.close()


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty database of the test's own, in a real PostgreSQL."""
    with postgres.database() as url:
        yield url
