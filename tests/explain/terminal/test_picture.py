"""Pictures in characters: widths, colours, letters, gaps, facets."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import assume, given
from rich.cells import cell_len
from rich.color import Color, ColorSystem

import gathercli
from gathercli.explain.drawing.explanation import scene_of
from gathercli.explain.panel import ASCII, HUES, Look
from gathercli.explain.terminal.picture import panels_of, picture_of
from tests.explain.drawing.test_explanation import Call, calls
from tests.explain.test_gather_provenance import explain_case
from tests.random_calls import Dice, amply, every_row, legal_case, moderately, seeds

if TYPE_CHECKING:
    from gathercli.spec.op import Op
    from tests.conftest import Program, Run


SLICES: Final = """\
Gather   axis 0   batch_dims 0   out[i, s] = data[indices[i], s]
openvino.Gather-8   for i in 0..3, s in 0..2

indices i64[4]    data i64[4,3]      out i64[4,3]
                        0   1   2          0   1   2
A 0   3           B 0  10  11  12    A 0  19  20  21   data[3,:]
B 1   0             1  13  14  15    B 1  10  11  12   data[0,:]
A 2  -1 → 3         2  16  17  18    A 2  19  20  21   data[3,:]
· 3  99 → none    A 3  19  20  21    · 3   0   0   0   zeros

· zero-filled   no letter: not read
the index takes the place of coordinate 0 of data:
  out[0,1] = data[indices[0],1] = data[3,1] = 20
  out[2,1] = data[indices[2],1] = data[-1 → 3,1] = 20
  out[3,1] = data[indices[3],1] = data[99 → none,1] = 0

shape  data[:0] + indices[0:] + data[1:]  =  [] + [4] + [3]  =  [4,3]
read   2 of 4 slices of data
"""


ELEMENTS: Final = """\
GatherElements   axis 0   out[i, j] = data[indices[i, j], j]
openvino.GatherElements-6   for i in 0..1, j in 0..2

indices i64[2,3]    data i64[3,3]         out i64[2,3]
     0    1    2           0    1    2         0    1    2
0  A 1  B 0  C 1    0      1  B 2  E 3    0  A 4  B 2  C 6
1  A 1  D 2  E 0    1  A@2 4    5  C 6    1  A 4  D 8  E 3
                    2      7  D 8    9

A data[1,0]   B data[0,1]   C data[1,2]   D data[2,1]   E data[0,2]
@n read n times   no letter: not read
the index takes the place of coordinate 0 of data; coordinate 1 stays:
  out[0,2] = data[indices[0,2],2] = data[1,2] = 6

shape  indices[0:]  =  [2,3]
read   5 of 9 cells of data
""".replace("@", "\N{MULTIPLICATION SIGN}")


BATCHES: Final = """\
Gather   axis 1   batch_dims 1   out[p, i] = data[p, indices[p, i]]
openvino.Gather-8   for p in 0..1, i in 0..2
data i64[2,5]   indices i64[2,3]   out i64[2,3]

batch 0                             batch 1
               0    1    2                         0    1     2
indices      A 0  A 0  B 4          indices      C 4  D 0  C -1 → 4

                 0  1  2  3    4                   0  1  2  3      4
data         A@2 0  1  2  3  B 4    data         D 5  6  7  8  C@2 9

               0    1    2                         0    1    2
out          A 0  A 0  B 4          out          C 9  D 5  C 9

A data[0,0]   B data[0,4]   C data[1,4]   D data[1,0]   @n read n times
no letter: not read
the index takes the place of coordinate 1 of data:
  out[1,0] = data[1,indices[1,0]] = data[1,4] = 9
  out[1,2] = data[1,indices[1,2]] = data[1,-1 → 4] = 9

shape  data[:1] + indices[1:] + data[2:]  =  [2] + [3] + []  =  [2,3]
read   4 of 10 cells of data
""".replace("@", "\N{MULTIPLICATION SIGN}")


COLUMNS: Final = """\
Gather   axis 1   batch_dims 0   out[p, i] = data[p, indices[i]]
openvino.Gather-8   for p in 0..1, i in 0..1

                      0    1
