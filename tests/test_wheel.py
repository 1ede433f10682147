"""The wheel has all that the program needs, with no repository beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it into an empty folder."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    target = folder / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True)
    return target


def python(installed: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=installed.parent,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def test_the_wheel_runs_without_the_repository(installed: Path) -> None:
    code = (
        "import gathercli; from gathercli.cli import main; print(gathercli.__file__, flush=True);"
        "raise SystemExit(main(['gather', '[1,2,3,4,5]', '[3,1]']))"
    )

    where, result = python(installed, code).splitlines()

    assert Path(where).is_relative_to(installed)
    assert result == "[4,2]"


def test_the_wheel_carries_manual_completions_fixtures_and_types(installed: Path) -> None:
    manual = installed / "share" / "man"
    pages = {str(page.relative_to(manual)) for page in manual.rglob("gathercli*")}
    assert pages == {str(page.relative_to(ROOT / "man")) for page in (ROOT / "man").rglob("g*")}
    assert {"man1/gathercli-gather.1", "man5/gathercli-formats.5"} <= pages
    package = installed / "gathercli"
    examples = {path.name for path in (package / "_data" / "fixtures").rglob("*.json")}
    assert examples == {path.name for path in (ROOT / "fixtures").rglob("*.json")}
    assert (package / "py.typed").exists()
    assert (package / "cli" / "completions" / "gathercli.zsh").exists()
    said = python(installed, "from gathercli.cli import main; main(['man', 'planning'])")
    assert said.startswith("NAME\n    gathercli-planning - the cost of a gather of chunked arrays")


def test_the_manual_of_the_wheel_needs_no_man(installed: Path) -> None:
    code = "from gathercli.cli import main; main(['man', 'gather'])"

    assert python(installed, code).startswith("NAME\n    gathercli-gather - gather slices")
