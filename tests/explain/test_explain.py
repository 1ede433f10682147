"""`explain`: the picture, the traces, the data, what is kept of them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import xml.etree.ElementTree as ET
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from rich.cells import cell_len
from rich.color import Color, ColorSystem

import gathercli
from gathercli.cli import keys, main
from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.explain import lesson as lesson_module
from gathercli.explain.look import ASCII, Look
from gathercli.explain.provenance import Fate
from gathercli.explain.terminal import template
from gathercli.explain.terminal.layout import draw
from gathercli.explain.terminal.view import view_of
from gathercli.report.palette import HUES
from tests import oracle
from tests.conftest import drain
from tests.processes import PATIENCE
from tests.test_laws import (
    Case,
    Dice,
    any_case,
    as_compared,
    as_passed,
    check_counts,
    every_row,
    legal_case,
    moderately,
    outcome,
    seeds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gathercli.explain.look import Marks
    from gathercli.explain.panel import PanelTensor
    from gathercli.explain.python import Explained
    from gathercli.explain.terminal.layout import Line
    from gathercli.spec.op import Op
    from tests.conftest import Ran

    Run = Callable[..., Ran]
    Program = Callable[..., subprocess.CompletedProcess[bytes]]

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


def explain_case(op: Op, case: Case) -> Explained[Any]:
    how = case.attributes
    return gathercli.explain(
        op.family,
        as_passed(case.data, case.data_type),
        as_passed(case.indices, case.indices_type),
        axis=how.axis,
        batch_dims=how.batch_dims,
        version=op.id,
        negative=how.negative,
        out_of_range=how.out_of_range,
    )


def assert_cells_are_read_where_they_say(case: Case, explanation: Explained[Any], out: Any) -> None:
    held = dtype_of(as_passed(case.data, case.data_type).dtype)
    assert held is not None
    answer = Tensor(held, as_compared(out)).values()
    data = Tensor(held, case.data).values()
    cells = list(explanation.cells())
    assert [each.out for each in cells] == list(oracle.coordinates(out.shape))
    for each in cells:
        assert each.k == case.indices[each.indices]
        if each.data is not None:
            assert each.fate is Fate.COPIED
            same(answer[each.out], data[each.data])
            same(answer[each.out], each.value)
        else:
            assert each.fate is Fate.FILLED
            assert not answer[each.out]
            assert not each.value


def same(one: Any, other: Any) -> None:
    assert one == other or (one != one and other != other)  # noqa: PLR0124  (NaN)


@every_row
@moderately
@given(seed=seeds)
def test_a_cell_of_any_call_holds_what_is_where_its_way_ends(op: Op, seed: int) -> None:
    case = any_case(op, Dice(seed))
    expected = outcome(lambda: check_counts(op, case))
    try:
        explanation = explain_case(op, case)
    except gathercli.OperatorError as error:
        explanation = None
        refused_by = error.rule
    if explanation is None:
        assert refused_by == expected
        return
    if explanation.refusal is not None:
        assert explanation.refusal.rule == expected
        for each in explanation.cells():
            assert each.fate is Fate.COPIED or each.value in (None, 0, False, "", 0j)
    else:
        assert not isinstance(expected, str)
        assert_cells_are_read_where_they_say(case, explanation, expected)


@every_row
@moderately
@given(seed=seeds)
def test_every_way_is_that_of_a_legal_call(op: Op, seed: int) -> None:
    case = legal_case(op, Dice(seed))
    explanation = explain_case(op, case)
    assert explanation.refusal is None
    assert_cells_are_read_where_they_say(case, explanation, check_counts(op, case))


def test_columns_of_data_that_do_not_fit_above_a_vector_are_left_out() -> None:
    explanation = gathercli.explain("gather", np.full((3, 3), -1.23456e-100 * (1 + 1j)), 0)

    text = view_of(explanation).picture(explanation, Look(80)).plain

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
        text = view_of(explanation).picture(explanation, look).plain
        own = text.split("\n\nshape ")[0].split("\n\n", 1)[-1]  # below the equation
        tables = re.sub(r"(?m)^(the index takes|  out\[).*\n", "", own + "\n")
        assert max(map(cell_len, tables.split("\n"))) <= width
        assert not re.search(r"(?m) $", text)
    assert text.isascii()


@every_row
@pytest.mark.parametrize("seed", range(5))
def test_the_json_of_a_call_names_where_its_output_is_read(
    op: Op, seed: int, run: Run, folder: Path
) -> None:
    case = legal_case(op, Dice(seed))
    gathercli.save(folder / "d.json", as_passed(case.data, case.data_type), format="oip")
    np.save(folder / "i.npy", case.indices)
    words = ["d.json", "i.npy", "-V", op.id, "-a", str(case.attributes.axis)]
    words += ["-b", str(case.attributes.batch_dims)]
    ran = run("explain", op.family, *words, "-f", "json")
    assert (ran.status, ran.err) == (0, "")
    fields = json.loads(ran.out)
    data = json.loads(run("convert", "d.json", "-", "--to", "oip").out)["outputs"][0]["data"]
    out = json.loads(run(op.family, *words, "-f", "oip").out)["outputs"][0]
    assert fields["output"] == {"shape": out["shape"], "datatype": out["datatype"]}
    flat = np.arange(len(data)).reshape(case.data.shape)
    assert [data[flat[tuple(cell["data"])]] for cell in fields["cells"]] == out["data"]
    assert [cell["value"] for cell in fields["cells"]] == out["data"]
    for cell in fields["cells"]:
        assert case.indices[tuple(cell["indices"])] == cell["index"]
        assert cell["data"][fields["axis"]] == cell["position"]


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


def test_a_refused_index_is_shown_in_its_place_and_refuses(run: Run) -> None:
    ran = run("explain", "gather", "[10,20]", "1,-1,5", "-V", "openvino-1")
    assert ran.status == 65
    assert "a 0   1              a 0  20   data[1]\n" in ran.out
    assert "a 1  20        ! 1  -1 → refused    ! 1       refused\n" in ran.out
    assert "  out[1] = data[indices[1]] = data[-1 → none]: refused\n" in ran.out
    assert ran.err.startswith("error: index -1 at `[1]` is outside axis 0 of `data`")
    assert "rule: index-range" in ran.err


def test_a_negative_index_is_refused_where_the_option_says_so(run: Run) -> None:
    ran = run("explain", "gather", "[10,20]", "1,-1", "--negative", "error", "-f", "json")
    assert ran.status == 65
    fields = json.loads(ran.out)
    assert fields["refused"].startswith("index -1 at `[1]` is negative")
    assert [cell["fate"] for cell in fields["cells"]] == ["copied", "refused"]
    assert fields["cells"][1]["data"] is None
    assert fields["cells"][1]["value"] is None


@pytest.mark.parametrize("outside", ["spec", "zero", "clamp", "wrap"])
def test_no_option_moves_an_index_that_another_refuses(outside: str, run: Run) -> None:
    words = ("--negative", "error", "--out-of-range", outside, "-f", "json")

    fields = json.loads(run("explain", "gather", "[10,20]", "0,-1,-2,-7,1", *words).out)

    assert [cell["position"] for cell in fields["cells"]] == [0, None, None, None, 1]
    assert [cell["fate"] for cell in fields["cells"]] == ["copied", *["refused"] * 3, "copied"]


def test_shapes_that_are_refused_are_not_drawn(run: Run) -> None:
    ran = run("explain", "gather", "[1,2]", "0", "-a", "3")
    assert (ran.status, ran.out) == (65, "")
    assert "rule: axis-range" in ran.err


def test_an_output_of_too_many_dimensions_is_refused(run: Run) -> None:
    ones = "x".join(["1"] * 40)
    ran = run("explain", "gather", f"zeros:{ones}", f"zeros:{ones}xi64")
    assert (ran.status, ran.out) == (65, "")
    assert "has rank 79: expected at most 64" in ran.err


def test_a_note_counts_what_was_moved(run: Run) -> None:
    ran = run("explain", "gather", "[10,20]", "1,7", "--out-of-range", "clamp")
    assert "a 1  7 → 1" in ran.out
    assert "openvino.Gather-8   axis 0   batch_dims 0   --out-of-range clamp" in ran.out
    assert ran.err == "note: 1 of 2 indices outside -2..1, clamped; first 7 at [1]\n"
    assert run("explain", "gather", "[10,20]", "1,7", "-q").err == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("gather", "arange:4x3", "3,0,-1", "--cell", "2,1"),
            "out[2,1]   i = 2, s = 1\n"
            "  indices[2] is -1\n"
            "  it counts from the end of axis 0, whose size is 4: -1 + 4 = 3\n"
            "  it takes the place of coordinate 0: data[3,1]\n"
            "  out[2,1] = data[indices[2],1] = data[-1 → 3,1] = 10\n",
        ),
        (
            ("gather", "arange:4x3", "3", "--cell=-1"),
            "out[2]   s = 2\n"
            "  indices is 3\n"
            "  it is a position on axis 0, whose size is 4\n"
            "  it takes the place of coordinate 0: data[3,2]\n"
            "  out[2] = data[indices,2] = data[3,2] = 11\n",
        ),
        (
            ("gather", "[5]", "0", "--cell", "[]", "--ascii"),
            "out\n"
            "  indices is 0\n"
            "  it is a position on axis 0, whose size is 1\n"
            "  it takes the place of coordinate 0: data[0]\n"
            "  out = data[indices] = data[0] = 5\n",
        ),
        (
            ("gather", "[5,6]", "7,", "--cell", "0", "-q"),
            "out[0]   i = 0\n"
            "  indices[0] is 7\n"
            "  7 points nowhere on axis 0, whose size is 2: zeros\n"
            "  out[0] = data[indices[0]] = data[7 → none] = 0\n",
        ),
        (
            ("gather", "[5,6]", "7,", "--cell", "0", "-q", "--out-of-range", "wrap"),
            "out[0]   i = 0\n"
            "  indices[0] is 7\n"
            "  it is outside axis 0, whose size is 2: wrapped to 1\n"
            "  it takes the place of coordinate 0: data[1]\n"
            "  out[0] = data[indices[0]] = data[7 → 1] = 6\n",
        ),
    ],
    ids=["negative", "from-the-end", "0-D", "zeros", "wrapped"],
)
def test_a_cell_is_traced_in_words(run: Run, words: tuple[str, ...], expected: str) -> None:
    assert run("explain", *words) == (0, expected, "")


def test_one_cell_is_traced_as_data(run: Run) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0", "--cell", "1,2", "-f", "json")
    (cell,) = json.loads(ran.out)["cells"]
    assert cell == {
        "out": [1, 2],
        "indices": [1],
        "index": 0,
        "position": 0,
        "data": [0, 2],
        "fate": "copied",
        "value": 2,
    }


@pytest.mark.parametrize("cell", ["1", "1,2,3", "3,0", "0,-4", "a", "0,"])
def test_a_cell_outside_the_output_is_a_usage_error(run: Run, cell: str) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0,1", f"--cell={cell}")
    assert (ran.status, ran.out) == (2, "")
    assert f"cell [{cell}]: " in ran.err or f"`--cell` is `{cell}`" in ran.err
    assert run("explain", "gather", "[1]", "0", f"--cell={cell}", "-f", "json").out == ""


def test_without_a_terminal_steps_are_a_line_a_cell(run: Run) -> None:
    ran = run("explain", "gather-elements", "[[1,2],[3,4]]", "[[0,1]]", "-V", "onnx-13", "--step")
    assert ran.out == (
        "out[0,0] = data[indices[0,0],0] = data[0,0] = 1\n"
        "out[0,1] = data[indices[0,1],1] = data[1,1] = 4\n"
    )


class Person:
    """Sits at a terminal and presses a key, or does something, whenever a screen is there."""

    def __init__(self, keys: Sequence[str | Callable[[], None]], sign: str) -> None:
        self.seen = b""
        self.waits_for = b""
        self._keys, self._sign = list(keys), sign.encode()
        self._ours, theirs = os.openpty()
        self._saved = os.dup(0), os.dup(1)
        os.dup2(theirs, 0)
        os.dup2(theirs, 1)
        os.close(theirs)
        self._thread = threading.Thread(target=self._sit)
        self._thread.start()

    def _sit(self) -> None:
        answered = 0
        with suppress(OSError):  # EIO: the other side is closed
            while part := os.read(self._ours, 1 << 16):
                self.seen += part
                ready = answered == 0 or self.waits_for in self.seen
                while ready and self._keys and self.seen.count(self._sign) > answered:
                    answered += 1
                    key = self._keys.pop(0)
                    if callable(key):
                        key()
                    else:
                        os.write(self._ours, key.encode())
        os.close(self._ours)

    def leave(self) -> str:
        os.dup2(self._saved[0], 0)
        os.dup2(self._saved[1], 1)
        for fd in self._saved:
            os.close(fd)
        self._thread.join()
        return self.seen.decode().replace("\r\n", "\n")


def at_a_terminal(words: list[str], keys: list[str], sign: str) -> tuple[int, str]:
    person = Person(keys, sign)
    try:
        status = main(words)
    finally:
        seen = person.leave()
    return status, seen


@pytest.mark.usefixtures("folder")
def test_on_a_terminal_keys_walk_through_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    words = ["explain", "gather", "[10,20,30]", "2,0,-1", "--step"]
    # Keys that mean nothing draw nothing; of several that come together each counts.
    keys = [" ", "?\x1b[Z\x1b[1;5C\x1bx\x1b[C", "b", "g", "\x1b[F", "  q"]
    status, seen = at_a_terminal(words, keys, "q: quit")
    screens = seen.split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    assert [screen.split("\n")[0] for screen in screens] == [
        "out[0]   i = 0",
        "out[1]   i = 1",
        "out[2]   i = 2",
        "out[1]   i = 1",
        "out[0]   i = 0",
        "out[2]   i = 2",
        "out[2]   i = 2",
        "out[2]   i = 2",
    ]
    assert "cell 2 of 3" in screens[1]
    assert "a 0  [10]" not in screens[0]
    assert "b   0  10      a 0  [2]          a 0 [30]\n" in screens[0]
    assert all(screen.count("\n") == 23 for screen in screens[:-1])
    assert seen.startswith("\x1b[?1049h\x1b[?25l")
    assert seen.endswith("\x1b[?25h\x1b[?1049l")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("gather", "arange:1000x40", "rand:500xi64,high=1000"),
        ("gather", "arange:8x12", "[[2,0,1],[5,4,3]]"),
        ("gather", "arange:3x40x5x60", "rand:30xi64,high=40", "-a", "1"),
        ("gather", "arange:9x50x30", "rand:9x40xi64,high=50", "-a", "1", "-b", "1"),
        ("gather-elements", "rand:30x30", "rand:30x40xi64,high=30", "-a", "1"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("lines", ["24", "40"])
def test_walking_shows_all_three_cells_on_any_screen(
    words: tuple[str, ...], lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", lines)
    monkeypatch.setenv("NO_COLOR", "1")
    status, seen = at_a_terminal(["explain", *words, "--step"], ["G", "q"], "q: quit")
    assert status == 0
    for screen in seen.split("\x1b[2J\x1b[H")[1:]:
        shown = screen.replace("\x1b[?25h\x1b[?1049l", "").split("\n")
        assert len(shown) == int(lines)
        assert max(map(cell_len, shown)) <= 80
        panels = re.split(r"cell [\d ]+ of [\d ]+\n", "\n".join(shown))[1]
        assert len(re.findall(r"(?<![fi]64)\[-?[\d.e+-]+\]", panels)) == 3, screen


@pytest.mark.usefixtures("folder")
def test_colour_reverses_the_cell_it_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["explain", "gather", "arange:100x40", "rand:90xi64,high=100", "--step"]
    status, seen = at_a_terminal(words, ["G", "q"], "q: quit")
    assert status == 0
    assert len(re.findall(r"\x1b\[1;7m *\[", seen.split("\x1b[2J\x1b[H")[-1])) == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("keys", [["\x1b[C" * 30, "q"], ["\x1b[C" * 30, "\x1b"]])
def test_many_keys_at_once_are_all_keys(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The 64 bytes that are read together end within a key; Escape alone is one."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    person = Person(keys, "q: quit")
    person.waits_for = b"31 of 400"
    try:
        status = main(["explain", "gather", "arange:400", "arange:400", "--step"])
    finally:
        seen = person.leave()
    assert status == 0
    assert len(seen.split("\x1b[2J\x1b[H")) == 1 + 31


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("size", [(40, 10), (30, 24), (80, 24)], ids=str)
def test_no_line_of_a_screen_is_wider_than_it(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("LINES", str(size[1]))
    monkeypatch.setenv("NO_COLOR", "1")
    data = "2x3x2x2x2x2xf64=1234567.890123"
    words = ["explain", "gather", data, "[[[0,1],[1,-1]],[[1,1],[0,-3]]]", "-a", "1", "--step"]
    for command in ([*words, "--precision", "17"], ["demo", "--all"]):
        sign = "q: quit" if size[0] > 60 else "keys: space"
        status, seen = at_a_terminal(command, ["G", "q"], sign)
        assert status == 0
        for screen in seen.split("\x1b[2J\x1b[H")[1:]:
            lines = screen.replace("\x1b[?25h\x1b[?1049l", "").split("\n")
            assert len(lines) == size[1]
            assert max(map(cell_len, lines)) <= size[0]


@pytest.mark.usefixtures("folder")
def test_another_size_of_the_screen_draws_it_again() -> None:
    def resize() -> None:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 70, 0, 0))
        os.kill(os.getpid(), signal.SIGWINCH)

    person = Person([resize, "q"], "q: quit")
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        status = main(["explain", "gather", "[1,2,3]", "1,0", "--step"])
    finally:
        seen = person.leave()
    screens = seen.replace("\x1b[?25h\x1b[?1049l", "").split("\x1b[2J\x1b[H")[1:]
    assert status == 0
    assert [screen.count("\n") + 1 for screen in screens] == [24, 12]


@pytest.mark.parametrize("end", ["q", "SIGINT", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_restored(folder: Path, end: str) -> None:
    ours, theirs = os.openpty()
    before = termios.tcgetattr(theirs)
    program = subprocess.Popen(
        [sys.executable, "-m", "gathercli", "explain", "gather", "[1,2]", "1,0", "--step"],
        stdin=theirs,
        stdout=theirs,
        cwd=folder,
        start_new_session=True,
    )
    seen = b""
    while b"q: quit" not in seen:
        seen += os.read(ours, 1 << 16)
    assert termios.tcgetattr(theirs) != before
    if end == "q":
        os.write(ours, b"q")
    else:
        program.send_signal(signal.Signals[end])
    rest: list[bytes] = []
    reader = threading.Thread(target=drain, args=(ours, rest))  # to restore waits for readers
    reader.start()
    status = program.wait(timeout=PATIENCE)
    assert termios.tcgetattr(theirs) == before
    os.close(theirs)
    reader.join()
    seen += b"".join(rest)
    assert seen.endswith(b"\x1b[?25h\x1b[?1049l")
    assert status == {"q": 0, "SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}[end]


def test_an_interrupt_while_the_screen_is_set_up_restores_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = os.openpty()
    saved, before, printed = os.dup(0), termios.tcgetattr(theirs), list[str]()

    def print_text(text: str) -> None:
        printed.append(text)
        if len(printed) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(keys, "print_text", print_text)
    os.dup2(theirs, 0)
    try:
        with pytest.raises(KeyboardInterrupt):
            keys.Keys().__enter__()
    finally:
        os.dup2(saved, 0)

    assert termios.tcgetattr(theirs) == before
    assert printed[-1] == "\x1b[?25h\x1b[?1049l"
    for fd in (ours, theirs, saved):
        os.close(fd)


def test_an_output_of_no_cells_has_no_steps(run: Run) -> None:
    ran = run("explain", "gather", "[1]", "[]", "--step")
    assert ran == (0, "the output [0] has no cells\n", "")


def test_a_window_chooses_what_is_shown(run: Run) -> None:
    ran = run("explain", "gather", "arange:100x100", "7,9,-1", "--window", "1:,40:42")
    assert ran.status == 0
    table = ran.out.split("\n\n")[1]
    assert table == (
        "data i64[100,100]         indices i64[3]    out i64[3,100]\n"
        "           40    41                                   40    41\n"
        "   0  …    40    41  …      ⋮                 ⋮\n"
        "   ⋮                      a 1   9           a 1  …   940   941  …   data[9,:]\n"
        "a  9  …   940   941  …    b 2  -1 → 99      b 2  …  9940  9941  …   data[99,:]\n"
        "   ⋮\n"
        "b 99  …  9940  9941  …"
    )
    assert "4 of 300 cells of out shown\n" in ran.out
    cells = json.loads(
        run("explain", "gather", "arange:100x100", "7,9", "--window", "-1,:2", "-f", "json").out
    )["cells"]
    assert [cell["out"] for cell in cells] == [[1, 0], [1, 1]]


def test_a_window_that_is_too_wide_keeps_the_ends_of_the_axis(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    out = run("explain", "gather", "arange:40x40", "3,9,-1", "--window", "0:3,:").out

    table = out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table[2:9]] == ["0", "⋮", "a", "⋮", "b", "⋮", "c"]


@pytest.mark.parametrize("window", ["", "a", "1:2:3", "1 2", "0:1,0:1,0:1"])
def test_an_unreadable_window_is_a_usage_error(run: Run, window: str) -> None:
    ran = run("explain", "gather", "arange:4x3", "3,0,1", f"--window={window}")
    assert (ran.status, ran.out) == (2, "")
    assert "`--window`" in ran.err


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


def test_a_picture_is_kept_as_text_svg_or_html(run: Run, folder: Path) -> None:
    words = ("gather", '["<&>","b"]', "0,-2,9", "-q")
    shown = run("explain", *words, "--save", "p.txt").out
    assert (folder / "p.txt").read_text(encoding="utf-8") == shown
    assert run("explain", *words, "--save", "p.svg", terminal=(2,)).err == ""  # -q
    root = ET.parse(folder / "p.svg").getroot()  # noqa: S314  (our own)
    words_of = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]
    assert {'"<&>"', "-2 → 0", "9 → none", "out[i] = data[indices[i]]"} <= {*words_of}
    run("explain", *words, "--save", "p.html")
    page = (folder / "p.html").read_text(encoding="utf-8")
    assert "&quot;&lt;&amp;&gt;&quot;" in page
    for kept in (page, (folder / "p.svg").read_text(encoding="utf-8")):
        assert "prefers-color-scheme:dark" in kept
        assert set(re.findall(r"https?://[^\"]+", kept)) <= {"http://www.w3.org/2000/svg"}


def test_a_kept_picture_is_named_to_a_person_alone(run: Run) -> None:
    words = ("explain", "gather", "[1,2]", "0", "--save", "p.svg")
    assert run(*words, terminal=(2,)).err == "wrote p.svg\n"
    assert run(*words).err == ""


def test_a_picture_is_kept_in_every_file_that_is_named(run: Run, folder: Path) -> None:
    words = ("explain", "gather", "[1,2]", "0")
    run(*words, "--save", "one.svg")
    run(*words, "--save", "one.txt")

    ran = run(*words, "--save", "p.svg", "--save", "q.svg", "--save", "p.txt", terminal=(2,))

    assert (ran.status, ran.err) == (0, "wrote p.svg\nwrote q.svg\nwrote p.txt\n")
    svg = (folder / "one.svg").read_bytes()
    assert (folder / "p.svg").read_bytes() == (folder / "q.svg").read_bytes() == svg
    assert (folder / "p.txt").read_bytes() == (folder / "one.txt").read_bytes()


def test_no_picture_is_kept_where_one_of_them_cannot_be(run: Run, folder: Path) -> None:
    (folder / "old.svg").write_text("old")
    words = ("explain", "gather", "[1,2]", "0", "--save", "new.svg", "--no-clobber")

    clobbers = run(*words, "--save", "old.svg")
    unknown = run(*words, "--save", "p.gif")
    twice = run(*words, "--save", "./new.svg")
    same = run(*words, "--save", "new.svg")

    assert [ran.status for ran in (clobbers, unknown, twice, same)] == [73, 2, 2, 2]
    assert twice.err == (
        "error: `--save` names `new.svg` and `./new.svg`, which are one file: "
        "expected different files\n"
    )
    assert [path.name for path in folder.iterdir()] == ["old.svg"]


def test_a_picture_of_no_known_format_is_a_usage_error(run: Run, folder: Path) -> None:
    ran = run("explain", "gather", "[1,2]", "0", "--save", "p.gif")
    assert (ran.status, ran.out) == (2, "")
    assert "expected .svg, .png, .pdf, .html or .txt" in ran.err
    (folder / "p.svg").write_text("old")
    ran = run("explain", "gather", "[1,2]", "0", "--save", "p.svg", "--no-clobber")
    assert (ran.status, (folder / "p.svg").read_text()) == (73, "old")


JOBS: Final = (
    '{"id":"a","op":"gather","data":[1,2,3],"indices":[-1],"version":"onnx-13"}\n'
    '{"id":"b","op":"gather-elements","data":"d.npy","indices":[[0,1]],"axis":0,'
    '"version":"onnx-13"}\n'
    '{"id":"s","op":"shape","of":"gather","data":"[2]","indices":"[3]"}\n'
)


def test_a_job_is_explained(run: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "jobs.jsonl").write_text(JOBS)
    np.save(folder / "sub" / "d.npy", np.array([[1, 2], [3, 4]]))
    ran = run("explain", "--job", "sub/jobs.jsonl#b", "--step")
    assert ran.out.endswith("out[0,1] = data[indices[0,1],1] = data[1,1] = 4\n")
    assert run("explain", "--job", "sub/jobs.jsonl#a").out.startswith("onnx.Gather-13   axis 0")
    (folder / "a#b").mkdir()
    (folder / "a#b" / "j.jsonl").write_text(JOBS.replace('"id":"a"', '"id":"x#1"'))
    assert run("explain", "--job", "a#b/j.jsonl#x#1").out.startswith("onnx.Gather-13   axis 0")
    titled = '{"id":"t","title":"A\\u001b[31m","source":"B","op":"gather","data":[1],"indices":0}'
    (folder / "t.json").write_text(titled)
    assert run("explain", "--job", "t.json").out.startswith("A\\x1b[31m\nB\n\nopenvino.Gather-8")
    fields = json.loads(run("explain", "--job", "t.json", "-f", "json").out)
    assert (fields["title"], fields["source"]) == ("A\x1b[31m", "B")
    one = folder / "one.json"
    one.write_text(JOBS.splitlines()[0])
    assert run("explain", "--job", "one.json").status == 0


@pytest.mark.parametrize(
    "token", ["jobs.jsonl:2", "./jobs.jsonl:2", "jobs.jsonl#jobs.jsonl:2", "jobs.json[1]"]
)
def test_a_job_without_an_id_is_explained_by_where_it_stands(
    token: str, run: Run, folder: Path
) -> None:
    call: dict[str, Any] = {"op": "gather", "indices": 0, "axis": 0}
    listed = [call | {"data": [number], "title": f"Number {number}."} for number in range(3)]
    (folder / "jobs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in listed))
    (folder / "jobs.json").write_text(json.dumps(listed))

    ran = run("explain", "--job", token)

    assert ran.status == 0
    assert ran.out.startswith("Number 1.\n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--job", "j.jsonl"), 2, "has 3 jobs: expected one of a, b and s"),
        (("--job", "j.jsonl#c"), 2, "has no job `c`"),
        (("--job", "j.jsonl:1"), 2, "has no job `j.jsonl:1`: expected one of a, b and s"),
        (("--job", "none.jsonl:1"), 66, "`none.jsonl` cannot be read"),
        (("--job", "j.jsonl#s"), 65, "infers a shape, which has no cells"),
        (("--job", "none.jsonl#a"), 66, "no such file"),
        (("--job", "j.jsonl#a", "-a", "1"), 2, "`--job` names the whole call"),
        (("gather", "[1]", "0", "--job", "j.jsonl#a"), 2, "`--job` names the whole call"),
        (("--job", "j.jsonl", "a b"), 2, "did you mean `--job 'j.jsonl#a b'`?"),
        (("gather", "[1]"), 2, "`INDICES` is missing"),
        ((), 2, "`OP` is missing"),
        (("gather", "[1]", "0", "--step", "--cell", "[]"), 2, "exclude each other"),
        (("gather", "[1]", "0", "--step", "-f", "json"), 2, "`--step` and `-f json` exclude"),
        (("gather", "[1]", "0", "--step", "--save", "p.svg"), 2, "`--step` and `--save` exclude"),
        (("--job", "j.jsonl#a", "--data-dtype", "f64"), 2, "`--job` names the whole call"),
        (("gather", "[1]", "0,", "--window", "5:6"), 2, "chooses nothing of dimension 0"),
        (("gather", "arange:200x200", "0", "--window", ":"), 0, ""),
        (("gather", "arange:200x200", "zeros:200xi64", "--window", ":,:"), 2, "40 000 cells"),
        (
            ("gather", "zeros:500x2", "zeros:500x1xi8", "-a", "1", "-b", "1", "--window", ":"),
            2,
            "500 batches",
        ),
        (("gater", "[1]", "0"), 2, "did you mean `gathercli explain gather '[1]' 0`?"),
        (("gather", "-", "-"), 2, "used twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_contradictory_options_are_refused(
    run: Run, folder: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    (folder / "j.jsonl").write_text(JOBS)
    ran = run("explain", *words)
    assert (ran.status, bool(ran.out)) == (status, not status)
    assert said in ran.err


def test_standard_input_is_explained(run: Run) -> None:
    ran = run("explain", "gather", "-", "1", "--cell", "[]", stdin=b"[5,6]")
    assert ran.out.endswith("out = data[indices] = data[1] = 6\n")


def test_python_draws_and_traces() -> None:
    explanation = gathercli.explain("gather", [[10, 11], [20, 21]], [1, -2, 9])
    assert str(explanation).startswith("openvino.Gather-8   axis 0   batch_dims 0   out[i, s] =")
    assert not str(explanation).endswith("\n")
    assert explanation.shape == (3, 2)
    assert explanation.equation == "out[i, s] = data[indices[i], s]"
    assert explanation.trace(2, 0).fate is Fate.FILLED
    assert [each.value for each in explanation.cells()] == [20, 21, 10, 11, 0, 0]
    assert explanation.trace(-1, np.int8(-2)).out == (2, 0)
    odd: Any = np.array([0])
    for at in ((0, 2), (3, 0), (0,), (0, 0, 0), (0, "x"), (0, 0.0), (odd, 0)):
        with pytest.raises(gathercli.UsageError, match="the output has no cell"):
            explanation.trace(*at)
    with pytest.raises(gathercli.UsageError, match="no cell at all"):
        gathercli.explain("gather", [1], []).trace(0)
    assert '<img alt="openvino.Gather-8' in explanation._repr_html_()
    refused = gathercli.explain("gather", [1, 2], [5], version=7)
    assert isinstance(refused.refusal, gathercli.OutOfRangeError)
    with pytest.raises(gathercli.AxisError):
        gathercli.explain("gather-elements", [1, 2], [0])


def test_a_repl_draws_what_is_explained_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explanation = gathercli.explain("gather", np.arange(400).reshape(4, 100), [3, 1])

    sys.displayhook(explanation)
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "50")
    sys.displayhook(explanation)
    narrow = capsys.readouterr().out

    assert whole.startswith("openvino.Gather-8   axis 0   batch_dims 0   out[i, s] =")
    assert 50 < max(map(len, whole.splitlines())) <= 100
    assert max(map(len, narrow.splitlines())) <= 55
    assert narrow.endswith("\n12 of 200 cells of out shown; trace() tells of others\n")
    assert narrow == f"{explanation}\n"


def test_a_repl_draws_what_is_refused() -> None:
    refused = gathercli.explain("gather", [1, 2], [5], version=7)

    assert "out[0] = data[indices[0]] = data[5 → none]: refused" in repr(refused)


def test_a_repl_shows_the_operators_as_a_table() -> None:
    heading, first, *others = repr(gathercli.OPERATORS).splitlines()

    assert heading.split() == ["version", "legal", "indices", "other", "indices", "batch_dims"]
    assert first == "openvino.Gather-8          [-s, s-1]      zero-filled    yes"
    assert len(others) == len(gathercli.OPERATORS) - 1
    assert repr(gathercli.OPERATORS[:2]) == "(<openvino.Gather-8>, <openvino.Gather-7>)"
    assert str(gathercli.OPERATORS) == repr(gathercli.OPERATORS)


def test_reads_of_very_many_indices_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_module, "MOST_COUNTED_INDICES", 2)
    monkeypatch.setattr(lesson_module, "MOST_SPARSE_INDICES", 2)
    text = str(gathercli.explain("gather", [1, 2], [1, 0, 1]))
    assert "read   not counted: there are 3 indices" in text
    assert "no letter" not in text


@pytest.mark.parametrize("text", ["1,0", "[1,0]", "(1,0)", "(1, 0)", "out[1,0]", " out[1, 0] "])
def test_a_cell_is_read_as_screens_and_python_write_it(text: str, run: Run) -> None:
    ran = run("explain", "gather", "arange:2x2", "0,1", "--cell", text)

    assert ran.status == 0
    assert ran.out.startswith("out[1,0]")


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
    monkeypatch.setattr(template, "draw", draw_and_keep)

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
    view = view_of(explanation)

    screens = [
        view.panels(explanation, Look(80, height=20, here=trace.out)).plain
        for trace in explanation.cells()
    ]

    still = [re.sub(r"(?m) +$", "", re.sub(r"[][]", " ", screen)) for screen in screens]
    assert len(set(screens)) == len(screens)
    assert len(set(still)) == 1, "\n".join(still[:2])
