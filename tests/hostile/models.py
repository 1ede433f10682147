"""ONNX models that lie about what they hold, or lead to files that nobody named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import onnx
from onnx import TensorProto, helper

from tests.hostile.case import Case, answered, refused
from tests.modelfiles import FLOAT, constants, one_gather, onnx_model, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.case import Content

VARINT, BYTES, GROUP = 0, 2, 3
"""Wire types of protocol buffers."""

GRAPH, OPSET, INITIALIZER = 7, 8, 5
"""Numbers of fields."""

NONE: Final = "1 model, 1 node: 1 proven; no finding\n"
OPEN: Final = "1 model, 1 node: 1 at run time; no finding\n"
EMPTY: Final = "1 model, 0 nodes; no finding\n"


def varint(number: int) -> bytes:
    """Encode a number of up to 64 bits."""
    number %= 1 << 64
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, content: bytes | int, wire: int | None = None) -> bytes:
    """Encode a field: bytes with their length, or a number."""
    if isinstance(content, int):
        return varint(number << 3 | (VARINT if wire is None else wire)) + varint(content)
    return varint(number << 3 | (BYTES if wire is None else wire)) + varint(len(content)) + content


WHOLE: Final = one_gather(indices=[0, 3]).SerializeToString()


def changed(change: Callable[[onnx.ModelProto], object], **options: Any) -> bytes:
    """Return a model of one Gather after a change."""
    model = one_gather(**({"indices": [0, 3]} | options))
    change(model)
    return bytes(model.SerializeToString())


def tensor(**fields: Any) -> bytes:
    """Return a model whose indices have other fields, a list of a repeated one, None for none."""

    def change(model: onnx.ModelProto) -> None:
        (indices,) = model.graph.initializer
        for name, content in fields.items():
            indices.ClearField(name)
            if isinstance(content, list):
                getattr(indices, name).extend(content)
            elif content is not None:
                setattr(indices, name, content)

    return changed(change)


def external(**entries: str) -> bytes:
    """Return a model whose indices are in another file."""

    def change(model: onnx.ModelProto) -> None:
        (indices,) = model.graph.initializer
        indices.ClearField("raw_data")
        indices.data_location = TensorProto.EXTERNAL
        for key, word in entries.items():
            indices.external_data.add(key=key, value=word)

    return changed(change)


def attribute(**fields: Any) -> bytes:
    """Return a model whose axis has other fields."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.node[0].attribute.add(name="axis", **fields)

    return changed(change)


def through(*nodes: onnx.NodeProto, **arrays: Any) -> bytes:
    """Return a model whose indices `i` come from other nodes."""
    last = helper.make_node("Gather", ["data", "i"], ["out"], name="pick")
    inputs, outputs = [value("data", FLOAT, [10])], [value("out", FLOAT, None)]
    return bytes(
        onnx_model([*nodes, last], inputs, outputs, constants(**arrays)).SerializeToString()
    )


def nested(depth: int) -> bytes:
    """Return a model of branches in branches, written from the inside."""
    inner = b""
    for _ in range(depth):
        branch = field(1, b"then_branch") + field(6, inner) + field(20, 5)
        inner = field(1, field(4, b"If") + field(5, branch))
    return field(1, 8) + field(GRAPH, inner) + field(OPSET, field(2, 17))


def recursive() -> bytes:
    """Return a model with a function that calls itself."""
    call = helper.make_node("loop", ["x"], ["y"], domain="own")
    ids = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "loop", ["x"], ["y"], [call], ids)
    inputs, outputs = [value("x", FLOAT, [2])], [value("y", FLOAT, [2])]
    model = onnx_model([call], inputs, outputs, opsets=ids[1:], functions=[function])
    return bytes(model.SerializeToString())


