"""Imports go one way: through the rooms of the core, and from a slice to the core."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

PACKAGE = Path(__file__).parents[1] / "gathercli"
FLOORS = (
    *("records", "slices", "text", "errors", "spec", "ops", "compute", "io", "report", "cli"),
    "batch",
)
"""The rooms of the core: each imports those left of it."""

SLICES = ("explain", "models", "runtimes", "translate", "diagnose")
"""The rooms beside it: each imports the core, and no other slice."""

LEFT_OF = {
    **{room: {*FLOORS[:number]} for number, room in enumerate(FLOORS)},
    **{room: {*FLOORS} for room in SLICES},
    "api": {"errors", "text", "spec", "ops", "compute", "io"},
    "__init__": {"api", "explain", "report", "spec", "errors"},
    "__main__": {"cli"},
}
LOW = ("errors", "text", "spec", "ops", "compute")
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def nodes(path: Path) -> tuple[ast.Import | ast.ImportFrom | ast.ClassDef | ast.Call, ...]:
    """Return the imports, classes and calls of a file, at any depth."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Call)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, kinds))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the dotted names of every module that a file imports, at any depth."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def dotted(path: Path) -> str:
    """Return the name by which a module is imported."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_lies_left_of_it(path: Path) -> None:
    parts = {name.split(".")[1] for name in imports(path) if name.startswith("gathercli.")}
    inner = {name for name in parts if name in LEFT_OF}

    assert inner <= LEFT_OF[part(path)] | {part(path)}


def test_no_files_import_each_other_for_types_and_inside_functions_included() -> None:
    paths = {dotted(path): path for path in MODULES}
    graph = {
        module: {name if name in paths else name.rpartition(".")[0] for name in imports(path)}
        for module, path in paths.items()
    }
    circle: list[str] = []

    try:
        TopologicalSorter({module: names - {module} for module, names in graph.items()}).prepare()
    except CycleError as error:
        circle = error.args[1]

    assert circle == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rich_stays_in_the_report_and_typer_in_the_help_of_a_terminal(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}

    assert "rich" not in roots or part(path) in (
        "report",
        "explain",
        "models",
        "runtimes",
        "translate",
        "diagnose",
        "batch",
    )
    assert "typer" not in roots or path.name == "typerhelp.py"


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


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_a_cluster_uses_a_network(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    names = ("cluster", "leftovers", "scheduler", "dask_task")
    of_cluster = {PACKAGE / "batch" / f"{name}.py" for name in names}

    assert path in of_cluster or not roots & {"dask", "distributed", "http", "pickle", "urllib"}


def test_dask_is_imported_when_it_is_asked_for() -> None:
    assert not {"dask", "distributed"} & loaded("import gathercli.batch.cluster")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_what_computes_opens_no_file_and_prints_nothing(path: Path) -> None:
    if part(path) not in LOW or path.name == "run.py":  # which asks whether NumPy is loaded
        return
    calls = {
        node.func.id
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert not calls & {"open", "print", "input", "exec", "eval"}
    assert not {name.split(".")[0] for name in imports(path)} & {"os", "io", "sys", "mmap"}


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

    assert not modules & {"collections", "contextlib", "enum", "functools", "re", "typing"}
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
def test_the_smallest_calls_compile_no_pattern(argv: list[str], folder: Path) -> None:
    np.save(folder / "d.npy", np.arange(6.0).reshape(2, 3))
    np.save(folder / "i.npy", np.array([1, 0]))

    modules = loaded(f"from gathercli.cli import main; assert main({argv}) == 0")

    assert not modules & {"enum", "json", "re"}


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

    assert found == {"gathercli.runtimes.options", "gathercli.runtimes.batch_options"}


def test_a_picture_for_the_terminal_loads_no_drawing() -> None:
    code = "from gathercli.cli import main; assert main(['explain', 'gather', '[1]', '0']) == 0"

    assert not {name for name in loaded(code) if name.startswith("gathercli.explain.drawing")}


def test_importing_the_package_imports_nothing_of_it() -> None:
    assert not {name for name in loaded("import gathercli") if name.startswith("gathercli.")}


def test_what_an_operator_version_is_needs_no_numpy() -> None:
    parts = [path for path in MODULES if part(path) in ("spec", "ops", "text", "errors")]

    roots = {name.split(".")[0] for path in parts for name in imports(path)}

    assert "numpy" not in roots
    assert "numpy" not in loaded("import gathercli.ops.engine, gathercli.spec.rules, gathercli.ops")


def test_no_class_has_the_name_of_another() -> None:
    names = [
        node.name
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]

    assert {name for name in names if names.count(name) > 1} == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_has_the_name_of_one_that_it_imports(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}

    assert path.stem not in roots
