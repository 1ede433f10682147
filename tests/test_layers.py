"""Imports go one way: through the rooms of the core, and from a slice to the core."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.house import (
    MODULES,
    PACKAGE,
    ROOMS,
    SLICES,
    Size,
    Way,
    circle,
    imports,
    job,
    line,
    nodes,
    room,
    size,
    token,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LEFT_OF = {
    **{name: {*ROOMS[:number]} for number, name in enumerate(ROOMS)},
    **{name: {*ROOMS, "python"} for name in SLICES},
    "python": {*ROOMS} - {"batch"},
    "api": {"errors", "text", "spec", "ops", "frameworks", "compute", "io"},
    "__init__": {"api", "python", "report", "spec", "errors", *SLICES},
    "__main__": {"cli"},
    "testing": {"records", "slices"},
}
MOST_SIZE = Size(lines=56_000, core=30_800, files=210, longest=500)
WAYS_AT_MOST = [(line, Way(98, 5)), (token, Way(7, 0)), (job, Way(38, 1))]
LOW = ("errors", "text", "spec", "ops", "compute")
"""The rooms that compute, and do nothing else."""

ASKING = ("run.py",)
"""Files of these rooms that ask whether NumPy is loaded."""

SLOW = {"collections", "contextlib", "enum", "functools", "re", "typing"}
"""What `records` spares a start: the imports take from a fifth to a half of an empty one."""

OF_RICH = {"report", "batch", *SLICES}
"""The rooms that draw on a terminal."""


def roots(path: Path) -> set[str]:
    """Return the packages that a file imports."""
    return {name.split(".")[0] for name in imports(path)}


def test_a_module_imports_only_what_lies_left_of_it() -> None:
    rooms = {
        path: {name.split(".")[1] for name in imports(path) if name.startswith("gathercli.")}
        for path in MODULES
    }

    wrong = {
        path: names
        for path, inner in rooms.items()
        if (names := (inner & LEFT_OF.keys()) - LEFT_OF[room(path)] - {room(path)})
    }

    assert wrong == {}


def test_no_files_import_each_other_for_types_and_inside_functions_included() -> None:
    assert circle() == []


def test_the_house_is_no_larger_than_it_was() -> None:
    assert all(now <= most for now, most in zip(size(), MOST_SIZE, strict=True)), size()


@pytest.mark.parametrize(("way", "most"), WAYS_AT_MOST)
def test_a_way_through_the_house_is_no_longer_than_it_was(
    way: Callable[[], Way], most: Way
) -> None:
    measured = way()

    assert measured.stays <= most.stays
    assert measured.climbs <= most.climbs


def test_rich_stays_where_a_terminal_is_drawn_on_and_typer_in_its_help() -> None:
    of_rich = {room(path) for path in MODULES if "rich" in roots(path)}
    of_typer = {path.name for path in MODULES if "typer" in roots(path)}

    assert of_rich <= OF_RICH
    assert of_typer == {"typerhelp.py"}


def test_of_typer_only_names_of_its_reference_are_used() -> None:
    path = PACKAGE / "cli" / "typerhelp.py"
    reference = {"Argument", "Context", "Exit", "Option", "Typer", "core.TyperCommand"}

    attributes = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "typer"
    }
    imported = {name.removeprefix("typer.") for name in imports(path) if "typer." in name}

    assert attributes | imported <= reference


def test_what_types_alone_need_is_not_imported_at_run_time() -> None:
    flags = {
        path: ast.literal_eval(node.value)
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TYPE_CHECKING"
    }

    assert flags
    assert [path for path, flag in flags.items() if flag] == []


def test_only_a_cluster_uses_a_network() -> None:
    network = {"dask", "distributed", "http", "pickle", "urllib"}

    users = {path.name for path in MODULES if roots(path) & network}

    assert users <= {"cluster.py", "dask_task.py"}


def test_a_batch_loads_nothing_that_uses_a_network() -> None:
    code = "import gathercli.batch.command, gathercli.batch.batch_run, gathercli.batch.report"

    assert not {"http.client", "ssl", "urllib.request"} & loaded(code)


def test_dask_is_imported_when_it_is_asked_for() -> None:
    assert not {"dask", "distributed"} & loaded("import gathercli.batch.cluster")


def test_what_computes_opens_no_file_and_prints_nothing() -> None:
    low = [path for path in MODULES if room(path) in LOW and path.name not in ASKING]
    calls = {
        node.func.id
        for path in low
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert not calls & {"open", "print", "input", "exec", "eval"}
    assert not {root for path in low for root in roots(path)} & {"os", "io", "sys", "mmap"}


def loaded(code: str) -> set[str]:
    """Run code in a fresh interpreter; the modules it has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        env=dict(os.environ),  # without the COLUMNS that readline adds for processes it starts
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "argv",
    [
        ["shape", "gather", "[2,?,N]", "[3]"],
        ["ops"],
        ["ops", "--diff", "openvino-8", "onnx-13"],
        ["ops", "--like", "np.take"],
        ["ops", "--decisions"],
        ["man", "shape"],
    ],
    ids=" ".join,
)
def test_what_computes_nothing_starts_without_numpy(argv: list[str]) -> None:
    assert "numpy" not in loaded(f"from gathercli.cli import main; assert main({argv}) == 0")


