"""``python -m tests.house``: the size of the package, its circles, and the ways through it.

A stay is a file that calls another one while a line or a job is done, each pair of them once; a
climb is a stay in a room above that of the caller, as when a function was passed down.
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

PACKAGE: Final = Path(__file__).parents[1] / "gathercli"
ROOMS: Final = (
    *(
        "records",
        "slices",
        "text",
        "errors",
        "spec",
        "ops",
        "frameworks",
        "compute",
        "io",
        "report",
        "cli",
    ),
    "batch",
)
"""The rooms of the core: each imports those left of it."""

SLICES: Final = ("explain", "models", "runtimes", "translate", "diagnose")
"""The rooms beside it: each imports the core, and no other slice."""

WORDS_OF_SLICES: Final = {
    "explain": ("explain", "demo", "--save", "--aspect", "--heat", "--window"),
    "models": ("model", "--feed", "--external-data", "--sarif"),
    "runtimes": ("reproduce", "--with", "--allow-absent"),
    "translate": ("translate",),
    "diagnose": ("diagnose",),
}
"""The commands of each slice, and the options that it gives to commands of the core."""

MODEL_FILE: Final = re.compile(r"\.(onnx|xml)(#|$)")
"""The end of a model's name, or of a name in it; to read one needs the slice of models."""

MODULES: Final = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    """Return the room that a file of the package is in, or is."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def absent_slice(words: Sequence[str]) -> str | None:
    """Return the slice that a line needs and the package does not have, or None."""
    names = {*words[:1], *(word.partition("=")[0] for word in words if word.startswith("--"))}
    if any(MODEL_FILE.search(word) for word in words):
        names.add("model")
    needs = (name for name, given in WORDS_OF_SLICES.items() if not names.isdisjoint(given))
    return next((name for name in needs if not (PACKAGE / name).exists()), None)


def dotted(path: Path) -> str:
    """Return the name by which a module is imported."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


@cache
def nodes(path: Path) -> tuple[ast.Import | ast.ImportFrom | ast.ClassDef | ast.Call, ...]:
    """Return the imports, classes and calls of a file, at any depth."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Call)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, kinds))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the dotted names of all that a file imports, at any depth."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


class Size(NamedTuple):
    """Lines and files of the package, and lines of its longest file."""

    lines: int
    core: int  # lines that are in no slice
    files: int
    longest: int


def size() -> Size:
    """Count the lines and files of the package."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    core = sum(count for path, count in lines.items() if room(path) not in SLICES)
    return Size(sum(lines.values()), core, len(lines), max(lines.values()))


def circle() -> list[str]:
    """Return modules that import each other, those for types and in functions included."""
    paths = {dotted(path): path for path in MODULES}
    graph = {
        module: {name if name in paths else name.rpartition(".")[0] for name in imports(path)}
        for module, path in paths.items()
    }
    try:
        TopologicalSorter({module: names - {module} for module, names in graph.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


class Way(NamedTuple):
    """How often a line or a job goes from one file to another, and from a room to one above."""

    stays: int
    climbs: int


def way(run: Callable[[], object]) -> Way:
    """Follow the calls of a function; what is imported or kept by a first run is not counted.

    Nor is the way to `records`, which stands for the standard library.
    """
    run()
    pairs: set[tuple[Path, Path]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (callee := _module(frame)) is not None:
            caller, below = None, frame.f_back
            while caller is None and below is not None:
                caller, below = _module(below), below.f_back
            if caller not in (None, callee):
                pairs.add((caller or callee, callee))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    floors = {name: number for number, name in enumerate(ROOMS)}
    climbs = [
        floors.get(room(caller), len(ROOMS)) < floors.get(room(callee), len(ROOMS))
        for caller, callee in pairs
    ]
    return Way(len(pairs), sum(climbs))


def _module(frame: FrameType) -> Path | None:
    """Return the file of the package that a function is in, or None."""
    path = Path(frame.f_code.co_filename)
    return path if path.is_relative_to(PACKAGE) and path.name != "records.py" else None


def line() -> Way:
    """Follow a small line of `gather`."""
    from gathercli.cli import main

    with redirect_stdout(io.StringIO()):
        return way(lambda: main(["gather", "[1,2,3]", "[0]", "-q", "-o", os.devnull]))


def token() -> Way:
    """Follow a word on the way to a tensor."""
    from gathercli.io.source import Inputs

    return way(lambda: Inputs(None).tensor("[1,2,3]", "data"))


def job() -> Way:
    """Follow the text of a job on the way to its line of the report."""
    from gathercli.batch.work import Settings, line_of
    from tests.jobs import parse

    text = b'{"id":"a","op":"gather","data":[1,2],"indices":[0],"output":"o.npy"}'

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return way(lambda: line_of(parse(text, where="jobs.jsonl"), Settings()))


if __name__ == "__main__":
    print(size())
    print("circle:", " → ".join(circle()) or "none")
    for each in (line, token, job):
        print(f"{each.__name__}:", each())
