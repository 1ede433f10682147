from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np
import pytest

import gathercli
from gathercli import GatherError
from gathercli.errors import Hint

PACKAGE = Path(gathercli.__file__).parent
DATA = np.arange(6).reshape(2, 3)
ADVICE: dict[str, tuple[str, dict[str, Any], str]] = {
    "a version's name": (
        "gather",
        {"data": DATA, "indices": 0, "version": "openvimo-8"},
        'did you mean `version="openvino-8"`?',
    ),
    "a number of two versions": (
        "gather",
        {"data": DATA, "indices": 0, "version": 1},
        'did you mean `version="openvino-1"` or `version="onnx-1"`?',
    ),
    "the name of another call": (
        "explain",
        {"op": "torch.gather", "data": DATA, "indices": [[0, 1, 0]], "axis": 0},
        '`gather-elements` with `version="onnx-13"` and `negative="error"`',
    ),
    "whole floats as indices": (
        "gather",
        {"data": DATA, "indices": [0.0, 1.0]},
        "as integers they are `[0, 1]`",
    ),
    "a mask as indices": (
        "gather",
        {"data": DATA, "indices": [False, True]},
        "the positions of true are `[1]`",
    ),
    "an array of a mask": (
        "gather",
        {"data": DATA, "indices": np.array([False, True])},
        "the positions of true are `[1]`",
    ),
    "a long mask": (
        "gather",
        {"data": DATA, "indices": np.zeros(21, bool)},
        "the positions of true are indices: `numpy.flatnonzero(mask)`",
    ),
    "the name of a file": (
        "gather",
        {"data": "x.npy", "indices": 0},
        'read what it names: `gathercli.load("x.npy")`',
    ),
    "float8 where only OpenVINO has it": (
        "gather",
        {"data": np.zeros(2, ml_dtypes.float8_e5m2), "indices": 0, "version": "onnx-13"},
        'openvino-8 takes float8_e5m2: `version="openvino-8"`',
    ),
    "a generator that there is not": ("load", {"source": "ones:3"}, 'did you mean `"3xi64=1"`?'),
    "a member as numpy has it": ("load", {"source": "x.npz[a]"}, 'did you mean `"x.npz#a"`?'),
    "commas between sizes": ("load", {"source": "zeros:2,3"}, 'did you mean `"zeros:2x3"`?'),
    "bytes of no format": (
        "load",
        {"source": "raw"},
        'bare elements are read by their shape and type, single bytes by `"bin:2xu8@raw"`',
    ),
    "a type that the version lacks": (
        "gather",
        {"data": np.zeros(2, ml_dtypes.bfloat16), "indices": 0, "version": "onnx-11"},
        'onnx-13 takes bfloat16: `version="onnx-13"`',
    ),
    "narrow indices": (
        "gather",
        {"data": DATA, "indices": np.array([0, 1], "int8"), "version": "onnx-13"},
        '`numpy.asarray(indices, "int64")` converts them without loss',
    ),
    "indices that are floats": (
        "gather",
        {"data": DATA, "indices": np.array([0, 1], "float32")},
        "as integers they are `[0, 1]`",
    ),
    "indices that are bfloat16": (
        "gather",
        {"data": DATA, "indices": np.array([0, 1], ml_dtypes.bfloat16)},
        "as integers they are `[0, 1]`",
    ),
    "indices with a fraction": (
        "gather",
        {"data": DATA, "indices": np.array([0, 0.5])},
        '`numpy.asarray(indices, "int64")` converts whole values; '
        "it cuts off fractions, which are not indices",
    ),
    "many indices that are floats": (
        "gather",
        {"data": DATA, "indices": np.zeros(21)},
        '`numpy.asarray(indices, "int64")` converts whole values; '
        "it cuts off fractions, which are not indices",
    ),
    "data and indices in each other's place": (
        "gather",
        {"data": np.array([0, 1]), "indices": np.zeros((5, 4))},
        "data come first, and then indices",
    ),
    "indices of another rank": (
        "gather_elements",
        {"data": DATA, "indices": [0, 1], "axis": 0},
        "`gather` takes indices of any rank",
    ),
    "no axis": (
        "gather_elements",
        {"data": DATA, "indices": [[0, 1, 0]], "version": "openvino-6"},
        "add `axis=0`, the default of the ONNX versions",
    ),
    "an axis that there is not": (
        "gather",
        {"data": DATA, "indices": 0, "axis": 2},
        "the last dimension is `axis=-1`",
    ),
    "batch_dims where there are none": (
        "gather",
        {"data": DATA, "indices": [[0], [1]], "axis": 1, "batch_dims": 1, "version": "openvino-1"},
        'openvino-8 has batch_dims: `version="openvino-8"`',
    ),
    "batch_dims beyond the axis": (
        "gather",
        {"data": DATA, "indices": [[0], [1]], "batch_dims": 1},
        "`axis=1` gathers on the first dimension after the batch",
    ),
    "smaller indices": (
        "gather_elements",
        {"data": DATA, "indices": [[0, 0]], "axis": 0},
        'onnx-13 takes smaller ones: `version="onnx-13"`',
    ),
    "an index outside": (
        "gather",
        {"data": DATA, "indices": [5], "version": "onnx-13"},
        'openvino-8 fills such slices with zeros: `version="openvino-8"`, or `out_of_range="zero"`',
    ),
    "an index outside, of elements": (
        "gather_elements",
        {"data": DATA, "indices": [[5, 0, 0]], "version": "onnx-13"},
        '`out_of_range="zero"` fills such cells with zeros, `clamp` and `wrap` move them',
    ),
    "a negative index": (
        "gather",
        {"data": DATA, "indices": [-1], "version": "openvino-1"},
        'openvino-8 counts negative indices from the end: `version="openvino-8"`',
    ),
    "a negative index, of elements": (
        "gather_elements",
        {"data": DATA, "indices": [[-1, 0, 0], [0, 0, 0]], "axis": 1, "version": "openvino-6"},
        'onnx-13 counts negative indices from the end: `version="onnx-13"`',
    ),
    "an empty axis": (
        "gather",
        {"data": np.zeros((0, 2)), "indices": [0], "out_of_range": "clamp"},
        'an empty axis has nothing to clamp or wrap to; `out_of_range="zero"` fills',
    ),
    "an empty axis, of elements": (
        "gather_elements",
        {"data": np.zeros((0, 2)), "indices": [[0, 0]], "axis": 0},
        'on an empty axis only `out_of_range="zero"` gives an answer',
    ),
    "an operator's name": (
        "explain",
        {"op": "gathr", "data": DATA, "indices": 0},
        "did you mean `gather`?",
    ),
    "a shape's text": (
        "infer_shape",
        {"op": "gather", "data_shape": "2 by 3", "indices_shape": "[2]"},
        "a shape is written `[2,?,1..5,N]`, and `[...]` when its rank is unknown",
    ),
    "a dtype's name": (
        "load",
        {"source": "x.npy", "dtype": "flot32"},
        "did you mean `float32`?",
    ),
    "a file that is not there": ("load", {"source": "l.jsn"}, 'did you mean `"l.json"`?'),
    "a file with a blank": ("load", {"source": "a b.npx"}, 'did you mean `"a b.npy"`?'),
    "a member of several": ("load", {"source": "x.npz"}, 'name the member: `"x.npz#a"`'),
    "a member of none": ("load", {"source": "x.npy#a"}, '`"x.npy"`'),
    "a tensor of an object": ("load", {"source": "x.json"}, 'name the tensor: `"x.json#a"`'),
    "a key of a list": (
        "load",
        {"source": "l.json#a"},
        'a plain list is read without a key: `"l.json"`',
    ),
    "a tensor of several": (
        "load",
        {"source": "x.safetensors"},
        'name the tensor: `"x.safetensors#a"`',
    ),
    "an array of a group": ("load", {"source": "g.zarr"}, 'name the array: `"g.zarr#a"`'),
    "bytes of a bfloat16": (
        "load",
        {"source": "v.npy"},
        'bfloat16 is saved like this: `dtype="bfloat16"` reads it',
    ),
    "too many bytes": (
        "load",
        {"source": "zeros:100", "max_bytes": 8},
        "`max_bytes=None` lifts the limit",
    ),
    "too many bytes of a file": (
        "load",
        {"source": "x.json#a", "max_bytes": 8},
        "`max_bytes=None` lifts the limit; a .npy file is mapped and not held",
    ),
    "elements of another number": (
        "load",
        {"source": "bin:2xi64@x.bin"},
        '`"bin:3xi64@x.bin"` has that many',
    ),
    "another name of a policy": (
        "gather",
        {"data": DATA, "indices": [9], "out_of_range": "clip"},
        'did you mean `out_of_range="clamp"`?',
    ),
    "a suffix": (
        "save",
        {"path": "x.foo", "array": DATA},
        'the suffix names the format, as in `"x-1.npy"`',
    ),
    "a suffix that is nearly right": (
        "save",
        {"path": "y.safetensor", "array": DATA},
        'did you mean `"y.safetensors"`?',
    ),
}
"""By what is wrong: the function, its arguments, and the hint."""


