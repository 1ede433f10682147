"""The campaign of calls on tensors of other libraries."""

from __future__ import annotations

import pytest

from campaigns.libraries import LIBRARIES, differences


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_library_gets_the_answers_and_the_refusals_of_numpy(library: str) -> None:
    if library in ("torch", "jax", "tensorflow"):
        pytest.importorskip(library)

    assert differences(library, 80) == []