ONNX: Final[list[tuple[str, Content, str, str]]] = [
    ("of no bytes", b"", "format", "it is not an ONNX model: it has no graph"),
    ("of one byte", b"\x0a", "format", "the field at byte"),
    ("cut in half", WHOLE[: len(WHOLE) // 2], "format", "the file is truncated"),
    (
        "of no opset",
        changed(lambda model: model.ClearField("opset_import")),
        "format",
        "no `opset_import`",
    ),
    ("without its last byte", WHOLE[:-1], "format", "the file is truncated"),
    ("of text", "this is no model\n", "format", "byte"),
    ("that is an image", b"\x89PNG\r\n\x1a\n" + bytes(64), "format", "byte"),
    ("that is a pickle", b"\x80\x04\x95" + bytes(64), "format", "byte"),
    ("that is packed", b"\x1f\x8b\x08" + bytes(64), "format", "byte"),
    ("that is XML of no net", "<project/>", "format", "the root of the .xml is <project>"),
    (
        "with a number that never ends",
        WHOLE + b"\x08" + b"\xff" * 64,
        "format",
        "the number at byte 124 has no end",
    ),
    (
        "with a number of eleven bytes",
        WHOLE + b"\x08" + b"\x80" * 10 + b"\x01",
        "format",
        "the number at byte 124 has no end",
    ),
    (
        "with a field of 2^63 bytes",
        WHOLE + b"\x3a" + varint(1 << 63),
        "format",
        "the field at byte",
    ),
    ("with a field of 4 GiB", WHOLE + b"\x3a" + varint(1 << 32), "format", "the field at byte"),
    ("with a group", WHOLE + varint(30 << 3 | GROUP), "format", "byte"),
    ("with a wire type that is none", WHOLE + varint(30 << 3 | 7), "format", "byte"),
    ("with a field of number 0", WHOLE + b"\x02\x00", "format", "byte"),
    ("whose graph is a number", field(1, 8) + field(GRAPH, 5), "format", "the graph is a number"),
    ("whose opsets are numbers", WHOLE + field(OPSET, 5), "format", "`opset_import` is a number"),
    ("with branches 70 deep", nested(70), "format", "a body is too deep in others"),
    ("with branches 3000 deep", nested(3000), "format", "a body is too deep in others"),
]
"""What is refused: a sentence, the bytes, the rule, words."""

TYPES: Final = (
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, "
    "float64, complex64, complex128, string, float8, float6, float4, int4 or int2 types"
)
COUNT: Final = "elements: expected 16, for [2] of int64"
BESIDE: Final = "expected a file beside the model"
LENGTH: Final = "expected a number of bytes"

TENSORS: Final[list[tuple[str, bytes, str, str]]] = [
    (
        "of a negative size",
        tensor(dims=[-1]),
        "format",
        "the shape is [-1]: expected sizes of 0 or more",
    ),
    (
        "of 2^124 elements",
        tensor(dims=[1 << 62, 1 << 62]),
        "limit",
        f"the tensor has the shape [{1 << 62}, {1 << 62}]: "
        "expected rank at most 64 and less than 2^63 bytes",
    ),
    (
        "of 2^40 elements in no bytes",
        tensor(dims=[1 << 40], raw_data=b""),
        "format",
        f"the tensor has 0 bytes of elements: expected {8 << 40}, for [{1 << 40}] of int64",
    ),
    (
        "with a byte too few",
        tensor(raw_data=bytes(15)),
        "format",
        f"the tensor has 15 bytes of {COUNT}",
    ),
    (
        "with a byte too many",
        tensor(raw_data=bytes(17)),
        "format",
        f"the tensor has 17 bytes of {COUNT}",
    ),
    (
        "of type 99",
        tensor(data_type=99),
        "dtype",
        f"the tensor is of ONNX's type 99: expected {TYPES}",
    ),
    (
        "in two fields",
        tensor(raw_data=b"", int64_data=[1, 2]),
        "format",
        "the elements are in raw_data and in int64_data: expected one of them",
    ),
    (
        "with three numbers for two",
        tensor(raw_data=None, int64_data=[1, 2, 3]),
        "format",
        "the field int64_data has 3 values: expected 2, for [2]",
    ),
]
"""Indices that are malformed: a sentence, the bytes, the rule, the message."""

EXTERNAL: Final[list[tuple[str, dict[str, str], str, str]]] = [
    (
        "above the model",
        {"location": "../secret"},
        "format",
        f"the elements are in `../secret`: {BESIDE}",
    ),
    (
        "above the model by a detour",
        {"location": "a/../../secret"},
        "format",
        f"the elements are in `a/../../secret`: {BESIDE}",
    ),
    (
        "at an absolute path",
        {"location": "/etc/passwd"},
        "format",
        f"the elements are in `/etc/passwd`: {BESIDE}",
    ),
    ("nowhere", {}, "format", f"the elements are in ``: {BESIDE}"),
    ("in no name", {"location": ""}, "format", f"the elements are in ``: {BESIDE}"),
    (
        "in a name with a NUL",
        {"location": "a\0b"},
        "format",
        f"the elements are in `a\\x00b`: {BESIDE}",
    ),
    (
        "past the end",
        {"location": "secret", "offset": "4096"},
        "format",
        "the elements are at bytes 4096 to 4112 of a file of 16: expected bytes of the file",
    ),
    (
        "at an offset of 2^70",
        {"location": "secret", "offset": str(1 << 70)},
        "format",
        f"the offset of external data is `{1 << 70}`: {LENGTH}",
    ),
    (
        "at a negative offset",
        {"location": "secret", "offset": "-8"},
        "format",
        f"the offset of external data is `-8`: {LENGTH}",
    ),
    (
        "at an offset of words",
        {"location": "secret", "offset": "0x10"},
        "format",
        f"the offset of external data is `0x10`: {LENGTH}",
    ),
    (
        "with another length",
        {"location": "secret", "length": "8"},
        "format",
        f"the tensor has 8 bytes of {COUNT}",
    ),
    (
        "with an offset of 5000 digits",
        {"location": "secret", "offset": "9" * 5000},
        "format",
        f"the offset of external data is `{'9' * 40}`: {LENGTH}",
    ),
]
"""Where tensors are said to be, asked for by option."""

UNREADABLE: Final[list[tuple[str, dict[str, str], str, str]]] = [
    ("in a link", {"location": "link"}, "unreadable", "`link` is a link"),
    (
        "in a folder that is a link",
        {"location": "links/secret"},
        "unreadable",
        "`links/secret` cannot be read (not a directory)",
    ),
    ("in a folder", {"location": "folder"}, "unreadable", "`folder` is no regular file"),
    ("in a FIFO", {"location": "fifo"}, "unreadable", "`fifo` is no regular file"),
    ("in an absent file", {"location": "absent"}, "missing", "`absent` is missing"),
]
"""Files that cannot be read, which refuse the model."""


def found(rule: str, text: str, level: str = "error") -> str:
    """Return the output of a check with one finding."""
    word = "refused" if level == "error" else "proven"
    return f"x.onnx: pick: {level}: {text}  [{rule}]\n1 model, 1 node: 1 {word}; 1 {level}\n"


ROWS: Final = "openvino-8, openvino-7, openvino-1, onnx-13, onnx-11 or onnx-1"
CIRCLE: Final = (
    helper.make_node("Identity", ["j"], ["i"]),
    helper.make_node("Identity", ["i"], ["j"]),
)
DEFINED: Final = "expected an input, a tensor, or the output of an earlier node"
UNDEFINED: Final = f"which nothing defines: {DEFINED}"
IN_CYCLE: Final = f"which comes from a cycle of nodes: {DEFINED}"
MANY: Final = "it has 100 inputs: expected `data` and `indices`"
WIDE: Final = (
    "index 0 at `[0]` reads position 4611686018427387903 of `data`: "
    "expected 2147483647 at most where positions have 32 bits"
)

ODD: Final[list[tuple[str, Content, str]]] = [
    ("with a name of bytes", WHOLE.replace(b"pick", b"\xff\xfe\xfd\xfc"), NONE),
    ("of an operator of bytes", WHOLE.replace(b"Gather", b"\xff\xfether"), EMPTY),
    (
        "with an index behind a shape it does not have",
        through(helper.make_node("Reshape", ["c", "s"], ["i"]), c=[0, 1], s=[3]),
        OPEN,
    ),
    (
        "with an index behind axes it does not have",
        through(helper.make_node("Unsqueeze", ["c", "s"], ["i"]), c=[0, 1], s=[9, -9]),
        OPEN,
    ),
    (
        "with indices that need themselves",
        through(*CIRCLE),
        found("undefined", f"`indices` depends on `j`, {IN_CYCLE}"),
    ),
    (
        "with a node that needs its own output",
        through(helper.make_node("Identity", ["i"], ["i"])),
        found("undefined", f"`indices` is `i`, {IN_CYCLE}"),
    ),
    (
        "with indices that nothing defines",
        through(),
        found("undefined", f"`indices` is `i`, {UNDEFINED}"),
    ),
    (
        "with indices of an empty name",
        changed(lambda model: model.graph.node[0].input.__setitem__(1, "")),
        found("inputs", "`indices` is left out: expected a value"),
    ),
    (
        "with an escape in a name that nothing defines",
        changed(lambda model: model.graph.node[0].input.__setitem__(1, "\x1b[2J")),
        found("undefined", f"`indices` is `\\x1b[2J`, {UNDEFINED}"),
    ),
    ("with a constant without a value", through(helper.make_node("Constant", [], ["i"])), OPEN),
    ("with a function that calls itself", recursive, EMPTY),
    ("with fields of later versions", WHOLE + field(999, b"x" * 100), NONE),
    ("with 100000 empty nodes", field(1, 2) + field(GRAPH, b"\x0a\x00" * 100_000), EMPTY),
    ("with branches 60 deep", nested(60), EMPTY),
    (
        "of opset 0",
        changed(lambda _: None, opset=0),
        found("version", f"no version `onnx-0` of gather: expected {ROWS}"),
    ),
    (
        "of opset 2^63-1",
        changed(lambda _: None, opset=(1 << 63) - 1),
        found("version", f"no version `onnx-{(1 << 63) - 1}` of gather: expected {ROWS}"),
    ),
    (
        "of opset -1",
        changed(lambda _: None, opset=-1),
        found("version", f"no version `onnx--1` of gather: expected {ROWS}"),
    ),
    (
        "with the axis 2^63-1",
        attribute(i=(1 << 63) - 1, type=2),
        found("axis-range", f"`axis` is {(1 << 63) - 1}, but `data` has rank 2: expected -2 to 1"),
    ),
    (
        "with an axis of a fraction",
        attribute(f=0.5, type=1),
        found("axis-type", "`axis` is 0.5: expected one integer"),
    ),
    (
        "with an axis of words",
        attribute(s=b"one", type=3),
        found("axis-type", "`axis` is `one`: expected one integer"),
    ),
    (
        "with an axis of escapes",
        attribute(s=b"\x1b[31m", type=3),
        found("axis-type", r"`axis` is `\x1b[31m`: expected one integer"),
    ),
    (
        "with an axis of many numbers",
        attribute(ints=[0, 1], type=7),
        found("axis-type", "`axis` is [0, 1]: expected one integer"),
    ),
    (
        "with an axis of no type",
        attribute(),
        found("axis-type", "`axis` has another type: expected one integer"),
    ),
    (
        "with a hundred inputs",
        changed(lambda model: model.graph.node[0].input.extend(["data"] * 98)),
        found("inputs", MANY),
    ),
    ("with data of a negative size", one_gather(data=[-5], indices=[0]).SerializeToString(), OPEN),
    (
        "with data of 2^62 by 2^62",
        one_gather(data=[1 << 62] * 2, indices=[0]).SerializeToString(),
        found("position-width", WIDE, "warning"),
    ),
    (
        "with an escape in a name",
        WHOLE.replace(b"pick", b"\x1b[2J"),
        "1 model, 1 node: 1 proven; no finding\n",
    ),
    (
        "with names that repeat",
        through(
            helper.make_node("Gather", ["data", "i"], ["a"], name="pick"),
            helper.make_node("Gather", ["data", "i"], ["b"], name="pick"),
            i=[0],
        ),
        "1 model, 3 nodes: 3 proven; no finding\n",
    ),
]
"""What is answered: a sentence, the bytes, the output."""


def _surroundings() -> None:
    """Make what tensors may be said to be in, none of which may be read."""
    Path("../secret").write_bytes(b"root:x:0")
    Path("secret").write_bytes(bytes(16))
    os.symlink("secret", "link")
    os.symlink(".", "links")
    os.mkdir("folder")
    os.mkfifo("fifo")


def malformed(
    sentence: str, line: str, content: bytes, rule: str, message: str, **fields: Any
) -> Case:
    """Write down a model of which one tensor is malformed: a finding."""
    (proto,) = onnx.ModelProto.FromString(content).graph.initializer
    start = content.index(proto.SerializeToString())
    place = f"x.onnx: error: the tensor at byte {start}, `indices`"
    return Case(
        id=f"model {sentence}".replace(" ", "-"),
        argv=tuple(line.split()),
        status=1,
        files={"x.onnx": content},
        out=f"{place}: {message}  [{rule}]\n1 model, 1 node: 1 not read; 1 error\n",
        **fields,
    )


CASES: Final[list[Case]] = [
    *(
        refused(
            f"model {sentence}",
            "check x.onnx",
            rule,
            "error: x.onnx: ",
            words,
            files={"x.onnx": content},
        )
        for sentence, content, rule, words in ONNX
    ),
    *(
        refused(
            f"model whose tensor is {sentence}",
            "check x.onnx --external-data",
            rule,
            "error: x.onnx: the tensor at byte",
            words,
            status=66,
            files={"x.onnx": external(**entries)},
            setup=_surroundings,
        )
        for sentence, entries, rule, words in UNREADABLE
    ),
    *(
        malformed(
            f"whose tensor is {sentence}",
            "check x.onnx --external-data",
            external(**entries),
            rule,
            message,
            setup=_surroundings,
        )
        for sentence, entries, rule, message in EXTERNAL
    ),
    *(
        malformed(f"with indices {sentence}", "check x.onnx", content, rule, message)
        for sentence, content, rule, message in TENSORS
    ),
    *(
        Case(
            id=f"model {sentence}".replace(" ", "-"),
            argv=("check", "x.onnx", "--no-infer"),
            status=0 if "no finding" in out else 1,
            files={"x.onnx": content},
            out=out,
        )
        for sentence, content, out in ODD
    ),
    answered(
        "model whose tensor elsewhere is not asked for",
        "check x.onnx --allow-unread",
        "x.onnx: pick: note: `indices` is not checked: its elements are in another file, "
        "which is not opened  "
        "[unread]\n1 model, 1 node: 1 not read; 1 note\n",
        files={"x.onnx": external(location="../secret")},
    ),
]
