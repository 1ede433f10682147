"""OpenVINO IR with entities, circles, and constants that are not in its .bin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tests.hostile.case import Case, refused
from tests.hostile.models import EMPTY, OPEN, found
from tests.modelfiles import Ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.case import Content


def ir(change: Callable[[str], str] = str, **options: Any) -> str:
    """Return the text of an IR of one Gather after a change."""
    return change(_layers(**options).text)


def _layers(**data: Any) -> Ir:
    net = Ir()
    inputs = [net.parameter("data", "f32", [10, 3]), net.constant("i", np.array([0, 3]))]
    inputs.append(net.constant("axis", np.array(0)))
    net.result(net.layer("pick", "Gather", inputs, "f32", [2, 3], **({"batch_dims": 0} | data)))
    return net


def put(old: str, new: str) -> str:
    """Return an IR with a part replaced, once."""
    text = ir()
    if old not in text:
        raise ValueError(old)
    return text.replace(old, new, 1)


def entities() -> bytes:
    """Return an IR with entities that swell to 10^9 characters."""
    lines = "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' if n else '<!ENTITY e0 "ha">' for n in range(10)
    )
    text = put("<net", f"<!DOCTYPE net [{lines}]><net")
    return text.replace('name="pick"', 'name="&e9;"').encode()


DEEP: Final = "<a>" * 100_000

IR: Final[list[tuple[str, Content, str, str]]] = [
    ("with entities", entities, "format", "the .xml has a DOCTYPE"),
    (
        "with an entity in a file",
        put("<net", '<!DOCTYPE n [<!ENTITY e SYSTEM "secret">]><net'),
        "format",
        "the .xml has a DOCTYPE",
    ),
    (
        "with a type in a file",
        put("<net", '<!DOCTYPE net SYSTEM "secret"><net'),
        "format",
        "the .xml has a DOCTYPE",
    ),
    ("cut in half", ir(lambda text: text[: len(text) // 2]), "format", "the file is truncated"),
    ("without its last tag", put("</net>", ""), "format", "the file is truncated"),
    ("with text behind it", put("</net>", "</net><net/>"), "format", "it is not XML"),
    (
        "with an element 100000 deep",
        put("<layers>", "<layers>" + DEEP),
        "limit",
        "the .xml has too many or too deep elements",
    ),
    (
        "with an attribute twice",
        put('type="Gather"', 'type="Gather" type="Gather"'),
        "format",
        "it is not XML",
    ),
    ("with an escape in a name", put('name="pick"', 'name="&#27;[31m"'), "format", "it is not XML"),
    ("with a NUL", put('name="pick"', 'name="\0"'), "format", "it is not XML"),
    (
        "in an unknown encoding",
        put('version="1.0"', 'version="1.0" encoding="x-none"'),
        "format",
        "it is not XML: unknown encoding: x-none",
    ),
    (
        "in bytes that are no UTF-8",
        lambda: ir().encode().replace(b"pick", b"\xff\xfe"),
        "format",
        "it is not XML",
    ),
    ("of version 3", put('version="11"', 'version="3"'), "format", "the IR has version 3"),
    ("of no version", put(' version="11"', ""), "format", "the IR has version 0"),
    (
        "of version words",
        put('version="11"', 'version="new"'),
        "format",
        "the version of the IR is `new`",
    ),
    (
        "with a layer without an id",
        put('<layer id="3"', "<layer"),
        "format",
        "an edge names the layer `3`",
    ),
    (
        "with an id twice",
        put('<layer id="1"', '<layer id="0"'),
        "format",
        "two layers have the id `0`",
    ),
    (
        "with an id of words",
        put('<layer id="1"', '<layer id="one"'),
        "format",
        "an edge names the layer `1`",
    ),
    (
        "with an edge from nowhere",
        put('from-layer="0"', 'from-layer="77"'),
        "format",
        "an edge names the layer `77`",
    ),
    (
        "with two edges into a port",
        put("</edges>", '<edge from-layer="1" from-port="0" to-layer="3" to-port="0"/></edges>'),
        "format",
        "two edges lead to the port `0` of `3`",
    ),
    (
        "with a layer that needs itself",
        put(
            'from-layer="0" from-port="0" to-layer="3"', 'from-layer="3" from-port="3" to-layer="3"'
        ),
        "format",
        "the layers of a body form a cycle",
    ),
    (
        "with a dimension of words",
        put("<dim>2</dim><dim>3</dim>", "<dim>two</dim>"),
        "format",
        "a dimension is `two`",
    ),
    (
        "with a dimension of -2",
        put("<dim>2</dim><dim>3</dim>", "<dim>-2</dim>"),
        "format",
        "a dimension is `-2`",
    ),
    (
        "with a dimension of 2^70",
        put("<dim>2</dim><dim>3</dim>", f"<dim>{1 << 70}</dim>"),
        "format",
        "a dimension is `",
    ),
    (
        "with an input of a negative shape",
        put('shape="10,3"', 'shape="-10,3"'),
        "shape-text",
        "the shape `[-10,3]`: `-10` is not a dimension",
    ),
    (
        "with an input of a shape of 2^70",
        put('shape="10,3"', f'shape="{1 << 70},3"'),
        "shape-text",
        "the shape `[",
    ),
    (
        "with an empty interval",
        put('shape="10,3"', 'shape="9..5,3"'),
        "shape-text",
        "the shape `[9..5,3]`: the interval `9..5` is empty",
    ),
]
"""IR that is refused: a sentence, the text, the rule, words."""


POSITIVE: Final = "expected an integer of 0 or more"

CONSTANTS: Final[list[tuple[str, Content, str, str]]] = [
    (
        "with a constant past the end",
        put('offset="0"', 'offset="4096"'),
        "format",
        "its elements are at bytes 4096 to 4112, but the .bin has only 24 bytes: "
        "expected them inside the .bin",
    ),
    (
        "with a constant before the start",
        put('offset="0"', 'offset="-16"'),
        "format",
        f"its offset is `-16`: {POSITIVE}",
    ),
    (
        "with a constant at 2^70",
        put('offset="0"', f'offset="{1 << 70}"'),
        "format",
        f"its offset is `{str(1 << 70)[:40]}`: {POSITIVE}",
    ),
    (
        "with a constant at words",
        put('offset="0"', 'offset="0x0"'),
        "format",
        f"its offset is `0x0`: {POSITIVE}",
    ),
    (
        "with a constant at 5000 digits",
        put('offset="0"', f'offset="{"9" * 5000}"'),
        "format",
        f"its offset is `{'9' * 40}...`: {POSITIVE}",
    ),
    (
        "with a constant of another size",
        put('size="16"', 'size="8"'),
        "format",
        "the tensor has 8 bytes of elements: expected 16, for [2] of int64",
    ),
    (
        "with a constant of a negative size",
        put('size="16"', 'size="-16"'),
        "format",
        f"its size is `-16`: {POSITIVE}",
    ),
    (
        "with a constant of 2^124 elements",
        put('shape="2"', f'shape="{1 << 62}, {1 << 62}"'),
        "limit",
        f"the tensor has the shape [{1 << 62}, {1 << 62}]: "
        "expected rank at most 64 and less than 2^63 bytes",
    ),
    (
        "with a constant of a negative shape",
        put('shape="2"', 'shape="-2"'),
        "shape-text",
        "the shape `[-2]`: `-2` is not a dimension",
    ),
    (
        "with a constant of an unknown type",
        put('element_type="i64"', 'element_type="i65"'),
        "dtype",
        "its type is `i65`: expected a type of OpenVINO",
    ),
]
"""IR with a malformed constant: a sentence, the text, the rule, the message."""


ODD_IR: Final[list[tuple[str, Content, str]]] = [
    ("with a layer without a type", put(' type="Gather"', ""), EMPTY),
    (
        "with an edge from no port",
        put('from-port="0"', 'from-port="7"'),
        found(
            "undefined",
            "`data` comes from the port `7` of `data`: expected an output port of the layer",
        ).replace("x.onnx", "x.xml"),
    ),
    ("with a symbol for a size", put('shape="10,3"', 'shape="ten,3"'), OPEN),
    (
        "with batch dimensions of words",
        ir(batch_dims="many"),
        found("batch-dims-range", "`batch_dims` is `many`: expected one integer").replace(
            "x.onnx", "x.xml"
        ),
    ),
]


def _weights() -> None:
    Path("x.bin").write_bytes(_layers().weights)


CASES: Final[list[Case]] = [
    *(
        refused(
            f"IR {sentence}",
            "check x.xml",
            rule,
            "error: x.xml: ",
            words,
            files={"x.xml": content},
            setup=_weights,
        )
        for sentence, content, rule, words in IR
    ),
    *(
        Case(
            id=f"IR {sentence}".replace(" ", "-"),
            argv=("check", "x.xml"),
            status=0 if "no finding" in out else 1,
            files={"x.xml": content},
            out=out,
            setup=_weights,
        )
        for sentence, content, out in ODD_IR
    ),
    *(
        Case(
            id=f"IR {sentence}".replace(" ", "-"),
            argv=("check", "x.xml"),
            status=1,
            files={"x.xml": content},
            out=f"x.xml: error: the constant `i`: {message}  [{rule}]\n"
            "1 model, 1 node: 1 not read; 1 error\n",
            setup=_weights,
        )
        for sentence, content, rule, message in CONSTANTS
    ),
]
