"""The wheel has all that the program needs, without the repository: the kernel in C, a script."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hatch_build

ROOT = Path(__file__).parents[1]


class Wheel(NamedTuple):
    """A wheel, and what building it printed."""

    path: Path
    printed: str

    def install(self) -> Path:
        """Install it into an empty folder."""
        target = self.path.parent / "site"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*install, "--target", str(target), str(self.path)], check=True)
        return target

    def unpack(self) -> Path:
        """Unpack the package alone into an empty folder, without pip."""
        target = self.path.parent / "package"
        with zipfile.ZipFile(self.path) as archive:
            archive.extractall(target)
        return target


def build(folder: Path, **variables: str) -> Wheel:
    """Build a wheel into a folder."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(
        [*build, str(ROOT)],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    return Wheel(wheel, done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return build(tmp_path_factory.mktemp("wheel"), GATHERCLI_PURE="0", GATHERCLI_PORTABLE="0")


@pytest.fixture(scope="module")
def installed(wheel: Wheel) -> Path:
    return wheel.install()


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip a test where no C compiler works."""
    library = tmp_path_factory.mktemp("library") / hatch_build.NAME
    problem = hatch_build.compile_kernel(ROOT / hatch_build.SOURCES, library)
    if problem:
        pytest.skip(f"no kernel in C: {problem}")


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


def test_the_wheel_carries_manual_completions_fixtures_pages_and_types(installed: Path) -> None:
    manual = installed / "share" / "man"
    pages = {str(page.relative_to(manual)) for page in manual.rglob("gathercli*")}
    assert pages == {str(page.relative_to(ROOT / "man")) for page in (ROOT / "man").glob("man?/*")}
    assert {"man1/gathercli-gather.1", "man5/gathercli-formats.5"} <= pages
    package = installed / "gathercli"
    examples = {path.name for path in (package / "_data" / "fixtures").rglob("*.json")}
    assert examples == {path.name for path in (ROOT / "fixtures").rglob("*.json")}
    assert (package / "py.typed").exists()
    assert (package / "cli" / "completions" / "gathercli.zsh").exists()
    assert {path.suffix for path in (package / "explain" / "drawing").glob("page.*")} == {
        ".py",
        ".css",
        ".js",
    }
    # Tables, pages to print, lessons, and the pages of their site.
    for kind in ("*.toml", "*.md", "*.json", "*.html", "*.css", "*.js"):
        files = {path.relative_to(ROOT) for path in (ROOT / "gathercli").rglob(kind)}
        shipped = {path.relative_to(installed) for path in package.rglob(kind)}
        assert files <= shipped
    said = python(installed, "from gathercli.cli import main; main(['man', 'planning'])")
    assert said.startswith("NAME\n    gathercli-planning - the cost of a gather of chunked arrays")


def test_the_wheel_has_each_table_in_json_too(installed: Path) -> None:
    tables = sorted((installed / "gathercli").rglob("*.toml"))

    assert tables
    for table in tables:
        read = json.loads(Path(f"{table}.json").read_text(encoding="utf-8"))
        assert read == tomllib.loads(table.read_text(encoding="utf-8"))
    assert "tomllib" not in python(
        installed, "import sys; from gathercli.cli import main; main(['ops']); print(*sys.modules)"
    )


def test_the_manual_of_the_wheel_needs_no_man(installed: Path) -> None:
    code = "from gathercli.cli import main; main(['man', 'gather'])"

    assert python(installed, code).startswith("NAME\n    gathercli-gather - gather slices")


RUN = (
    "from gathercli.cli import main; main(['--version']);"
    "main(['gather', '[1,2,3,4,5]', '[3,1]', '-o', 'out.npy']);"
    "import gathercli; print(gathercli.gather(range(100_000), [[3] * 1000] * 100).sum())"
)


@pytest.mark.usefixtures("compiler")
def test_a_wheel_with_the_kernel_in_c_serves_all_later_pythons_of_the_platform(
    wheel: Wheel, installed: Path
) -> None:
    version, answer = python(installed, RUN).splitlines()

    assert "-cp311-abi3-" in wheel.path.name
    assert "kernel in C" not in wheel.printed
    assert (version, answer) == ("gathercli 0.1.0 (C kernel)", "300000")
    assert sorted(path.name for path in (installed / "gathercli/compute").glob("_native*")) == [
        "_native.abi3.so",
        "_native.pyi",
    ]


def test_without_a_compiler_numpy_does_it_and_the_build_says_why(tmp_path: Path) -> None:
    pure = build(tmp_path, GATHERCLI_PURE="0", CC="false")

    version, answer = python(pure.unpack(), RUN).splitlines()

    assert pure.path.name.endswith("-py3-none-any.whl")
    (line,) = (line for line in pure.printed.splitlines() if "kernel in C" in line)
    assert "`false` fails (status 1)" in line
    assert (version, answer) == ("gathercli 0.1.0 (numpy kernel)", "300000")


def test_the_command_is_a_script_for_the_python_that_installs_it(installed: Path) -> None:
    command = installed / "bin" / hatch_build.COMMAND

    done = subprocess.run(
        [command, "gather", "[1,2,3]", "[2]"],
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    (_, *lines) = (ROOT / hatch_build.START).read_text(encoding="utf-8").splitlines()
    assert command.read_text(encoding="utf-8").splitlines() == [f"#!{sys.executable}", *lines]
    assert done.stdout == "[3]\n"


def test_a_wheel_for_any_python_has_the_entry_point_and_no_script(tmp_path: Path) -> None:
    portable = build(tmp_path, GATHERCLI_PURE="1", GATHERCLI_PORTABLE="1").unpack()

    (declared,) = importlib.metadata.distributions(path=[str(portable)])

    assert [(point.name, point.value) for point in declared.entry_points] == [
        (hatch_build.COMMAND, hatch_build.ENTRY_POINT)
    ]
    assert list(portable.glob("*.data/scripts/*")) == []


@pytest.mark.parametrize(
    ("python", "script"),
    [
        ("/opt/venv/bin/python3", True),
        ("/opt/my venv/bin/python3", False),
        (f"/{'x' * (127 - len('#!//python') - 1)}/python", True),
        (f"/{'x' * (127 - len('#!//python'))}/python", False),
        ("/opt/build-env-a1b2c3/bin/python", False),
    ],
    ids=["short", "a blank", "as long as may be", "longer", "of python -m build"],
)
def test_there_is_no_script_where_its_first_line_would_not_name_the_python(
    python: str, script: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATHERCLI_PORTABLE", raising=False)

    assert hatch_build.has_script(tmp_path, python) == script
    (tmp_path / "PKG-INFO").touch()  # as in a source archive
    assert not hatch_build.has_script(tmp_path, python)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_have_nothing_to_warn_of(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    monkeypatch.setenv("CC", compiler)
    flags = ("-O0", "-Wall", "-Wextra", "-Werror")

    problem = hatch_build.compile_kernel(ROOT / hatch_build.SOURCES, tmp_path / "so", flags)

    assert not problem


def test_a_compiler_that_is_not_there_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "missing-cc")

    problem = hatch_build.compile_kernel(ROOT / hatch_build.SOURCES, tmp_path / "so")

    assert problem.startswith("`missing-cc` does not run ([Errno 2] No such file or directory")


def test_a_compiler_that_speaks_no_utf_8_is_a_reason_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nprintf 'error: \\351chec' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))

    problem = hatch_build.compile_kernel(ROOT / hatch_build.SOURCES, tmp_path / "so")

    assert problem.endswith("fails (error: \ufffdchec)")


@pytest.mark.usefixtures("compiler")
def test_an_editable_install_has_the_kernel_beside_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / hatch_build.SOURCES, tmp_path / hatch_build.SOURCES)
    config: Any = None
    hook = hatch_build.KernelHook(str(tmp_path), {}, config, config, str(tmp_path), "wheel")
    library = tmp_path / hatch_build.COMPUTE / hatch_build.NAME

    for pure in ("0", "1"):
        monkeypatch.setenv("GATHERCLI_PURE", pure)
        hook.initialize("editable", {})
        hook.finalize("editable", {}, "")

        assert library.exists() == (pure == "0")
