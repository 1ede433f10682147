"""Pictures in characters: widths, colours, letters, gaps, facets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from rich.cells import cell_len
from rich.color import Color, ColorSystem

import gathercli
from gathercli.explain.panel import ASCII, Look
from gathercli.explain.terminal import picture
from gathercli.explain.terminal.layout import draw
from gathercli.explain.terminal.picture import panels_of, picture_of
from gathercli.report.palette import HUES
from tests.explain.test_gather_provenance import explain_case
from tests.random_calls import (
    Dice,
    every_row,
    legal_case,
    moderately,
    seeds,
)

if TYPE_CHECKING:
    from gathercli.explain.panel import Line, Marks, PanelTensor
    from gathercli.spec.op import Op
    from tests.conftest import Program, Run


SLICES: Final = """\
openvino.Gather-8   axis 0   batch_dims 0   out[i, s] = data[indices[i], s]
for i in 0..3, s in 0..2

data i64[4,3]      indices i64[4]    out i64[4,3]
      0   1   2                            0   1   2
b 0  10  11  12    a 0   3           a 0  19  20  21   data[3,:]
  1  13  14  15    b 1   0           b 1  10  11  12   data[0,:]
  2  16  17  18    a 2  -1 → 3       a 2  19  20  21   data[3,:]
a 3  19  20  21    · 3  99 → none    · 3   0   0   0   zeros

· zero-filled   no letter: not read
the index takes the place of coordinate 0 of data:
  out[2,1] = data[indices[2],1] = data[-1 → 3,1] = 20
  out[3,1] = data[indices[3],1] = data[99 → none,1] = 0
  out[0,1] = data[indices[0],1] = data[3,1] = 20

shape  data[:0] + indices[0:] + data[1:]  =  [] + [4] + [3]  =  [4,3]
read   2 of 4 slices of data
"""


ELEMENTS: Final = """\
openvino.GatherElements-6   axis 0   out[i, j] = data[indices[i, j], j]
for i in 0..1, j in 0..2

data i64[3,3]         indices i64[2,3]    out i64[2,3]
       0    1    2         0    1    2         0    1    2
0      1  b 2  e 3    0  a 1  b 0  c 1    0  a 4  b 2  c 6
1  a@2 4    5  c 6    1  a 1  d 2  e 0    1  a 4  d 8  e 3
2      7  d 8    9

a data[1,0]   b data[0,1]   c data[1,2]   d data[2,1]   e data[0,2]
@n read n times   no letter: not read
the index takes the place of coordinate 0 of data; coordinate 1 stays:
  out[0,2] = data[indices[0,2],2] = data[1,2] = 6

shape  indices[0:]  =  [2,3]
read   5 of 9 cells of data
""".replace("@", "\N{MULTIPLICATION SIGN}")


BATCHES: Final = """\
openvino.Gather-8   axis 1   batch_dims 1   out[p, i] = data[p, indices[p, i]]
for p in 0..1, i in 0..2
data i64[2,5]   indices i64[2,3]   out i64[2,3]

batch 0                          batch 1
data        indices    out       data        indices        out
a@2 0  0    a 0  0     a 0  0    d   0  5    c 0   4        c 0  9
    1  1    a 1  0     a 1  0        1  6    d 1   0        d 1  5
    2  2    b 2  4     b 2  4        2  7    c 2  -1 → 4    c 2  9
    3  3                             3  8
b   4  4                         c@2 4  9

a data[0,0]   b data[0,4]   c data[1,4]   d data[1,0]   @n read n times
no letter: not read
the index takes the place of coordinate 1 of data:
  out[1,2] = data[1,indices[1,2]] = data[1,-1 → 4] = 9
  out[1,0] = data[1,indices[1,0]] = data[1,4] = 9

shape  data[:1] + indices[1:] + data[2:]  =  [2] + [3] + []  =  [2,3]
read   4 of 10 cells of data
""".replace("@", "\N{MULTIPLICATION SIGN}")


COLUMNS: Final = """\
openvino.Gather-8   axis 1   batch_dims 0   out[p, i] = data[p, indices[i]]
for p in 0..1, i in 0..1

data i64[2,5]       indices i64[2]    out i64[2,2]
   b           a                         a  b
   0  1  2  3  4                         0  1
0  0  1  2  3  4    a 0  4            0  4  0
1  5  6  7  8  9    b 1  0            1  9  5

a data[:,4]   b data[:,0]   no letter: not read
the index takes the place of coordinate 1 of data:
  out[1,0] = data[1,indices[0]] = data[1,4] = 9