@pytest.fixture
def files(folder: Path) -> Path:
    """Write what the calls read."""
    array = np.arange(3)
    for name in ("x.npy", "a b.npy"):
        np.save(folder / name, array)
    np.savez(folder / "x.npz", a=array, b=array)
    (folder / "x.json").write_text('{"a":[1,2,3],"b":[4]}')
    (folder / "l.json").write_text("[1,2,3]")
    (folder / "x.bin").write_bytes(array.tobytes())
    (folder / "raw").write_bytes(b"\0\1")
    (folder / "c.csv").write_text("1,2\n3,4\n")
    gathercli.save("v.npy", np.zeros(3, ml_dtypes.bfloat16))
    import zarr
    from safetensors.numpy import save_file

    save_file({"a": array, "b": array}, folder / "x.safetensors")
    group = zarr.open_group("g.zarr", mode="w")
    for name in "ab":
        group.create_array(name, data=array)
    return folder


def refusal(function: str, arguments: dict[str, Any]) -> GatherError:
    with pytest.raises(GatherError) as caught:
        getattr(gathercli, function)(**arguments)
    return caught.value


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
@pytest.mark.parametrize(("function", "arguments", "hint"), ADVICE.values(), ids=ADVICE)
def test_a_hint_of_an_exception_works_as_python_code(
    function: str, arguments: dict[str, Any], hint: str
) -> None:
    error = refusal(function, arguments)

    lines = str(error).split("\n")
    assert lines == [error.message, f"hint: {hint}"]
    assert error.hint == hint
    advice = [each for each in re.findall(r"`(.*?)`", hint) if each not in ("clamp", "wrap")]
    for each in [advice] if "` with `" in hint else [[one] for one in advice]:
        follow(each, function, arguments)