@pytest.mark.parametrize(
    "argv",
    [["--version"], ["--help"], ["gather", "--help"], ["shape", "-h"], ["completion", "bash"]],
    ids=" ".join,
)
def test_a_shipped_text_is_printed_by_a_few_small_modules(argv: list[str]) -> None:
    modules = loaded(f"from gathercli.cli import main; assert main({argv}) == 0")

    assert not modules & SLOW
    assert {name for name in modules if name.startswith("gathercli.")} <= {
        *("gathercli.cli", "gathercli.cli.main", "gathercli.cli.generated"),
        *("gathercli.io", "gathercli.io.descriptors"),
        *("gathercli.report", "gathercli.report.terminal"),
        *("gathercli.compute", "gathercli.compute._native"),  # to say which kernel runs
    }


@pytest.mark.parametrize(
    "argv",
    [
        ["gather", "[[1,2],[3,4]]", "[0]"],
        ["gather", "d.npy", "i.npy", "-o", "o.npy", "-q"],
        ["gather", "d.npy", "i.npy", "-f", "oip"],
        ["gather-elements", "2x2xf32=0.1", "[[0,1]]", "-a", "0", "-f", "literal"],
        ["gather-nd", "d.npy", "[[0,1]]"],
        ["shape", "gather", "[[1,2],[3,4]]", "[0]"],
        ["shape", "gather", "d.npy", "i.npy"],
    ],
    ids=" ".join,
)
def test_a_small_call_starts_without_numpy_typer_and_inspect(argv: list[str], folder: Path) -> None:
    np.save(folder / "d.npy", np.arange(6.0).reshape(2, 3))
    np.save(folder / "i.npy", np.array([1, 0]))

    modules = loaded(f"from gathercli.cli import main; assert main({argv}) == 0")

    assert not modules & {"numpy", "typer", "inspect", "dataclasses", "signal", "typing"}


def test_a_short_file_of_json_is_gathered_without_numpy(folder: Path) -> None:
    (folder / "d.json").write_text("[[1.5,2],[3,4]]", encoding="utf-8")

    modules = loaded("from gathercli.cli import main; assert main(['gather', 'd.json', '1,']) == 0")

    assert "numpy" not in modules


def test_a_call_of_integers_starts_without_math() -> None:
    assert "math" not in loaded("from gathercli.cli import main; main(['gather', '1,2,3', '0'])")


@pytest.mark.parametrize(
    "argv",
    [
        ["gather", "[1,2,3,4,5]", "[3,1,-2]"],
        ["gather", "d.npy", "i.npy", "-o", "o.npy"],
        ["shape", "gather", "[[1,2],[3,4]]", "[0]"],
        ["shape", "gather", "[2,?]", "[3]"],
    ],
    ids=" ".join,
)
def test_the_smallest_calls_compile_no_pattern_and_load_nothing_slow(
    argv: list[str], folder: Path
) -> None:
    np.save(folder / "d.npy", np.arange(6.0).reshape(2, 3))
    np.save(folder / "i.npy", np.array([1, 0]))

    modules = loaded(f"from gathercli.cli import main; assert main({argv}) == 0")

    assert not modules & (SLOW | {"json"})


def test_a_result_for_a_pipe_starts_without_what_it_does_not_need() -> None:
    code = "from gathercli.cli import main; assert main(['gather', '3xbf16=1', '0']) == 0"

    found = loaded(code)

    assert not {"rich", "ml_dtypes"} & found
    assert not {n for n in found if n.startswith(("gathercli.models", "gathercli.translate"))}
    assert not {"zarr", "distributed", "hashlib", "gathercli.compute.blocks"} & found


def test_a_batch_without_runtimes_loads_only_their_options() -> None:
    argv = ["batch", "--op", "gather", "--data", "[1]", "--indices", "0"]
    code = f"from gathercli.cli import main; assert main({argv}) == 0"

    found = {name for name in loaded(code) if name.startswith("gathercli.runtimes.")}

    assert found == {"gathercli.runtimes.command"}


def test_a_picture_for_the_terminal_loads_no_drawing() -> None:
    code = "from gathercli.cli import main; assert main(['explain', 'gather', '[1]', '0']) == 0"

    assert not {name for name in loaded(code) if name.startswith("gathercli.explain.drawing")}


def test_importing_the_package_imports_nothing_of_it() -> None:
    assert not {name for name in loaded("import gathercli") if name.startswith("gathercli.")}


def test_what_an_operator_version_is_needs_no_numpy() -> None:
    parts = [path for path in MODULES if room(path) in ("spec", "ops", "text", "errors")]

    roots = {name.split(".")[0] for path in parts for name in imports(path)}

    assert "numpy" not in roots
    assert "numpy" not in loaded("import gathercli.ops, gathercli.spec.rules, gathercli.ops")


def test_no_class_has_the_name_of_another() -> None:
    names = [
        node.name
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]

    assert {name for name in names if names.count(name) > 1} == set()


def test_no_module_has_the_name_of_one_that_it_imports() -> None:
    assert [path for path in MODULES if path.stem in roots(path)] == []
