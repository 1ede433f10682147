"""The tensors that a page reads in its fields, beside those that the command reads."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections import Counter
from itertools import product
from typing import Any, Final

import pytest

from gathercli.compute.conversion import convert
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.explain.drawing.page import _values
from gathercli.explain.panel import Look
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.literal import parse
from gathercli.spec import dtypes
from tests.explain.drawing.test_answer import SCRIPT, models, run

TEXTS: Final = 1500
MOST_READ: Final = 6000
DTYPES: Final = ("i64", "i8", "u64", "i4", "bool", "str", "f64", "f32", "f16", "bf16", "c64")
# Reads texts in a script, and then what it writes of each.
ASKED: Final = """
const answers = texts.map(([text, dtype]) => {
  try {
    const made = read(text, dtype);
    const again = [nested(made, dtype), literal(made, dtype)].map((each) => read(each, dtype));
    const isSame = again.every(({ values }) => String(values) === String(made.values));
    return [made.shape, made.values, isSame];
  } catch (error) {
    return [null, String(error.message), true];
  }
});
"""
GOOD: Final = (
    *("3,0", "0,", "3", "-1,0", "+5", "01", "1.", ".5,1", "[]", "[[],[]]", "[[[]]]", "[0]"),
    *("2x3xi32=[[0 0 4][4 0 0]]", "2x3xi64=1 2 3 4 5 6", "3xi64=0", "xf32=1.5", "xi64=[5]"),
    *("arange:2x3", "arange:xf32", "arange:0", "zeros:2x0xi8", "zeros:xstr", "arange:4xi64"),
    *("zeros:2xbool", "arange:300xbf16", "arange:3000", "zeros:3", "0xi64=5", "2x0xf32="),
    *("[1.5,NaN]", '["NaN",1]', "nan,1", "inf,-Infinity", "NaN", "[0.1,1e-7]", "1e3", "1E2,5"),
    *('["a","b"]', '"a"', "2xstr='a' \"b\"", '["NaN"]', '["\\u00e9\\n"]', "[true,false]", "true"),
    *("TRUE,false", "2xc64=1+2j 3", "xc64=j", "[[1,2],[3,4]]", "2xc64=[1 2][3 4]", "[1,2]"),
    *("3xc64=nan+1j -j 1e-3-2j", "[2049]", "2049,", "[65520.0]", "1e39,", "1e400", "1e400,1"),
    *("[-0.0,-0]", "-0", "[0.30000000000000004]", "[123456789]", "1e20,1", "[1e16]", "2,2.0"),
    *("[1.015625,1.015635]", "123456.5", "123457.5", "0.001953125,2.5e-10", "1234565e3,"),
    *("2x2xint64=1,2,3,4", "2xfloat32=1.5 2.5", "2xi64=[1][2]", "2x1xi64=[1][2]", "1,2,\n3"),
)
BAD: Final = (
    *("", ",", "1,,2", "[+1]", "[01]", "[.5]", "[1.]", "[1,]", "[,1]", "[1 2]", "[1", "1]", "[1]]"),
    *("[1,[2]]", "[[1],[2,3]]", "[null]", "[a]", "a", "x", "nan", "1,a", "1 2", "j", "1+2j,"),
    *("arange:", "arange:2,", "arange:-1", "zeros:2x3xq9", "arange:2x3xi64,seed=1", "arange:2x"),
    *("2x3xi64=1 2", "2xi64=1 [2]", "xi64=", "xi64=1 2", "2xq7=1", "2xi64=]", "2xi64=[1", "x=1"),
    *('2xstr="a', "2xi64=a b", "['a']", '["\\ud800"]', '["a\\u0000"]', "[1]x", "[tru]", "- 1"),
    *("[1,true]", '[1,"a"]', "128,", "[-129]", "[9223372036854775808]", "18446744073709551616"),
    *(
        "0x1",
        "1_000",
        "\uff11,",
        "[1e]",
        "--1",
        "1e5j",
        "[NaN,a]",
        "[Infinit]",
        "[-NaN]",
        "2xi64=1;2",
    ),
)


def texts() -> list[tuple[str, str]]:
    """Return the texts above for every type, and others that differ from one by a character."""
    rng = random.Random(8)  # noqa: S311
    known = list(product((*GOOD, *BAD), DTYPES))
    while len(known) < TEXTS + len((*GOOD, *BAD)) * len(DTYPES):
        text, dtype = rng.choice(GOOD), rng.choice(DTYPES)
        at = rng.randrange(len(text) + 1)
        other = rng.choice("0123456789.,-+e[] x=j\"'ai")
        known.append((text[:at] + other + text[at + rng.randrange(2) :], dtype))
    return [(text, dtype) for text, dtype in known if text == text.strip()]


def command_reads(text: str, short: str) -> list[Any] | None:
    """Return the shape and elements, as a picture has them, of an argument; None if refused."""
    wanted = dtypes.dtype(short)
    try:
        tensor = parse(text, ElementTypes(wanted), 10**6)
        if tensor is None or tensor.array.size > MOST_READ:
            return None
        if tensor.dtype is not wanted:
            if not re.fullmatch(r"(arange|zeros):[\dx]+", text):
                return None  # the text has another type, and a field has one
            tensor = convert(tensor, wanted)
        flat = Tensor(tensor.dtype, tensor.array.reshape(-1))
        return [list(tensor.shape), _values(flat, Look(None))["texts"]]
    except GatherError:
        return None


@pytest.mark.no_cover
def test_a_field_reads_a_text_as_the_command_does(request: pytest.FixtureRequest) -> None:
    asked = texts()

    got = run(f"{SCRIPT}\nconst texts = {json.dumps(asked)};\n{ASKED}", request)

    wrong = []
    for (text, dtype), (shape, values, is_same) in zip(asked, got, strict=True):
        wanted = command_reads(text, dtype)
        made = None if shape is None else [shape, values]
        if made != wanted or not is_same:
            wrong.append((text, dtype, made or values, wanted, is_same))
    assert not wrong, wrong
    counts = Counter(shape is None for shape, *_ in got)
    assert min(counts[True], counts[False]) > TEXTS / 4


@pytest.mark.no_cover
def test_a_copied_command_has_the_tensors_of_the_page(request: pytest.FixtureRequest) -> None:
    asked = [each for each in texts() if command_reads(*each) is not None]
    (_, _, model), *_ = models()
    script = f"""{SCRIPT}
const model = {json.dumps(model)};
const attrs = {{ axis: null, batch_dims: null }};
const answers = {json.dumps(asked)}.map(([text, dtype]) => {{
  const input = read(text, dtype);
  model.inputs.forEach((each) => {{ each.dtype = dtype; }});
  return commandOf(model, {{ version: model.version, attrs, inputs: [input, input] }});
}});
"""

    got = run(script, request)

    for (text, dtype), command in zip(asked, got, strict=True):
        for word in shlex.split(command)[3:5]:
            tensor = parse(word)
            assert tensor is not None, command
            flat = Tensor(tensor.dtype, tensor.array.reshape(-1))
            read = [list(tensor.shape), _values(flat, Look(None))["texts"]]
            assert (tensor.dtype.short, read) == (dtype, command_reads(text, dtype)), command