def test_an_exception_shows_the_converting_line_as_python_code(files: Path) -> None:
    error = refusal("load", {"source": "c.csv"})

    hint = r'^hint: `(.*)` converts a .csv file and writes `"c.npy"`$'
    (line,) = re.findall(hint, str(error), re.MULTILINE)
    exec(line, {})  # noqa: S102
    assert gathercli.load(files / "c.npy").tolist() == [[1, 2], [3, 4]]


def test_a_packed_file_is_unpacked_by_a_line_without_standard_input(files: Path) -> None:
    (files / "x y.npy.gz").write_bytes(b"\x1f\x8b")

    assert str(refusal("load", {"source": "x y.npy.gz"})).endswith(
        "\nhint: `zcat 'x y.npy.gz' > FILE` unpacks it"
    )


@pytest.mark.usefixtures("files")
def test_the_hint_of_an_exception_does_not_name_standard_input() -> None:
    assert str(refusal("load", {"source": "nofile"})) == (
        "`source`: there is no file `nofile`: expected a file, or a literal such as 0,0,4"
    )


def test_the_repr_of_an_exception_has_the_whole_message() -> None:
    error = refusal("gather", {"data": DATA, "indices": 0, "axis": 2})

    assert repr(error) == "AxisError('`axis` is 2, but `data` has rank 2: expected -2 to 1')"


