from __future__ import annotations

import pytest

from tests.runtimes.fakes import fake_python


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python whose onnxruntime, torch and jax are fakes."""
    return fake_python(tmp_path_factory.mktemp("fakes") / "venv")
