"""What other frameworks' calls correspond to: NumPy's are run beside the versions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.errors import UsageError
from gathercli.frameworks import MODULO, FrameworkRow, every_row
from gathercli.frameworks.equivalents import equivalent, of_framework
from gathercli.ops import OPERATORS
from gathercli.spec.dtypes import INT64
from gathercli.spec.op import FROM_THE_END, REFUSED, Op, OutOfRange
from man.pages import page
from man.prose import Terms
from tests.conftest import Ran

Run = Callable[..., Ran]

BY_NAME: Final = {each.name: each for each in every_row()}
ROWS: Final = {op.full_name: op for op in OPERATORS}
NUMPY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "numpy.take": lambda data, indices: np.take(data, indices, 0),
    "numpy.take_along_axis": lambda data, indices: np.take_along_axis(data, indices, 0),
    "numpy.getitem": lambda data, indices: data[indices],
}

WORDS: Final = {
    "gather": {"data": "arange:3", "indices": "[2,0]"},
    "gather-elements": {"data": "arange:3", "indices": "[2,0]"},
    "gather-nd": {"data": "arange:3", "indices": "[[2],[0]]"},
    "gather-tree": {
        "step_ids": "[[[2,0]]]",
        "parent_ids": "[[[0,0]]]",
        "max_seq_len": "[1]",
        "end_token": "9",
    },
}
"""Small inputs of each operator, by what calls name them, which give 2 and 0."""


def takes_int64(op: Op) -> bool:
    """Whether a call takes numbers without a type."""
    return all(INT64 in each.dtypes or op.adapts for each in op.inputs)


def picker(op: Any, **settings: str) -> Callable[[Any, Any], Any]:
    """Return what takes elements of a 1-D tensor by their indices, with a version."""
    run: Any = getattr(gathercli, op.family.replace("-", "_"))

    def pick(data: Any, indices: Any) -> Any:
        if op.family == "gather-nd":
            return run(data, indices[..., None], version=op.full_name, **settings)
        if (
            op.family == "gather-tree"
        ):  # an index is the parent of a beam, at the first of two steps
            steps, parents = np.stack([data, data])[:, None], np.zeros((2, 1, len(data)), np.int64)
            parents[1, 0, : len(indices)] = indices
            return run(steps, parents, [2], -1, version=op.full_name)[0, 0, : len(indices)]
        return run(data, indices, axis=0, version=op.full_name, **settings)

    return pick


every_call = pytest.mark.parametrize("each", every_row(), ids=[e.name for e in every_row()])


@every_call
def test_a_call_equals_versions_that_exist_and_are_of_one_operator(each: FrameworkRow) -> None:
    assert {ROWS[name].family for name in each.rows} <= {each.op.family}
    assert {where.split()[0].rstrip(",") for where in each.fixes} <= set(ROWS)


OPTIONAL: Final = ("-a", "AXIS", "-b", "BATCH_DIMS")
OTHERS: Final = {
    name: meaning
    for block in page("operators").blocks("OTHER FRAMEWORKS")
    if isinstance(block, Terms)
    for name, meaning in block.pairs
}


@every_call
def test_the_manual_and_the_command_name_one_version_for_a_call(
    each: FrameworkRow, run: Run
) -> None:
    line = OTHERS[each.name].split("`")[1]

    title, _, here, *_ = run("ops", "--like", each.name).out.splitlines()

    first = ROWS[title.rpartition(" ")[2]]
    assert here.split()[1:] == [w for w in line.split() if w not in OPTIONAL]
    assert here.split()[-1] == each.op.id
    for where in each.fixes:
        named = ROWS[where.split()[0].rstrip(",")]
        is_other = named.out_of_range, named.index_range
        assert named == first or is_other != (first.out_of_range, first.index_range)


@every_call
def test_the_lines_that_make_a_call_equal_fit_a_terminal_and_are_python(each: FrameworkRow) -> None:
    for code in each.fixes.values():
        compile(code, each.name, "exec")
        assert max(map(len, code.splitlines())) <= 76


@every_call
def test_a_call_is_found_by_each_of_its_names(each: FrameworkRow) -> None:
    for name in (each.name, *each.aliases, each.name.upper()):
        assert equivalent(name) is each


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("np.take", "numpy.take"),
        (" np.take(x, i) ", "numpy.take"),
        ("jnp.take_along_axis", "jax.numpy.take_along_axis"),
        ("torch.Tensor.gather", "torch.gather"),
        ("tf.gather(params, indices, batch_dims=1)", "tensorflow.gather"),
        ("F.embedding", "torch.nn.functional.embedding"),
        ("np.ndarray[i]", "numpy.getitem"),
        ("data[rows, columns]", "numpy.getitem_nd"),
        ("x[[0, 1], [1, 2]]", "numpy.getitem_nd"),
        ("x[..., rows]", "numpy.getitem"),
        ("cache[mask]", "numpy.getitem_nd"),
        ("data[data > 0]", "numpy.getitem_nd"),
        ("tf.gather_nd(x, i, batch_dims=1)", "tensorflow.gather_nd"),
        ("lax.gather", "jax.lax.gather"),
        ("tfa.seq2seq.gather_tree", "tensorflow_addons.seq2seq.gather_tree"),
    ],
)
def test_a_call_is_found_as_people_write_it(written: str, name: str) -> None:
    assert equivalent(written) is BY_NAME[name]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("torch.gahter", "did you mean `gathercli ops --like torch.gather`?"),
        ("np.takee", "did you mean `gathercli ops --like numpy.take`?"),
        ("", None),
        ("q" * 1000, None),
    ],
)
def test_an_unknown_call_is_refused_naming_the_nearest_and_all_that_are_known(
    written: str, hint: str | None
) -> None:
    with pytest.raises(UsageError) as refused:
        equivalent(written)
    assert (refused.value.rule, refused.value.hint) == ("usage", hint)
    assert f"expected {', '.join([*BY_NAME][:-1])} or {[*BY_NAME][-1]}" in str(refused.value)


def test_a_call_of_an_operator_that_is_not_here_is_refused_with_the_reason(run: Run) -> None:
    ran = run("ops", "--like", "tf.scatter_nd")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(
        "error: no call `tf.scatter_nd` is known (it writes where a gather reads, and no operator "
        f"here does): expected {next(iter(BY_NAME))}, "
    )


# what NumPy does


def done(call: Callable[[Any, Any], Any], index: int) -> str:
    """Run a call on an axis of 3 elements, and say what it did with an index outside 0 to 2."""
    data = np.array([10, 20, 30])
    try:
        (answer,) = call(data, np.array([index]))
    except IndexError:
        return REFUSED
    ways = {
        FROM_THE_END if -3 <= index < 0 else MODULO: data[index % 3],
        OutOfRange.ZERO.done: 0,
        OutOfRange.CLAMP.done: data[min(max(index, 0), 2)],
    }
    (way,) = (name for name, value in ways.items() if value == answer)
    return way


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_does_with_indices_what_the_table_says(name: str) -> None:
    each, call = BY_NAME[name], NUMPY[name]
    assert {done(call, index) for index in (-1, -2)} == {each.op.negative}
    assert {done(call, index) for index in (-5, 4)} == {each.outside}


@pytest.mark.parametrize("name", ROWS)
def test_versions_do_with_indices_what_their_words_say(name: str) -> None:
    op = ROWS[name]
    call = picker(op)

    assert {done(call, index) for index in (-1, -2)} == {op.negative}
    assert {done(call, index) for index in (-5, 4)} == {op.out_of_range.done}


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_equals_the_versions_for_legal_indices(name: str) -> None:
    data = np.arange(12).reshape(4, 3)
    indices = np.array([[3, 0, -1], [-4, 2, 2]])
    for row in BY_NAME[name].rows:
        run = gathercli.gather if ROWS[row].family == "gather" else gathercli.gather_elements
        if name == "numpy.take_along_axis":
            expected = np.take_along_axis(data, indices, 0)
        else:
            expected = NUMPY[name](data, indices)
        assert np.array_equal(run(data, indices, axis=0, version=row), expected)


def test_two_indices_side_by_side_are_tuples() -> None:
    data, i, j = np.arange(24).reshape(2, 3, 4), np.array([[0], [1]]), np.array([2, -1, 0])
    where = np.stack(np.broadcast_arrays(i, j), -1)
    mask = data % 5 == 0
    for row in BY_NAME["numpy.getitem_nd"].rows:
        run = partial(gathercli.gather_nd, version=row)
        assert np.array_equal(run(data, where), data[i, j])
        assert np.array_equal(run(data.transpose(0, 2, 1), where), data[i, :, j])
        assert np.array_equal(run(data, np.argwhere(mask)), data[mask])
        columns = run(data.transpose(1, 2, 0), where)
        assert np.array_equal(np.moveaxis(columns, -1, 0), data[:, i, j])


def test_numpy_differs_as_the_table_says() -> None:
    data = np.arange(9).reshape(3, 3)
    assert np.take(data, [4]).tolist() == [4]  # flattened
    assert np.take([1, 2, 3], [-1, 7], mode="clip").tolist() == [1, 3]
    assert np.take([1, 2, 3], [-4, 7], mode="wrap").tolist() == [3, 2]
    assert np.take(np.array(5), [0], axis=0).tolist() == [5]
    assert np.take_along_axis(data, np.array([[2, 0]]), 1).tolist() == [[2, 0], [5, 3], [8, 6]]
    with pytest.raises(IndexError):
        np.take_along_axis(data, np.array([[2], [0]]), 1)
    with pytest.raises(IndexError):
        np.take(np.zeros((3, 0)), [5], axis=0)  # checked, though nothing is read


def test_the_lines_for_numpy_make_it_equal() -> None:
    ((row, code),) = BY_NAME["numpy.take_along_axis"].fixes.items()
    *before, call = code.splitlines()
    data, indices = np.arange(9).reshape(3, 3), np.array([[2, 0], [-1, 1]])
    for axis in (0, 1):
        values = {"np": np, "data": data, "indices": indices, "axis": axis}
        exec("\n".join(before), values)  # noqa: S102  (it is ours)
        expected = gathercli.gather_elements(data, indices, axis=axis, version=row)
        assert np.array_equal(eval(call, values), expected)  # noqa: S307  (it is ours)


@every_call
def test_lines_make_a_call_equal_to_the_newest_version_of_its_treatment(each: FrameworkRow) -> None:
    for where in each.fixes:
        op = ROWS[where.split()[0].rstrip(",")]
        same = (op.framework, op.family, op.index_range, op.out_of_range, op.flattens_batch)

        newest = next(
            row
            for row in ROWS.values()
            if (row.framework, row.family, row.index_range, row.out_of_range, row.flattens_batch)
            == same
        )

        assert op is newest


def test_lines_that_numpy_runs_treat_indices_as_their_version_does() -> None:
    runs = [
        (ROWS[where], code)
        for each in every_row()
        for where, code in each.fixes.items()
        if where in ROWS and code.startswith("data[")
    ]

    for op, code in runs:
        call = eval(f"lambda data, indices, axis=0: {code}")  # noqa: S307  (it is ours)
        assert {done(call, index) for index in (-1, -2)} == {op.negative}
        assert {done(call, index) for index in (-5, 4)} == {op.out_of_range.done}
    assert runs


@every_call
def test_the_name_of_a_call_in_the_place_of_a_command_is_answered_by_what_equals_it(
    each: FrameworkRow, run: Run
) -> None:
    for name in (each.name, *each.aliases):
        if not takes_int64(each.op):
            pytest.skip("it takes no numbers without a type")
        sizes = "x".join(["3"] * max(each.op.least_rank, 1))
        words = WORDS[each.op.family] | ({"data": f"arange:{sizes}"} if each.op.least_rank else {})
        order = [word for word in each.arguments if word in words] or words

        ran = run(name, *(words[word] for word in order))

        said, hint = ran.err.splitlines()
        equal = f"{each.op.family} -V {each.op.id}"
        assert (ran.status, ran.out) == (2, "")
        assert said == f"error: no command `{name}`: it is `{equal}`"
        line, more = hint.split("`")[1::2]
        assert shlex.split(more)[1:] == ["ops", "--like", each.name]
        assert run(*shlex.split(more)[1:]).status == 0
        assert shlex.split(line)[1] == each.op.family
        picked = run(*shlex.split(line)[1:]).out.strip("[]\n")
        assert picked == ("2,0" if each.op.least_rank < 2 else "6,7,8],[0,1,2")


SHORT: Final = {
    "np.take": "numpy.take",
    "tf.gather": "tensorflow.gather",
    "jnp.take": "jax.numpy.take",
    "jnp.take_along_axis": "jax.numpy.take_along_axis",
    "np.take_along_axis": "numpy.take_along_axis",
    "pytorch.gather": "torch.gather",
    "torch.gather(arange:2x2, 1, [[0],[1]])": "torch.gather",
}
PLACES: Final[dict[str, list[str]]] = {
    "explain": ["explain", "{}", "arange:1", "[0]"],
    "shape": ["shape", "{}", "3", "1"],
    "check": ["check", "{}", "arange:1", "[0]"],
    "batch": ["batch", "--op", "{}", "--data", "arange:1", "--indices", "[0]"],
    "explain alone": ["explain", "{}"],
    "shape alone": ["shape", "{}"],
    "command alone": ["{}"],
}


@pytest.mark.parametrize("name", [*(each.name for each in every_row()), *SHORT])
@pytest.mark.parametrize("words", PLACES.values(), ids=PLACES)
@pytest.mark.usefixtures("one_core")
def test_a_call_is_answered_wherever_an_operator_stands(
    words: list[str], name: str, run: Run
) -> None:
    op = BY_NAME[SHORT.get(name, name)].op

    ran = run(*(word.format(name) for word in words))

    assert (ran.status, ran.out) == (2, "")
    assert f"`{name}`: it is `{op.family} -V {op.id}`" in ran.err.splitlines()[0]
    line = ran.err.splitlines()[1].split("`")[1]
    assert op.least_rank > 1 or not takes_int64(op) or works(line, run)


WORKS: Final[dict[str, bool]] = {}
"""Whether a line was answered; other names of a call lead to the same."""


def works(line: str, run: Run) -> bool:
    if line not in WORKS:
        WORKS[line] = run(*shlex.split(line)[1:]).status == 0
    return WORKS[line]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["torch.gather", "x.npy", "1", "i.npy"],
            "gathercli gather-elements x.npy i.npy --axis 1 -V torch.gather",
        ),
        (
            ["np.take", "x.npy", "i.npy", "-1"],
            "gathercli gather x.npy i.npy --axis -1 -V numpy.take",
        ),
        (["torch.embedding", "x.npy", "i.npy"], "gathercli gather x.npy i.npy -V torch.embedding"),
        (
            ["F.embedding", "i.npy", "x.npy"],
            "gathercli gather x.npy i.npy -V torch.nn.functional.embedding",
        ),
        (
            ["explain", "torch.index_select", "x.npy", "0", "i.npy"],
            "gathercli explain gather x.npy i.npy --axis 0 -V torch.index_select",
        ),
        (
            ["np.take", "x.npy", "i.npy", "-a", "1"],
            "gathercli gather x.npy i.npy -a 1 -V numpy.take",
        ),
    ],
)
def test_the_arguments_of_a_call_are_put_in_the_order_of_the_command(
    words: list[str], hint: str, run: Run
) -> None:
    assert run(*words).err.splitlines()[1].startswith(f"hint: `{hint}`; ")


@every_call
def test_a_call_is_a_version_wherever_one_stands(each: FrameworkRow, run: Run) -> None:
    name = each.name
    sheet = run("ops", name)

    assert (sheet.status, sheet.err) == (0, "")
    assert sheet.out.splitlines()[0] == name
    assert "changes" not in sheet.out
    assert json.loads(run("ops", name, "-f", "json").out)["id"] == name
    assert run("ops", "--diff", name, each.nearest.full_name).out.startswith(f"{name} ")


def test_help_and_the_manual_of_a_call_are_those_of_the_command(run: Run) -> None:
    for command in ("help", "man"):
        ran = run(command, "torch.gather")

        assert ran.status == 2
        assert (
            ran.err.splitlines()[1] == f"hint: did you mean `gathercli {command} gather-elements`?"
        )


def test_python_answers_the_name_of_a_call_in_its_words() -> None:
    with pytest.raises(UsageError) as refused:
        gathercli.infer_shape("torch.gather", "3", "2")

    assert str(refused.value).splitlines() == [
        "no operator `torch.gather`: it is `gather-elements -V torch.gather`",
        'hint: `gather-elements` with `version="torch.gather"`',
    ]


# the view


def test_a_call_beside_its_nearest_version(run: Run) -> None:
    differs = f"\n{' ' * 27}".join(BY_NAME["torch.take_along_dim"].differs)

    ran = run("ops", "--like", "torch.take_along_dim")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "torch.take_along_dim beside onnx.GatherElements-13\n"
        "  call                     torch.take_along_dim(data, indices, axis)\n"
        "  here                     gathercli gather-elements DATA INDICES -V "
        "torch.take_along_dim\n"
        "  equals                   onnx.GatherElements-13 and onnx.GatherElements-11, for legal "
        "indices\n"
        "  index from -s to -1      counted from the end, as in onnx.GatherElements-13\n"
        "  index outside [-s, s-1]  wrapped modulo s; in onnx.GatherElements-13 refused\n"
        f"  otherwise                {differs}\n"
        "\n"
        "to be equal to onnx.GatherElements-13\n"
        "  front = torch.where(indices < 0, indices + data.shape[axis], indices)\n"
        "  torch.gather(data, axis, front)\n"
    )


@every_call
def test_a_call_in_json_has_every_field(each: FrameworkRow, run: Run) -> None:
    listing = json.loads(run("ops", "--like", each.name, "-f", "json").out)
    fixes = [{"equals": where, "code": code} for where, code in each.fixes.items()]
    said = {name: [*getattr(each, name)] for name in ("aliases", "rows", "differs")}
    fates = {name: getattr(each, name) for name in ("name", "call", "outside")}
    fates["negative"] = each.op.negative
    assert listing.pop("here").endswith(f" -V {each.op.id}")
    assert listing == {**said, **fates, "fixes": fixes}


TRANSLATED: Final = {
    ("tf.gather", "x.npy", "[[0],[1]]", "--batch_dims", "1", "--axis", "1"): (
        "gathercli gather x.npy '[[0],[1]]' --batch-dims 1 --axis 1 -V tensorflow.gather"
    ),
    ("torch.gather", "x.npy", "--dim", "1", "x.npy"): (
        "gathercli gather-elements x.npy x.npy --axis 1 -V torch.gather"
    ),
    ("jax.numpy.take", "x.npy", "0,1", "--axis", "1", "--mode", "clip"): None,
    ("torch.gather(x.npy, 1, x.npy)",): (
        "gathercli gather-elements x.npy x.npy --axis=1 -V torch.gather"
    ),
    ("torch.gather(input=x.npy, index=x.npy, dim=-1)",): (
        "gathercli gather-elements x.npy x.npy --axis=-1 -V torch.gather"
    ),
    ("np.take(x.npy, [0, 1], axis=1, mode='clip')",): None,
    ("explain", "x.npy[:, 0]"): "gathercli explain gather x.npy 0 --axis=1 -V numpy.getitem",
    ("x.npy[:, 1]",): "gathercli gather x.npy 1 --axis=1 -V numpy.getitem",
    ("x.npy[..., 1]",): "gathercli gather x.npy 1 --axis=-1 -V numpy.getitem",
    ("tf.gather_nd(x.npy, [[0, 1]], batch_dims=0)",): (
        "gathercli gather-nd x.npy '[[0, 1]]' --batch-dims=0 -V tensorflow.gather_nd"
    ),
    (
        "check",
        "x.npy[rows, columns]",
    ): "gathercli check gather-nd arange:2x3 '[1,2]' -V numpy.getitem_nd",
    ("tfa.seq2seq.gather_tree(s, p, max_sequence_lengths=[1], end_token=9)",): (
        "gathercli gather-tree s p '[1]' 9 -V tensorflow_addons.seq2seq.gather_tree"
    ),
    ("take", "x.npy", "1"): "gathercli gather x.npy 1 -V numpy.take",
    (
        "index_select",
        "x.npy",
        "1",
        "0,",
    ): "gathercli gather x.npy 0, --axis 1 -V torch.index_select",
    ("embedding", "0,", "x.npy"): "gathercli gather x.npy 0, -V torch.nn.functional.embedding",
    ("torch.gather", "x.npy", "1", "x.npy", "--sparse_grad"): None,
}


@pytest.mark.parametrize("words", TRANSLATED)
def test_the_arguments_and_options_of_a_call_are_translated(
    words: tuple[str, ...], run: Run, folder: Path
) -> None:
    np.save(folder / "x.npy", np.array([[0, 1], [1, 0]]))
    (folder / "s").write_text("[[[5,6]],[[7,8]]]")
    (folder / "p").write_text("[[[0,0]],[[1,0]]]")

    ran = run(*words)

    line = ran.err.splitlines()[1].removeprefix("hint: ").split("`")[1]
    expected = TRANSLATED[words]
    if expected is None:
        assert line.startswith("gathercli ops --like ")
    else:
        assert line == expected
        assert run(*shlex.split(line)[1:]).status == 0


@pytest.mark.parametrize("called", ["torch.put", "np.choose", "np.gather", "torch.qqqq"])
def test_a_call_that_is_not_known_is_not_taken_for_another(called: str, run: Run) -> None:
    ran = run("ops", "--like", called)

    assert (ran.status, ran.out) == (2, "")
    assert "hint" not in ran.err


def test_a_subscript_is_found_by_its_name_in_the_table(run: Run) -> None:
    written, own = run("ops", "--like", "data[:, indices]"), run("ops", "--like", "numpy.getitem")

    assert written.status == 0
    assert written == own


@pytest.mark.parametrize(
    ("call", "command"),
    [
        ("gather_tree", "--like tensorflow_addons.seq2seq.gather_tree"),
        ("gather_nd", "--like tensorflow.gather_nd"),
        ("tf.raw_ops.GatherTree", "--like tensorflow_addons.seq2seq.gather_tree"),
        ("tf.contrib.seq2seq.gather_tree", "--like tensorflow_addons.seq2seq.gather_tree"),
        ("aten.index", "--like numpy.getitem_nd"),
        ("onnx.GatherND", "GatherND"),
        ("onnx.GatherElements-13", "GatherElements"),
    ],
)
def test_a_call_that_is_nearly_known_gets_a_hint(call: str, command: str, run: Run) -> None:
    ran = run("ops", "--like", call)

    assert ran.status == 2
    assert f"`gathercli ops {command}`" in ran.err.splitlines()[1]


@pytest.mark.parametrize("word", ["torch", "torch-2.13", "pytorch:2", "torch.nn"])
def test_the_calls_of_a_framework_are_those_of_its_name_and_of_its_tensors(word: str) -> None:
    names = [each.name for each in of_framework(word)]

    assert names == [name for name in BY_NAME if name.startswith("torch.")]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("jnp", [name for name in BY_NAME if name.startswith("jax.")]),
        ("np", [name for name in BY_NAME if name.startswith("numpy.")]),
        ("tf 2", [name for name in BY_NAME if name.startswith("tensorflow.")]),
        ("tfa", ["tensorflow_addons.seq2seq.gather_tree"]),
        ("np.take", ["numpy.take"]),
        ("mxnet", []),
        ("", []),
    ],
)
def test_a_framework_has_the_calls_that_begin_with_its_name(word: str, names: list[str]) -> None:
    assert [each.name for each in of_framework(word)] == names


@pytest.mark.parametrize("length", [39, 40, 41, 200])
def test_of_a_long_name_forty_characters_are_shown(length: int) -> None:
    with pytest.raises(UsageError) as refused:
        equivalent("q" * length)

    assert refused.value.message.startswith(f"no call `{'q' * min(length, 40)}` is known: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("gather-nd", "arange:2x2", "[[1]]", "-V", "torch-2"),
            "hint: did you mean `-V torch.getitem_nd`?",
        ),
        (
            ("gather-tree", "1", "1", "1", "1", "-V", "torch"),
            "(torch has no gather-tree): expected openvino-1\nrule",
        ),
    ],
)
def test_a_framework_as_version_names_its_call_of_the_operator(
    words: tuple[str, ...], said: str, run: Run
) -> None:
    assert said in run(*words).err