shape  data[:1] + indices[0:] + data[2:]  =  [2] + [2] + []  =  [2,2]
read   2 of 5 slices of data
"""


ROWS: Final = "[[10,11,12],[13,14,15],[16,17,18],[19,20,21]]"


DATA_3: Final = "[[1,2,3],[4,5,6],[7,8,9]]"


def test_columns_of_data_that_do_not_fit_above_a_vector_are_left_out() -> None:
    explanation = gathercli.explain("gather", np.full((3, 3), -1.23456e-100 * (1 + 1j)), 0)

    text = picture_of(explanation, Look(80)).plain

    heading, *rows = text.split("\n\n")[1].splitlines()[1:]
    assert heading.split() == ["0", "2"]
    assert all("…" in row and len(row) <= 80 for row in rows)


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


def test_colour_marks_the_same_as_the_letters(program: Program) -> None:
    fills = [";".join(str(int(hue.fill[at : at + 2], 16)) for at in (1, 3, 5)) for hue in HUES]
    line = "$G explain gather '[10,20]' 1,0 --color"

    out = program(f"COLORTERM=truecolor {line} always").stdout.decode()

    for letter, number, fill in (("a", "20", fills[0]), ("b", "10", fills[1])):
        assert out.count(f"\x1b[38;2;0;0;0;48;2;{fill}m{letter}\x1b[0m") == 3
        assert out.count(f"\x1b[38;2;0;0;0;48;2;{fill}m {number} \x1b[0m") == 2
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

    assert f"\x1b[{code}ma\x1b[0m" in program(line).stdout.decode()


def test_fills_end_at_the_width_of_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("explain", "gather", "arange:3x40", "2,0", "--color", "always")
    for width in range(40, 60):
        monkeypatch.setenv("COLUMNS", str(width))

        out = run(*words, terminal=(1,)).out

        table = re.sub(r"\x1b\[[0-9;]*m", "", out).split("\n\n")[1]
        assert max(map(cell_len, table.splitlines())) <= width


@pytest.mark.parametrize(("width", "edge"), [(80, 3), (120, 8), (200, 12), (240, 18), (320, 24)])
def test_a_wider_terminal_shows_more_columns_of_a_picture(
    run: Run, width: int, edge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    out = run("explain", "gather", "arange:3x500", "2,0", "--color", "never", terminal=(1,)).out

    lines = out.splitlines()
    heading = next(line.split() for line in lines if line.strip().startswith("0 "))
    assert heading[:edge] == [str(n) for n in range(edge)]
    assert len(heading) == 2 * edge
    assert max(map(cell_len, lines)) <= width


HEADING: Final = re.compile(
    r"(?:openvino|onnx)\.\w+-.*|for .*|(?:data|indices|out)\b.*|batch \d.*|\[[\d:,]+\].*"
    r"|the index .*|shape  .*|read  .*|\$ .*|Try|  gathercli .*"
)


@pytest.mark.parametrize(
    ("words", "headings"),
    [
        (("explain", "gather", "[10,20]", "1,0"), 5),
        (("explain", "gather", "arange:2x5", "[[0,4],[4,0]]", "-a", "1", "-b", "1"), 8),
        (("explain", "gather-elements", "arange:2x2x2", "[[[0,1]]]", "-V", "onnx-13"), 8),
        (("explain", "gather-elements", "arange:2x2x2", "[[[0]],[[1]]]", "-V", "13", "-a", "2"), 8),
        (("demo", "batch-dims"), 13),
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


def test_a_large_tensor_shows_its_edges_and_what_they_pick(run: Run) -> None:
    ran = run("explain", "gather", "arange:1000x1000", "rand:1000xi64,high=1000")
    assert ran.status == 0
    assert len(ran.out.splitlines()) < 60
    assert "36 of 1 000 000 cells of out shown; --window chooses others\n" in ran.out
    assert "+ read by indices that are not shown" in ran.out
    rows = dict(re.findall(r"(?m)^([a-f]) +\d+ +(\d+)$", ran.out))
    assert len(rows) == 6
    for letter, row in rows.items():
        assert re.search(rf"(?m)^{letter} +{row} +{row}000 ", ran.out)  # where data has it


def test_many_batches_are_left_out_and_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("gather", "arange:9x2", "zeros:9x1xi64", "-a", "1", "-b", "1")
    ran = run("explain", *words)
    assert re.findall(r"batch \d", ran.out) == ["batch 0", "batch 8"]
    assert "2 of 9 cells of out and 2 of 9 batches shown; --window chooses others\n" in ran.out
    monkeypatch.setenv("COLUMNS", "60")
    assert "2 of 9 batches shown; --window\nchooses others\n" in run("explain", *words).out
    monkeypatch.delenv("COLUMNS")
    ran = run("explain", *words, "--window", "3:5")
    assert re.findall(r"batch \d", ran.out) == ["batch 3", "batch 4"]


def test_a_gap_at_the_end_is_marked_too(run: Run) -> None:
    ran = run("explain", "gather", "arange:6x2x3", "0,1", "-a", "1", "--window", "2")
    table = ran.out.split("\n\n")[1].splitlines()
    assert [line.split("  ")[0].strip() for line in table if "⋮" in line or ",:,:]" in line] == [
        "⋮",
        "[2,:,:]",
        "⋮",
    ]
    words = ("gather", "arange:3x40x5", "zeros:3x2xi64", "-a", "1", "-b", "1")
    ran = run("explain", *words, "--window", "1,:,2")
    (names,) = [line for line in ran.out.splitlines() if "batch 1" in line]
    assert names.split() == ["…", "batch", "1", "…"]


def test_a_letter_x_is_no_count_in_ascii(run: Run) -> None:
    rows = ",".join(f"[{','.join([str(row)] * 5)}]" for row in range(6))
    words = ("gather-elements", "arange:6x5", f"[{rows}]", "-a", "0", "--ascii")
    assert "read n times" not in run("explain", *words).out
    assert "*n read n times" in run("explain", "gather", "[5]", "0,0", "--ascii").out


def test_leading_dimensions_are_facets_or_panels(run: Run) -> None:
    ran = run("explain", "gather", "arange:3x4x2x3x2", "[[1,-1],[0,3]]", "-a", "1")
    assert "[0,1,0,:,:]  a" in ran.out
    assert "[0,0,1,0,:,:]  b" in ran.out
    ran = run("explain", "gather-elements", "arange:2x2x2", "zeros:2x2x1xi64", "-a", "2")
    assert re.findall(r"\[\d,:,:\]", ran.out) == ["[0,:,:]", "[1,:,:]"]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ('["a\\u001b[31m","[link=x]y"]', 'a 0  "a\\x1b[31m"'),
        ("[true,false]", "a 0  true"),
        ("xc64=1+2j", None),
        ("2xc64=1+2j 3", "a 0  1+2j"),
        ("2xf64=1.5 nan", "a 0  1.5"),
        ("2xi64=-9223372036854775808 1", "a 0  -9223372036854775808"),
        ("2xbf16=0.1 1", "a 0  0.100098"),
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


LARGE_CALLS: Final = (
    ("gather", "arange:200x30", "rand:50xi64,high=200"),
    ("gather", "arange:30x200", "rand:50xi64,high=200", "-a", "1"),
    ("gather", "arange:40x30x20", "rand:9xi64,high=40"),
    ("gather", "arange:300x20", "rand:20x30xi64,high=300"),
    ("gather", "arange:20x300", "rand:20x30xi64,high=300", "-a", "1"),
    ("gather", "arange:9x50x30", "rand:9x40xi64,high=50", "-a", "1", "-b", "1"),
    ("gather", "arange:3x40x5x60", "rand:30xi64,high=40", "-a", "1"),
    ("gather-elements", "rand:90x90", "rand:90x90xi64,high=90", "-a", "0"),
    ("gather-elements", "rand:30x30", "rand:30x40xi64,high=30", "-a", "1"),
    ("gather-elements", "arange:40x5x6", "rand:40x5x6xi64,high=40", "-a", "0"),
    ("gather-elements", "arange:40x50x6", "rand:40x50x6xi64,high=6", "-a", "2"),
    ("gather-nd", "arange:40x50x60", "rand:1000x3xi64,high=40"),
    ("gather-nd", "arange:40x50", "rand:30x20x2xi64,high=40"),
    ("gather-nd", "arange:5x40x50", "rand:5x30x2xi64,high=40", "-b", "1"),
    ("gather-nd", "arange:40x50x6", "rand:90x1xi64,high=40"),
    ("gather-tree", "arange:4x2x40", "rand:4x2x40xi64,high=40", "[4,3]", "999"),
)


class Drawn(NamedTuple):
    """A part as it was drawn: its name, its lines, its letters."""

    name: str
    lines: list[str]
    letters: set[str]


def drawn(part: PanelTensor, lines: list[Line]) -> Drawn:
    word = "[a-z]" if part.name.endswith("_ids") else "[a-z]+"  # a token has its beams' letters
    letters = {name for cell in part.cells.values() for name in re.findall(word, cell.letter)}
    texts = ["".join(text for text, _ in line).rstrip() for line in lines]
    return Drawn(part.name, texts, letters)


@pytest.mark.parametrize("words", LARGE_CALLS, ids=" ".join)
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_what_a_letter_marks_is_in_the_picture(
    words: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    parts: list[Drawn] = []

    def draw_and_keep(part: PanelTensor, marks: Marks) -> list[Line]:
        lines = draw(part, marks)
        parts.append(drawn(part, lines))
        return lines

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(picture, "draw", draw_and_keep)

    out = run("explain", *words, "-q").out

    in_picture = [part for part in parts if all(line in out for line in part.lines)]
    sources = {"data", "step_ids"}
    marked = set[str]().union(*(each.letters for each in in_picture if each.name in sources))
    letters = set[str]().union(*(each.letters for each in in_picture if each.name not in sources))
    assert letters
    assert letters <= marked, out


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
