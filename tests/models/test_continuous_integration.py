"""Where `check` of models runs by itself: the action, the workflow of the README, the hook."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from gathercli import __version__
from gathercli.cli.registry import command_of
from tests.modelfiles import TOUR, one_gather
from tests.reports import junit_cases, sarif_run

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[2]
PLACE: Final = ".github/actions/check"
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
OPTIONS: Final = {name for each in command_of("check", models=True).options for name in each.names}
OWN_INPUTS: Final = {"models", "args", "python-version"}
"""The inputs of the action that are no options of the command."""


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def action() -> dict[str, Any]:
    return dict(loaded(f"{PLACE}/action.yml"))


def workflow() -> dict[str, Any]:
    (block,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", README)
    return dict(yaml.safe_load(block))


def step(name: str) -> dict[str, Any]:
    (found,) = (each for each in action()["runs"]["steps"] if each.get("name") == name)
    return dict(found)


def start(name: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step in a folder as GitHub does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]],
        cwd=folder,
        env={**os.environ, "RUNNER_TEMP": f"{folder}/temp dir", **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def runner(folder: Path) -> Path:
    """Make a workspace with models, one of a hostile name, where gathercli is installed."""
    program = folder / "temp dir/gathercli/bin/gathercli"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gathercli "$@"\n')
    program.chmod(0o755)
    for name in ("-x.onnx", "a $(touch hacked) `touch hacked`;*.onnx"):
        (folder / name).write_bytes(one_gather(indices=[10]).SerializeToString())
    (folder / "tour 1").mkdir()
    (folder / "tour 1/encoder.onnx").write_bytes((TOUR / "encoder.onnx").read_bytes())
    return folder


def checked(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step that checks, with inputs as the action passes them."""
    values = {name: each["default"] for name, each in action()["inputs"].items()}
    env = step("Check the models")["env"]
    names = {key: re.findall(r"^\$\{\{ inputs\.([\w-]+) }}$", text) for key, text in env.items()}
    return start(
        "Check the models",
        folder,
        {key: {**values, **inputs}[name] for key, (name,) in names.items()},
    )


def test_the_inputs_of_the_action_are_options_of_the_command() -> None:
    inputs = set(action()["inputs"])

    assert {f"--{each}" for each in inputs - OWN_INPUTS} <= OPTIONS
    assert inputs > OWN_INPUTS


def test_the_action_runs_no_text_of_an_input_and_only_options_that_exist() -> None:
    steps = [each for each in action()["runs"]["steps"] if "run" in each]

    assert [each["shell"] for each in steps] == ["bash", "bash"]
    assert not [each for each in steps if "${{" in each["run"]]
    assert set(re.findall(r"--[a-z][\w-]*", steps[-1]["run"])) == {"--to", "--sarif", "--junit"}


def test_every_expression_of_the_action_names_something() -> None:
    text = (ROOT / PLACE / "action.yml").read_text(encoding="utf-8")
    known = {f"inputs.{name}" for name in action()["inputs"]} | {"steps.python.outputs.python-path"}

    named = set(re.findall(r"\$\{\{ (.*?) }}", text))

    assert named == known


def test_the_action_installs_the_repository_that_it_is_in(folder: Path) -> None:
    pip = folder / "temp dir/gathercli/bin/python"
    pip.parent.mkdir(parents=True)
    for path in (folder / "python 3", pip):
        path.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        path.chmod(0o755)

    ran = start(
        "Install gathercli",
        folder,
        {"PYTHON": f"{folder}/python 3", "GITHUB_ACTION_PATH": f"{ROOT}/{PLACE}"},
    )

    made, installed = ran.stdout.split("-I\n")[1:]
    assert ran.returncode == 0
    assert made == f"-m\nvenv\n{folder}/temp dir/gathercli\n"
    source, _, extra = installed.splitlines()[-1].partition("[")
    assert (os.path.realpath(source), extra) == (str(ROOT), "onnx]")


def test_the_action_writes_both_reports_and_then_fails(runner: Path) -> None:
    ran = checked(runner, sarif="a b.sarif", junit="a b.xml", to="openvino", models="tour 1")

    assert (ran.returncode, ran.stderr) == (1, "")
    assert "openvino gives zeros" in ran.stdout
    assert len(sarif_run(Path("a b.sarif").read_text())["results"]) == 2
    assert len(junit_cases(Path("a b.xml").read_bytes())) == 3


def test_the_action_checks_the_workspace_without_inputs(runner: Path) -> None:
    before = sorted(os.listdir(runner))

    ran = checked(runner)

    assert ran.returncode == 1
    assert ran.stdout.endswith("3 models, 5 nodes: 2 at run time, 3 refused; 3 errors\n")
    assert sorted(os.listdir(runner)) == before


def test_no_input_of_the_action_is_run(runner: Path) -> None:
    before = sorted(os.listdir(runner))
    hostile = "$(touch hacked) `touch hacked`"

    ran = [
        checked(runner, models=f"-x.onnx\n\na {hostile};*.onnx"),
        checked(runner, to=f"xla;{hostile}", models="-x.onnx"),
        checked(runner, args=f"--allow-fill\n{hostile};touch hacked *", models="-x.onnx"),
        checked(runner, args="--allow-fill --to=openvino\n--no-infer -q", models="-x.onnx"),
    ]

    assert [each.returncode for each in ran] == [1, 2, 2, 1]
    assert "2 models, 2 nodes: 2 refused" in ran[0].stdout
    assert "gives zeros" in ran[-1].stdout
    assert sorted(os.listdir(runner)) == before


def test_the_workflow_of_the_readme_gives_the_action_its_inputs_and_uploads_its_report() -> None:
    (job,) = workflow()["jobs"].values()
    _, check, upload = job["steps"]

    assert check["uses"] == f"OWNER/gathercli/{PLACE}@v{__version__}"
    assert set(check["with"]) <= set(action()["inputs"])
    assert upload["if"] == "always()"
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    assert upload["with"] == {"sarif_file": check["with"]["sarif"]}
    assert workflow()["permissions"]["security-events"] == "write"


def test_the_hook_checks_models_and_the_readme_uses_it() -> None:
    (hook,) = loaded(".pre-commit-hooks.yaml")
    (entry,) = (yaml.safe_load(each) for each in re.findall(r"`(\{repo: .*})`", README))

    assert hook["entry"] == "gathercli check"
    assert (hook["language"], hook["additional_dependencies"]) == ("python", [".[onnx]"])
    for name in ("a.onnx", "b/c d.ONNX", "e.xml"):
        assert re.search(hook["files"], name)
    for name in ("a.onnx.txt", "onnx", "b.bin", "c.html"):
        assert not re.search(hook["files"], name)
    assert [each["id"] for each in entry["hooks"]] == [hook["id"]]
    assert {each for each in entry["hooks"][0]["args"] if each[0] == "-"} <= OPTIONS
    assert entry["rev"] == f"v{__version__}"
