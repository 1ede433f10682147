"""``python -m tests.core [WORDS]``: the tests of the core, in a copy without any slice.

WORDS go to pytest in place of the folders of all rooms of the core: ``tests/spec -x``. A test that
needs a command, an option or a module of a slice is skipped there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.house import SLICES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = [
    *(f"tests/{room}" for room in ("spec", "ops", "frameworks", "compute", "io", "report")),
    *("tests/cli", "tests/batch", "tests/man"),
]


def copy_without(names: Collection[str], folder: Path) -> None:
    """Copy the package without slices, and what its commands read; write help and manual anew."""
    ignored = shutil.ignore_patterns("__pycache__", *names)
    shutil.copytree(ROOT / "gathercli", folder / "gathercli", ignore=ignored)
    with (folder / "gathercli" / "slices.py").open("a", encoding="utf-8") as table:
        table.write(f"SLICES = tuple(each for each in SLICES if each.name not in {(*names,)!r})\n")
    shutil.copy(ROOT / "README.md", folder)
    shutil.copytree(ROOT / "fixtures", folder / "fixtures")
    written = shutil.ignore_patterns("man?", "__pycache__", *names)
    shutil.copytree(ROOT / "man", folder / "man", ignore=written)
    for name in ("help", "manual"):
        shutil.rmtree(folder / "gathercli" / "cli" / name)
    run_in(folder, "-m", "man.generate").check_returncode()


def copy_core(folder: Path) -> None:
    """Copy the core and its tests."""
    copy_without(SLICES, folder)
    ignored = shutil.ignore_patterns("__pycache__", *SLICES, "campaigns")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, from which it and the processes that it starts import."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )


def run_tests(folder: Path, words: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests in a copy."""
    return run_in(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as core:
        copy_core(Path(core))
        ran = run_tests(Path(core), sys.argv[1:] or ["-n", "2", *ROOMS])
    print(ran.stdout)
    sys.exit(ran.returncode)
