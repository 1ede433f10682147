from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import gathercli
from gathercli import GatherError
from gathercli.errors import Hint
from tests.messages import NAMES, Block, blocks, refusal, write_readable

PACKAGE = Path(gathercli.__file__).parent


MOVES: Final = ("clamp", "wrap")
"""Words of hints in backquotes that are no line."""


@pytest.fixture
def files(folder: Path) -> Path:
    """Write what the calls read."""
    write_readable(folder)
    return folder


def parts(block: Block) -> tuple[str, dict[str, Any]]:
    """Return the function that a call in Python names, and its arguments."""
    call = ast.parse(block.typed.removeprefix(">>> "), mode="eval").body
    assert isinstance(call, ast.Call)
    return ast.unparse(call.func), {
        str(each.arg): eval(ast.unparse(each.value), dict(NAMES))  # noqa: S307
        for each in call.keywords
    }


def change(advice: str, function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what a hint says in backquotes to pass: a setting, or another value."""
    if re.match(r"\w+=", advice):
        return dict(eval(f"dict({advice})"))  # noqa: S307
    if function == "infer_shape" or re.fullmatch(r"[\w-]+", advice):
        return {{"load": "dtype", "explain": "op", "infer_shape": "data_shape"}[function]: advice}
    names = {"numpy": np, "gathercli": gathercli, "mask": arguments.get("indices"), **arguments}
    name = (
        "data" if "load" in advice else {"load": "source", "save": "path"}.get(function, "indices")
    )
    return {name: eval(advice, names)}  # noqa: S307


def follow(advice: list[str], function: str, arguments: dict[str, Any]) -> object:
    """Call again as a hint says."""
    if advice == ["gather"] and function == "gather_elements":
        return gathercli.gather(**arguments)
    for each in advice:
        arguments = arguments | change(each, function, arguments)
    return getattr(gathercli, function)(**arguments)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("block", blocks("advice"), ids=lambda block: block.title)
def test_a_hint_of_an_exception_works_as_python_code(block: Block) -> None:
    advice = [each for each in re.findall(r"`(.*?)`", block.hint) if each not in MOVES]

    for each in [advice] if "` with `" in block.hint else [[one] for one in advice]:
        follow(each, *parts(block))


def test_an_exception_shows_the_converting_line_as_python_code(files: Path) -> None:
    error = refusal('load(source="c.csv")')

    hint = r'^hint: `(.*)` converts a .csv file and writes `"c.npy"`$'
    (line,) = re.findall(hint, str(error), re.MULTILINE)
    exec(line, {})  # noqa: S102
    assert gathercli.load(files / "c.npy").tolist() == [[1, 2], [3, 4]]


def test_a_packed_file_is_unpacked_by_a_line_without_standard_input(files: Path) -> None:
    (files / "x y.npy.gz").write_bytes(b"\x1f\x8b")

    assert str(refusal('load(source="x y.npy.gz")')).endswith(
        "\nhint: `zcat 'x y.npy.gz' > FILE` unpacks it"
    )


@pytest.mark.usefixtures("files")
def test_the_hint_of_an_exception_does_not_name_standard_input() -> None:
    assert str(refusal('load(source="nofile")')) == (
        "`source`: there is no file `nofile`: expected a file, or a literal such as 0,0,4"
    )


def test_the_repr_of_an_exception_has_the_whole_message() -> None:
    error = refusal("gather(DATA, 0, axis=2)")

    assert repr(error) == "AxisError('`axis` is 2, but `data` has rank 2: expected -2 to 1')"


def test_a_message_without_a_hint_is_one_line() -> None:
    error = refusal('gather([1], 0, negative="xyz")')

    assert str(error) == "`negative` is `xyz`: expected spec, wrap or error"


def test_a_hint_quotes_names_for_the_shell_and_for_python() -> None:
    hint = Hint("try {source}", source="a 'b'.npy")

    assert hint == """try `'a '"'"'b'"'"'.npy'`"""
    assert hint.python == """try `"a 'b'.npy"`"""


UNREACHABLE: Final = (
    "frameworks/equivalents.py",
    *("compute/conversion.py", "compute/chunks.py", "io/zarr/created.py", "io/jobfile.py"),
)
"""What only the command reaches: prose of `ops`, `convert`, limits of a .zarr output, jobs."""

OWN: Final = ("--no-clobber", "--nonfinite", "--force-format")
"""Options of which Python has no counterpart, and so never hears."""


COMMANDS_OWN: Final = {
    "spec/rules.py": ("--max-bytes", "--negative", "--out-of-range"),
    "io/formats/npy.py": ("--data-dtype",),
    "io/graphs/tensorproto.py": ("--external-data",),
}
"""Options in texts that only commands show: what `ops` says of the rules, notes of an output."""


@pytest.mark.parametrize("part", ["spec", "ops", "compute", "io", "api.py"])
def test_no_message_of_the_library_names_an_option_of_the_command(part: str) -> None:
    source = PACKAGE / part
    assert source.exists()
    for path in [source] if source.is_file() else sorted(source.rglob("*.py")):
        if str(path.relative_to(PACKAGE)) in UNREACHABLE:
            continue

        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        text = [
            node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in prose
        ]
        options = {
            each
            for one in map(str, text)
            for each in re.findall(r"`(--[a-z][a-z-]*|-[a-zA-Z])(?=[ `])", one)
        }

        assert options <= {*OWN, *COMMANDS_OWN.get(str(path.relative_to(PACKAGE)), ())}, path


@pytest.mark.parametrize("version", ["", " "])
def test_an_exception_calls_an_empty_version_empty(version: Any) -> None:
    with pytest.raises(GatherError, match=r"^an empty version for gather: expected openvino-8, "):
        gathercli.gather([1], [0], version=version)
