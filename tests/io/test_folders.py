"""Input folders."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

from gathercli.io.folders import files_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_files_of_a_folder_are_not_listed_in_memory(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number}").touch()

    tracemalloc.start()
    try:
        count = sum(1 for _ in files_of(str(tmp_path)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count == 2000
    assert peak < 100 * count  # an entry takes more
