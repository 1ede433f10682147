"""README and manual say what the program does: every `console` block is run and compared."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import pytest
from onnx.reference import ReferenceEvaluator

from gathercli.cli.generated import HELP, MANUAL, TOPICS
from gathercli.cli.registry import COMMANDS
from man import generate
from tests.processes import one_call

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_NEUTRAL = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV"}


def shell(command: str) -> str:
    """Run a line with the program on the PATH; return what it prints, and its status."""
    env = {name: value for name, value in os.environ.items() if name in _NEUTRAL}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    status = f"[exit status {done.returncode}]\n" if done.returncode else ""
    return done.stdout + done.stderr + status


def printed(command: str, run: Run) -> str:
    """Run a line, in this process if it is one call; return what it prints, and its status."""
    words = one_call(command)
    if words is None:
        return shell(command)
    status, out, err = run(*words)
    return out + err + (f"[exit status {status}]\n" if status else "")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def examples() -> list[tuple[str, str]]:
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), examples(), ids=[c for c, _ in examples()])
def test_a_console_line_of_the_readme_prints_what_stands_below_it(
    command: str, output: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    assert printed(command, run) == output


def test_the_python_lines_of_the_readme_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = blocks("pycon")

    test = doctest.DocTestParser().get_doctest(block, {}, "README.md", None, None)

    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_readme_asks_a_runtime_the_cases_of_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = SimpleNamespace(InferenceSession=ReferenceEvaluator)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    (block,) = blocks("python")
    names: dict[str, Any] = {}

    exec(block, names)  # noqa: S102  (the README's)

    (mark,) = names["test_gather"].pytestmark
    asked = [case for case in mark.args[1] if case.kind == "legal"]
    assert len(asked) > 40
    for case in asked[:10]:
        names["test_gather"](case)


def test_the_readme_sets_up_and_tests_by_one_line_each_and_ci_runs_the_second() -> None:
    install, *others = blocks("sh")

    (check,) = (block for block in others if "pytest --cov" in block)

    assert install.count("\n") == check.count("\n") == 1
    assert check in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


PICTURES = re.findall(r"(?m)^`(gathercli explain [^`]+)`\n\n!\[[^]]+\]\(([^)]+)\)", README)


@pytest.mark.parametrize(("command", "path"), PICTURES, ids=[path for _, path in PICTURES])
def test_a_picture_of_the_readme_is_what_its_command_saves(
    command: str, path: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    drawn = folder / "drawn.svg"

    assert printed(f"{command} --save {drawn}", run)
    kept = (ROOT / path).read_text(encoding="utf-8")
    assert kept == drawn.read_text(encoding="utf-8"), f"run: {command} --save {path}"


def test_every_picture_of_the_readme_has_its_command_but_the_measured_one() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)

    assert shown == [*(path for _, path in PICTURES), "campaigns/benchmarks/decades.svg"]
    assert len(PICTURES) == 3


def test_the_readme_has_at_most_330_lines() -> None:
    assert README.count("\n") <= 330


def test_the_readme_leads_to_every_page_of_the_manual() -> None:
    table = README.partition("| task | page |")[2].partition("\n\n")[0]
    named = re.findall(r"`([^`]+)`", "".join(row.split("|")[2] for row in table.splitlines()[2:]))

    assert sorted(named) == sorted({*COMMANDS, *TOPICS} - {"man"})


@pytest.mark.parametrize("page", ["README.md", ".github/CONTRIBUTING.md", "tests/README.md"])
def test_every_link_leads_to_a_file(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^):#]+)[^):]*\)", text)

    assert links
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_workflow_of_tests_runs_them_on_every_python_that_is_supported() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = " ".join(project["classifiers"])

    (pythons,) = re.findall(r"python: (\[.*\])", workflow)

    assert json.loads(pythons) == re.findall(r"Python :: (3\.\d+)", said)
    assert "- run: .ci/run\n" in workflow


generated: Final = cache(lambda: dict(generate.files()))


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_a_generated_file_is_what_its_declarations_give_now(path: Path) -> None:
    current = path.read_text(encoding="utf-8")

    assert current == generated()[path], "run: python -m man.generate"


def test_every_committed_page_and_help_is_generated() -> None:
    folders = {*(generate.ROOT / "man").glob("man?"), Path(HELP), Path(MANUAL)}

    committed = {path for folder in folders for path in folder.iterdir()}

    assert committed == {path for path in generated() if path.parent in folders}