def test_a_message_without_a_hint_is_one_line() -> None:
    error = refusal("gather", {"data": [1], "indices": 0, "negative": "xyz"})

    assert str(error) == "`negative` is `xyz`: expected spec, wrap or error"


def test_a_hint_quotes_names_for_the_shell_and_for_python() -> None:
    hint = Hint("try {source}", source="a 'b'.npy")

    assert hint == """try `'a '"'"'b'"'"'.npy'`"""
    assert hint.python == """try `"a 'b'.npy"`"""


UNREACHABLE: Final = (
    *("spec/decisions.py", "spec/equivalents.py"),
    *("compute/cast.py", "compute/streamed.py", "io/chunkwise.py", "io/jobs/jobfile.py"),
)
"""What only the command reaches: prose of `ops`, `convert`, limits of a .zarr output, jobs."""

OWN: Final = ("--no-clobber", "--nonfinite", "--force-format")
"""Options of which Python has no counterpart, and so never hears."""


COMMANDS_OWN: Final = {
    "spec/rules/__init__.py": ("--max-bytes", "--negative", "--out-of-range"),
    "io/formats/npy.py": ("--data-dtype",),
    "io/onnx/tensorproto.py": ("--external-data",),
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


SWAPPED: Final = "the name of the file comes first: `gathercli.save(path, array)`"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gathercli.gather([1, 2], None),
            "`indices`: it is None: expected an array or nested lists",
        ),
        (
            lambda: gathercli.gather([1, 2], {0}),
            "`indices`: it is of type `set`: expected an array or nested lists",
        ),
        (
            lambda: gathercli.gather([1, 2], slice(2)),
            "`indices`: it is of type `slice`: expected an array or nested lists",
        ),
        (lambda: gathercli.gather([1], [0], axis="one"), "`axis` is `one`: expected one integer"),
        (
            lambda: gathercli.gather([1], [0], axis={0}),
            "`axis` is of type `set`: expected one integer",
        ),
        (
            lambda: gathercli.gather([1], [0], threads="all"),  # type: ignore[arg-type]
            "`threads` is `all`: expected an integer from 1 on",
        ),
        (
            lambda: gathercli.gather([1, 2], [0], out=np.zeros(2, np.int64)),
            "`out` is i64[2]: expected i64[1]",
        ),
        (
            lambda: gathercli.gather([1, 2], [0], out=[0]),  # type: ignore[arg-type]
            "`out` is of type `list`: expected a NumPy array, i64[1]",
        ),
        (
            lambda: gathercli.gather([1, 2], [0], out=np.zeros(1, ">i8")),
            "`out` is of >i8: expected <i8, in native byte order",
        ),
        (
            lambda: gathercli.save(np.zeros(2), "o.npy"),  # type: ignore[arg-type]
            f"`path` is of type `ndarray`: expected the name of a file\nhint: {SWAPPED}",
        ),
    ],
)
def test_an_exception_describes_the_wrong_value_in_plain_words(call: Any, message: str) -> None:
    with pytest.raises(GatherError) as caught:
        call()

    assert str(caught.value) == message


@pytest.mark.parametrize("version", [None, "", " "])
def test_an_exception_calls_an_empty_version_empty(version: Any) -> None:
    with pytest.raises(GatherError, match=r"^an empty version for gather: expected openvino-8, "):
        gathercli.gather([1], [0], version=version)
