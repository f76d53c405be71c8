import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("elsv", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("elsv")


@pytest.fixture(autouse=True)
def _own_cache_directory(tmp_path_factory, monkeypatch):
    """Tests never read or write the user's cache of tables."""
    monkeypatch.setenv("ELSV_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
