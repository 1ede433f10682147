from __future__ import annotations

import pytest

from tests.runtimes.fakes import fake_python


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python whose runtimes are fakes, of which onnxruntime alone can be imported."""
    return fake_python(tmp_path_factory.mktemp("fakes") / "venv")