indices i64[2]      A 4  B 0

                     B           A
                     0  1  2  3  4
data i64[2,5]     0  0  1  2  3  4
                  1  5  6  7  8  9

                     A  B
                     0  1
out i64[2,2]      0  4  0
                  1  9  5

A data[:,4]   B data[:,0]   no letter: not read
the index takes the place of coordinate 1 of data:
  out[1,0] = data[1,indices[0]] = data[1,4] = 9

shape  data[:1] + indices[0:] + data[2:]  =  [2] + [2] + []  =  [2,2]
read   2 of 5 slices of data
"""


ROWS: Final = "[[10,11,12],[13,14,15],[16,17,18],[19,20,21]]"


DATA_3: Final = "[[1,2,3],[4,5,6],[7,8,9]]"


@every_row
@moderately
@given(seed=seeds)
def test_a_picture_fits_the_width_and_ascii_is_ascii(op: Op, seed: int) -> None:
    dice = Dice(seed)
    explanation = explain_case(op, legal_case(op, dice))
    width = dice.one_of((80, 100, 120))
    for look in (Look(width), Look(width, marks=ASCII)):
        text = picture_of(explanation, look).plain
        own = text.split("\n\nshape ")[0].split("\n\n", 1)[-1]  # below the equation
        tables = re.sub(r"(?m)^(the (index|tuple)|  out).*\n", "", own + "\n")
        assert max(map(cell_len, tables.split("\n"))) <= width
        assert not re.search(r"(?m) $", text)
    assert text.isascii()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("gather", ROWS, "3,0,-1,99"), SLICES),
        (("gather-elements", DATA_3, "[[1,0,1],[1,2,0]]", "-a", "0"), ELEMENTS),
        (("gather", "arange:2x5", "[[0,0,4],[4,0,-1]]", "-a", "1", "-b", "1"), BATCHES),
        (("gather", "arange:2x5", "4,0", "-a", "1"), COLUMNS),
    ],
    ids=["slices", "elements", "batches", "columns"],
)
def test_a_picture_is_drawn_on_a_terminal_of_80_columns(
    run: Run, words: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("explain", *words, terminal=(1,)) == (0, expected, run("explain", *words).err)


ROW: Final = """\
Gather   axis 0   batch_dims 0   out[i] = data[indices[i]]   openvino.Gather-8
for i in 0..2

                       0         1    2
indices i64[3]      A -1 -> 3  B 0  . 9 -> none

                         0   1   2     3
data f64[4]         B 10.5  20  30  A 40

                       0       1    2
out f64[3]          A 40  B 10.5  . 0

