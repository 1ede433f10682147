"""Two names change places in one step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gathercli.io import swap


@pytest.mark.usefixtures("folder")
def test_two_names_change_places_or_nothing_happens() -> None:
    Path("a").write_text("a")
    Path("b").mkdir()

    assert not swap.exchange("a", "none")
    assert sorted(os.listdir(".")) == ["a", "b"]
    assert swap.exchange("a", "b")
    assert (os.path.isdir("a"), Path("b").read_text()) == (True, "a")
