"""What people write who know other tools: each gets a hint that works when it is pasted."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.errors import GatherError

if TYPE_CHECKING:
    from tests.conftest import Ran, Run


TWINS: Final = {
    "[nan,inf]": "'[NaN,Infinity]'",
    "[NaN, -inf, 1]": "'[NaN,-Infinity,1]'",
    "[True, False]": "'[true,false]'",
    "['a', 'b']": """'["a","b"]'""",
    "[1,2,]": "1,2",
    "[1., .5]": "'[1.0,0.5]'",
    "[[1 2 3]\n [4 5 6]]": "'[[1,2,3],[4,5,6]]'",
    "(5, 6, 7)": "5,6,7",
    "(5,)": "5,",
    "[(1, 2), (3, 4)]": "'[[1,2],[3,4]]'",
    "array([1, 2])": "1,2",
    "array([[1., 2.],\n       [3., 4.]], dtype=float32)": "'[[1.0,2.0],[3.0,4.0]]'",
    "tensor([1, 2], device=cuda:0)": "1,2",
    "np.array([-1, 2])": "-1,2",
    "1 2 3": "1,2,3",
    "1;2": "1,2",
    "1,,2": "1,2",
    "0x10,": None,
    "0:2": "0,1",
    ":2": "0,1",
    "[0:2]": "0,1",
    "3:0:-1": "3,2,1",
    "0:1": "0,",
    "0:100": "arange:100",
    "ones:2x3": "2x3xi64=1",
    "ones:2x3xf32": "2x3xf32=1",
    "eye:2": "'[[1,0],[0,1]]'",
    "range:3": "arange:3",
    "zeros:2,3": "zeros:2x3",
    "arange:2,3xf32": "arange:2x3xf32",
    "randn:2x2": "rand:2x2",
    "f32=1,2": None,
    "2xf=1": None,
    "2x3=1": "2x3xi64=1",
    "2=1.5 2": "'2xf64=1.5 2'",
    "w.npz:emb": "'w.npz#emb'",
    "w.npz/emb": "'w.npz#emb'",
    "./w.npz/emb": "'./w.npz#emb'",
    "none.npz/emb": None,
    "w.npz/": None,
    "\N{LATIN SMALL LETTER A WITH DIAERESIS}.npz": None,  # only the suffix is like w.npz
    "w.npz[emb]": "'w.npz#emb'",
    "w.npz['emb']": "'w.npz#emb'",
    'w.npz["emb"]': "'w.npz#emb'",
    "none.npz:emb": None,
    "[1e400,nan]": None,
    "[[1,2],[3]": None,
    "[a,b]": None,
    "1:": None,
    "0:9999999999999999999999999": None,
    "1:2:0": None,
    "None": None,
}
"""What is typed, and what it should have been; None for what nobody knows."""


@pytest.fixture(autouse=True)
def archive(folder: Path) -> None:
    np.savez(folder / "w.npz", emb=np.array([1, 2]), bias=np.array([3]))


def hint_of(ran: Ran) -> str | None:
    """Return what a hint says."""
    found = [line for line in ran.err.splitlines() if line.startswith("hint: ")]
    return found[0].removeprefix("hint: ") if found else None


@pytest.mark.parametrize("token", TWINS)
def test_a_twin_gets_a_hint_that_works_when_pasted(token: str, run: Run) -> None:
    meant = TWINS[token]

    ran = run("gather", token, "[0]")

    assert ran.status in (65, 66)
    said = hint_of(ran) or ""
    assert said == f"did you mean `{meant}`?" if meant else "did you mean" not in said
    if meant:
        assert run("gather", *shlex.split(meant), "[0]").status == 0


@pytest.mark.parametrize("token", ["eye:30", "full:2x3", "linspace:5", "4x3", "2x3xf16"])
def test_a_generator_that_is_not_there_gets_those_that_are(token: str, run: Run) -> None:
    shape = token.rpartition(":")[2]

    said = hint_of(run("gather", token, "[0]"))

    assert said == f"there are `arange:{shape}`, `zeros:{shape}` and `rand:{shape}`"
    for each in said.split("`")[1::2]:
        assert run("gather", each, "[0]").status == 0


def test_the_random_integers_of_a_shape_have_a_limit(run: Run) -> None:
    said = hint_of(run("gather", "2x3xi64", "[0]")) or ""

    assert said.endswith(" and `rand:2x3xi64,high=10`")
    assert run("gather", "rand:2x3xi64,high=10", "[0]").status == 0


def test_a_member_that_is_not_there_gets_the_one_that_is(run: Run) -> None:
    said = hint_of(run("gather", "w.npz#embd", "[0]"))

    assert said == "name the member: `'w.npz#emb'`"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, nan]", "in JSON they are `NaN`, `Infinity` and `-Infinity`"),
        ("[1, -inf]", "in JSON they are `NaN`, `Infinity` and `-Infinity`"),
        ("[True]", "in JSON they are `true` and `false`"),
        ("['a']", "in JSON strings have double quotes"),
        ("[1, two]", None),
    ],
)
def test_a_file_of_json_gets_what_json_has(text: str, said: str | None, run: Run) -> None:
    Path("x.json").write_text(text)

    assert hint_of(run("gather", "x.json", "0")) == said
    assert hint_of(run("gather", "-", "0", stdin=text.encode())) == said


# Indices that are no integers

FLOATS: Final = {
    "1.0": "1",
    "[1.0,2.0]": "1,2",
    "1.0,2.0": "1,2",
    "[-1.0]": "-1,",
    "[[1.0],[2e0]]": "'[[1],[2]]'",
}


@pytest.mark.parametrize("command", [("gather",), ("explain", "gather")])
@pytest.mark.parametrize("token", FLOATS)
def test_fractions_that_are_whole_get_the_integers(
    token: str, command: tuple[str, ...], run: Run
) -> None:
    ran = run(*command, "[5,6,7]", token)

    assert ran.status == 65
    assert hint_of(ran) == f"as integers they are `{FLOATS[token]}`"
    assert run("gather", "[5,6,7]", *shlex.split(FLOATS[token])).status == 0


@pytest.mark.parametrize("token", ["[1.5]", "[1.0,0.5]", "[NaN]", "1e300", f"[{'1.0,' * 20}1.0]"])
def test_fractions_that_are_none_of_them_or_too_many_get_no_hint(token: str, run: Run) -> None:
    assert hint_of(run("gather", "[5,6,7]", token)) is None


def test_a_mask_gets_its_positions(run: Run) -> None:
    ran = run("gather", "[5,6,7]", "[true,false,true]")

    assert hint_of(ran) == "the positions of true are `0,2`"
    assert run("gather", "[5,6,7]", "0,2").out == "[5,7]\n"
    assert hint_of(run("gather", "[5,6]", "true,false")) == "the positions of true are `0,`"
    assert hint_of(run("gather", "[5,6]", "[false]")) == "the positions of true are `'[]'`"


@pytest.mark.parametrize("token", ["[[true,false]]", "true", "21xbool=true"])
def test_a_mask_of_another_form_gets_what_makes_indices_of_it(token: str, run: Run) -> None:
    said = "the positions of true are indices; numpy.flatnonzero(mask) is them in Python"

    assert hint_of(run("gather", "[5,6,7]", token)) == said


# Shapes


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("(2, 3)", "[2,3]"),
        ("(2,)", "[2]"),
        ("( 2 , 3 )", "[2,3]"),
        ("torch.Size([2, 3])", "[2,3]"),
        ("TensorShape([None, 3])", "[?,3]"),
        ("(None, 3)", "[?,3]"),
    ],
)
def test_a_shape_is_read_as_python_prints_it(text: str, out: str, run: Run) -> None:
    ran = run("shape", "gather", text, "[]", "--axis", "0")
    same = run("shape", "gather", out, "[]", "--axis", "0")

    assert ran == same
    assert ran.status == 0
    assert str(gathercli.infer_shape("gather", "[7]", text)) == out


@pytest.mark.parametrize("text", ["()", "torch.Size([])"])
def test_the_shape_of_a_scalar_is_read_as_python_prints_it(text: str) -> None:
    assert str(gathercli.infer_shape("gather", "[7]", text)) == "[]"


@pytest.mark.parametrize("text", ["(2, 3", "2, 3)", "((2, 3))", "(2 3)", "Size([2])", "(2,,3)"])
def test_half_a_tuple_is_no_shape(text: str) -> None:
    with pytest.raises(GatherError, match="the shape"):
        gathercli.infer_shape("gather", text, "[1]")


# Raw elements


def test_raw_elements_have_the_form_of_literals_without_dimensions(run: Run) -> None:
    Path("one").write_bytes(np.float32(1.5).tobytes())
    Path("three").write_bytes(np.arange(3, dtype=np.float32).tobytes())

    assert run("convert", "bin:xf32@one", "-").out == "1.5\n"
    assert run("convert", "bin:f32@one", "-").out == "1.5\n"
    said = hint_of(run("convert", "bin:xf32@three", "-"))
    assert said == "`bin:3xf32@three` has that many"
    assert run("convert", "bin:3xf32@three", "-").out == "[0.0,1.0,2.0]\n"


# Python


@pytest.mark.parametrize("source", ["x.npy", Path("x.npy"), "2xi64=1 2"])
def test_a_path_in_python_gets_the_call_that_reads_it(source: Any) -> None:
    np.save("x.npy", np.array([5, 6]))

    with pytest.raises(GatherError) as caught:
        gathercli.gather(source, [0])

    text = str(source)
    assert str(caught.value) == (
        f'`data`: it is the text "{text}": expected an array or nested lists\n'
        f'hint: read what it names: `gathercli.load("{text}")`'
    )
    assert gathercli.gather(gathercli.load(text), [0]).shape == (1,)


def test_a_path_of_indices_does_too() -> None:
    with pytest.raises(GatherError, match="`indices`: it is the text") as caught:
        gathercli.gather_elements([1, 2], "i.npy", axis=0)

    assert str(caught.value).endswith('`gathercli.load("i.npy")`')


def test_hints_of_indices_are_in_pythons_words() -> None:
    with pytest.raises(GatherError) as caught:
        gathercli.gather([5, 6, 7], [1.0, 2.0])

    assert str(caught.value).endswith("\nhint: as integers they are `[1, 2]`")


# Data and indices


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("gather i.npy d.npy -a 0 -q", "gather d.npy i.npy -a 0 -q"),
        ("gather-elements -V onnx-13 i.npy d.npy", "gather-elements -V onnx-13 d.npy i.npy"),
        ("explain gather i.npy d.npy --axis=-1", "explain gather d.npy i.npy --axis=-1"),
        ("shape gather --axis 1 i.npy d.npy", "shape gather --axis 1 d.npy i.npy"),
        ("check gather i.npy d.npy", "check gather d.npy i.npy"),
        ("gather 0,1 d.npy", "gather d.npy 0,1"),
        ("gather m.npy d.npy", "gather d.npy m.npy"),
    ],
)
def test_data_and_indices_in_each_others_place_are_put_right(
    words: str, meant: str, run: Run, folder: Path
) -> None:
    np.save(folder / "d.npy", np.arange(20).reshape(5, 4) + 0.5)
    np.save(folder / "i.npy", np.array([0, 2]))
    np.save(folder / "m.npy", np.array([[0, 2]]))

    ran = run(*words.split())

    assert hint_of(ran) == f"DATA comes first: `gathercli {meant}`"


@pytest.mark.parametrize(
    ("data", "indices", "hint"),
    [
        ("3x2xi64=1", "2xf32=0 2", "as integers they are `0,2`"),
        ("3x2xi64=1", "2xf32=0.5", "`--indices-dtype int64` converts them if every value is whole"),
        ("3xf32=1", "1x1xf32=1.5", "`--indices-dtype int64` converts them if every value is whole"),
    ],
)
def test_floats_in_the_place_of_indices_are_not_always_data(
    data: str, indices: str, hint: str, run: Run
) -> None:
    assert hint_of(run("gather", data, indices)) == hint


def test_no_fraction_is_cut_off_where_indices_become_integers(run: Run) -> None:
    ran = run("gather", "1,2", "2xf32=0 0.5", "--indices-dtype", "int64")

    assert ran == (
        65,
        "",
        "error: `indices`: the value at `[1]` is 0.5, which int64 cannot hold: "
        "expected one that converts without loss\n"
        "  openvino.Gather-8   data i64[2]\nrule: dtype\n",
    )


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["explain", "gather", "[1,", "2]"],
            "a shell takes words apart at blanks: `'[1, 2]'` is one",
        ),
        (["gather", "[1,", "2]"], "a shell takes words apart at blanks: `'[1, 2]'` is one"),
        (
            ["compare", "arange:5", "[0", "1]", "-a", "0", "--rtol"],
            "`gathercli compare --help` lists the options",
        ),
    ],
)
def test_a_list_split_by_the_shell_is_rejoined_even_if_the_arguments_suffice(
    words: list[str], hint: str, run: Run
) -> None:
    assert f"hint: {hint}\n" in run(*words).err


@pytest.mark.parametrize("command", ["explain", "check", "shape"])
def test_the_hint_adds_a_missing_operator(command: str, run: Run) -> None:
    ran = run(command, "[[1]]", "[[0]]")

    line = f"gathercli {command} gather '[[1]]' '[[0]]'"
    assert ran.err.splitlines()[1] == f"hint: did you mean `{line}`?"
    assert run(*shlex.split(line)[1:]).status == 0


def test_the_hint_names_the_lesson_of_a_word(run: Run) -> None:
    ran = run("explain", "batch_dims")

    assert ran.err.splitlines()[1] == "hint: did you mean `gathercli demo batch-dims`?"
    assert run("demo", "batch-dims").status == 0


def test_an_unknown_operator_is_a_usage_error_with_the_nearest_name(run: Run) -> None:
    assert run("shape", "gathr", "[2]", "[2]") == (
        2,
        "",
        "error: no operator `gathr`: expected gather, gather-elements, gather-nd or "
        "gather-tree\n"
        "hint: did you mean `gathercli shape gather '[2]' '[2]'`?\n",
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["\ud800", "b"], "name the tensor: `'s.json#b'`"),
        (["\0", "b"], "name the tensor: `'s.json#b'`"),
        (["\udcc3\udca9", "b"], "name the tensor: `'s.json#b'`"),
        (["\udce9", "b"], r"name the tensor: `$'s.json#\xe9'`"),
        (["\ud800", "\0"], None),
    ],
)
def test_no_member_is_named_that_no_argument_can_name(
    names: list[str], said: str | None, folder: Path, run: Run
) -> None:
    (folder / "s.json").write_text(json.dumps({key: [1] for key in names}))

    ran = run("gather", "s.json", "[0]")

    assert (ran.status, hint_of(ran)) == (65, said)