A data[3]   B data[0]   . zero-filled   no letter: not read
"""


@pytest.mark.parametrize("width", ["80", "120"])
def test_vectors_are_rows_below_each_other(
    run: Run, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("NO_COLOR", "1")
    words = ("explain", "gather", "[10.5,20,30,40]", "-1,0,9", "--ascii", "-q")

    out = run(*words, terminal=(1,)).out

    assert out.startswith(ROW if width == "80" else ROW.replace("\nfor", "   for"))


def test_vectors_too_wide_for_rows_stand_upright(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ("explain", "gather", "rand:200", "rand:300xi64,high=200", "--color", "never")

    out = run(*words, terminal=(1,)).out

    assert "\nindices i64[300]    data f64[200]        out f64[300]\nA   0  170 " in out
    assert "\n6 of 300 cells of out shown; --window chooses others\n" in out


def rows_in(lines: list[str]) -> set[str]:
    """Return the vectors whose coordinates are on the line above them."""
    return {
        match[1]
        for above, line in pairwise(lines)
        if (match := re.match(r"(data|indices|out) i64\[\d+\] {4,}\D", line))
        and len(above.split()) > 1
    }


@amply
@given(call=calls())
def test_a_vector_is_a_row_in_a_terminal_as_in_a_drawing(call: Call) -> None:
    explanation = call.explained()
    assume(len(call.shape) == 1 and explanation.size > 1)

    text = picture_of(explanation, Look(400)).plain
    scene = scene_of(explanation, Look(None))

    drawn = dict[str, set[float]]()
    for cell in scene.cells:
        drawn.setdefault(cell.tensor, set()).add(cell.box.y)
    flat = {"data", *(["indices", "out"] if call.indices.ndim == 1 else [])}
    assert all(len(drawn[name]) == 1 for name in flat)
    sizes = {"data": call.shape[0], "indices": call.indices.size, "out": call.indices.size}
    assert rows_in(text.splitlines()) >= {name for name in flat if sizes[name] > 1}


@amply
@given(call=calls())
def test_the_way_that_a_drawing_marks_is_traced_in_a_terminal(call: Call) -> None:
    explanation = call.explained()

    scene = scene_of(explanation, Look(None))
    text = picture_of(explanation, Look(240)).plain

    (legend,) = (each.text for each in scene.captions if "thick: the way to " in each.text)
    cell = re.findall(r"thick: the way to (out\[[\d,]*\])", legend)[0]
    (picture,) = re.findall(r"(?s)the (?:index|tuple) [^\n]*:\n(.*?)\n\n", text)
    assert f"  {cell if cell != 'out[]' else 'out'} = " in picture


def test_colour_marks_the_same_as_the_letters(program: Program) -> None:
    fills = [";".join(str(int(hue.fill[at : at + 2], 16)) for at in (1, 3, 5)) for hue in HUES]
    line = "$G explain gather '[10,20]' 1,0 --color"

    out = program(f"COLORTERM=truecolor {line} always").stdout.decode()

    for letter, number, fill in (("A", "20", fills[0]), ("B", "10", fills[1])):
        assert len(re.findall(rf"48;2;{fill}m {letter} {number}[ \x1b]", out)) == 2
        assert out.count(f"\x1b[38;2;0;0;0;48;2;{fill}m{letter}\x1b[0m") == 1  # its meaning
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert re.sub(" +\n", "\n", plain) == program(f"{line} never").stdout.decode()


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ("COLORTERM=truecolor TERM=xterm", "38;2;0;0;0;48;2;70;217;247"),
        ("TERM=tmux-256color", "38;5;16;48;5;81"),
        ("TERM=xterm", "30;106"),
    ],
    ids=["all", "256", "16"],
)
def test_a_terminal_gets_the_colours_it_has(environment: str, code: str, program: Program) -> None:
    line = f"{environment} $G explain gather '[10,20]' 1,0 --color always"

    assert f"\x1b[{code}m A 1 \x1b[0m" in program(line).stdout.decode()


def test_fills_end_at_the_width_of_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("explain", "gather", "arange:3x40", "2,0", "--color", "always")
    for width in range(40, 60):
        monkeypatch.setenv("COLUMNS", str(width))

        out = run(*words, terminal=(1,)).out

        table = re.sub(r"\x1b\[[0-9;]*m", "", out).split("\n\n")[1]
        assert max(map(cell_len, table.splitlines())) <= width


HEADING: Final = re.compile(
    r"(?:openvino|onnx)\.\w+-.*|Gather\w* .*|for \w+ in .*|batch \d.*"
    r"|(?:data|indices|out)\b(?!(?: i64\S*)? {4,}(?!(?:data|out)\b)\S).*"
    r"| *\[[\d:,]+\].*"
    r"|the index .*|shape  .*|read  .*|\$ .*|Try|  gathercli .*"
)


@pytest.mark.parametrize(
    ("words", "headings"),
    [
        (("explain", "gather", "[10,20]", "1,0"), 4),
        (("explain", "gather", "arange:2x5", "[[0,4],[4,0]]", "-a", "1", "-b", "1"), 7),
        (("explain", "gather-elements", "arange:2x2x2", "[[[0,1]]]", "-V", "onnx-13"), 8),
        (("explain", "gather-elements", "arange:2x2x2", "[[[0]],[[1]]]", "-V", "13", "-a", "2"), 8),
        (("demo", "batch-dims"), 10),
    ],
    ids=["slices", "batches", "facets", "panels", "lesson"],
)
def test_no_heading_has_the_colour_of_a_letter(
    run: Run, words: tuple[str, ...], headings: int
) -> None:
    fills = [Color.parse(hue.fill).downgrade(ColorSystem.EIGHT_BIT) for hue in HUES]
    codes = tuple(";".join(fill.get_ansi_codes(foreground=False)) for fill in fills)

    lines = run(*words, "--color", "always").out.splitlines()

    colored = [
        any(word.endswith(codes) for word in re.findall(r"\x1b\[([0-9;]*)m", line))
        for line in lines
    ]
    is_heading = [
        bool(HEADING.fullmatch(re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip())) for line in lines
    ]
    assert sum(is_heading) == headings
    assert any(colored)
    assert not [line for line, *both in zip(lines, colored, is_heading, strict=True) if all(both)]


def test_a_letter_x_is_no_count_in_ascii(run: Run) -> None:
    rows = ",".join(f"[{','.join([str(row)] * 5)}]" for row in range(6))
    words = ("gather-elements", "arange:6x5", f"[{rows}]", "-a", "0", "--ascii")
    assert "read n times" not in run("explain", *words).out
    assert "*n read n times" in run("explain", "gather", "[5]", "0,0", "--ascii").out


def test_leading_dimensions_are_facets_or_panels(run: Run) -> None:
    ran = run("explain", "gather", "arange:3x4x2x3x2", "[[1,-1],[0,3]]", "-a", "1")
    assert "[0,1,0,:,:]  A" in ran.out
    assert "[0,0,1,0,:,:]  B" in ran.out
    ran = run("explain", "gather-elements", "arange:2x2x2", "zeros:2x2x1xi64", "-a", "2")
    assert re.findall(r"\[\d,:,:\]", ran.out) == ["[0,:,:]", "[1,:,:]"]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ('["a\\u001b[31m","[link=x]y"]', 'A "a\\x1b[31m"'),
        ("[true,false]", "A true"),
        ("xc64=1+2j", None),
        ("2xc64=1+2j 3", "A 1+2j"),
        ("2xf64=1.5 nan", "A 1.5"),
        ("2xi64=-9223372036854775808 1", "A -9223372036854775808"),
        ("2xbf16=0.1 1", "A 0.100098"),
    ],
)
def test_every_type_of_value_is_shown(run: Run, data: str, shown: str | None) -> None:
    ran = run("explain", "gather", data, "0,")
    assert ran.status == (65 if shown is None else 0)
    assert shown is None or shown in ran.out


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("zeros:0x3", "[]"), "empty: no elements"),
        (("zeros:0x3", "[1]", "-q"), "· 0  0  0  0   zeros"),
        (("zeros:3x0x2", "1,2"), "empty: no elements"),
        (("zeros:3x0x2", "1,2", "-a", "1", "-q"), "· 1  0  0   zeros"),
        (("arange:2x3", "2x0xi64=", "-a", "1", "-b", "1"), "read   0 of 6 cells of data"),
    ],
    ids=" ".join,
)
def test_a_picture_says_that_a_tensor_is_empty(run: Run, words: tuple[str, ...], out: str) -> None:
    ran = run("explain", "gather", *words)
    assert (ran.status, ran.err) == (0, "")
    assert out in ran.out


SMALL_CALLS: Final = (
    ("gather", [[10, 200], [30, 4], [5, 60]], [2, 0, -1, 9]),
    ("gather", np.arange(4.0) / 3, [[3, -1], [0, 2]]),
    ("gather", ["a", "bcd"], [1, 0, -1]),
    ("gather-nd", np.arange(12).reshape(2, 3, 2), [[1, 2], [0, -1]]),
    ("gather-tree", [[[1, 2]], [[30, 4]], [[5, 6]]], [[[0, 0]], [[1, 0]], [[1, 1]]], [3], 9),
)


@pytest.mark.parametrize("call", SMALL_CALLS, ids=str)
def test_no_step_moves_a_column(call: tuple[Any, ...]) -> None:
    explanation = gathercli.explain(*call)

    screens = [
        panels_of(explanation, Look(80, height=20, here=trace.out)).plain
        for trace in explanation.cells()
    ]

    still = [re.sub(r"(?m) +$", "", re.sub(r"[][]", " ", screen)) for screen in screens]
    assert len(set(screens)) == len(screens)
    assert len(set(still)) == 1, "\n".join(still[:2])
