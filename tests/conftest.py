import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "elsv", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("elsv")

# Files with tests that take long, longest first: begun first, they do not keep one worker busy at the end.
LONG = (
    "test_page_browser", "test_service_kills", "test_service_schema", "test_walk", "test_docs", "test_day",
    "test_campaign_log", "test_service_model", "test_campaign_processes", "test_clients", "test_plan",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    place = {name: k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONG)))


@pytest.fixture(autouse=True)
def _own_cache_directory(tmp_path_factory, monkeypatch):
    """Tests never read or write the user's cache of tables."""
    monkeypatch.setenv("ELSV_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server for all tests; those that stop one start their own."""
    from campaigns import postgres_server

    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a store can be: a file that is not there yet, or an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def clock():
    """Seconds that pass when they are told to."""
    from campaigns import Clock

    return Clock()
