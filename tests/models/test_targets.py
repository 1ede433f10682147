"""The targets of a conversion: every claim of `check --to` is the difference of two rows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import gathercli
from gathercli.errors import UsageError
from gathercli.frameworks import every_framework, framework, names
from gathercli.io.graphs.ir import ELEMENT_TYPES
from gathercli.models.files import read
from gathercli.models.lint import findings
from gathercli.models.targets import every_target, target, target_names
from gathercli.ops import FAMILIES
from gathercli.ops.gather import ROWS as GATHER_ROWS
from gathercli.spec.dtypes import DType, dtype
from gathercli.spec.op import FROM_THE_END, Adaptation, Op
from tests.modelfiles import Ir, one_gather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.models.targets import ConversionTarget
    from gathercli.models.verdict import Finding

OPERATORS: Final = {
    "gather": "Gather",
    "gather-elements": "GatherElements",
    "gather-nd": "GatherND",
}
OPSETS: Final = {"gather": "opset8", "gather-elements": "opset6", "gather-nd": "opset8"}


def declared_rows() -> Iterator[tuple[str, str, Op]]:
    """Yield each target that a file declares, and its row of each family.

    It is the first, or the last of its name, before which those for some calls stand.
    """
    for each in every_framework():
        ids = dict.fromkeys(row.op.id for row in each.rows if row.op.version)
        for name in [*ids] or [each.name] * bool(each.target):
            rows = [row.op for row in each.target if row.op.id == name or not ids]
            for command in FAMILIES:
                own = [op for op in rows if op.family == command]
                if own:
                    yield name, command, [op for op in own if f"{op}" == f"{own[0]}"][-1]


ROWS: Final = [*declared_rows()]
GATHERS: Final = [each for each in ROWS if each[1] in OPERATORS]
IDS: Final = [f"{name} {command}" for name, command, _ in GATHERS]


def layer(
    command: str,
    shape: list[int],
    indices: Any,
    types: tuple[str, str] = ("f32", "i64"),
    batch_dims: int = 0,
) -> Ir:
    """Return a layer with `data` of a shape, and indices: a shape, or a constant array."""
    ir, (data_type, index_type) = Ir(), types
    inputs = [ir.parameter("data", data_type, shape)]
    if isinstance(indices, np.ndarray):
        inputs.append(ir.constant("i", indices))
        size = [*indices.shape]
    else:
        inputs.append(ir.parameter("i", index_type, indices))
        size = [*indices]
    attributes: dict[str, Any] = {"batch_dims": batch_dims}
    if command == "gather":
        inputs.append(ir.constant("axis", np.array(batch_dims)))
        out = [*shape[:batch_dims], *size[batch_dims:], *shape[batch_dims + 1 :]]
    elif command == "gather-elements":
        attributes, out = {"axis": 0}, size
    else:
        out = [*size[:-1], *shape[batch_dims + size[-1] :]]
    ir.result(
        ir.layer(
            "pick", OPERATORS[command], inputs, data_type, out, opset=OPSETS[command], **attributes
        )
    )
    return ir


def small(command: str, index: int) -> Ir:
    """Return a layer with one constant index into an axis of 5."""
    shape = (1, 1) if command == "gather-nd" else (1,)
    return layer(command, [5] if command == "gather-elements" else [5, 2], np.full(shape, index))


def claims(ir: Ir, to: str, folder: Path) -> dict[str, Finding]:
    """Return the findings on the way to a target by their rules."""
    path = ir.save(folder / "m.xml")
    with closing(read(str(path))) as model:
        return {each.rule: each for each in findings(model, [target(to)])}


def test_a_target_is_a_framework_a_number_of_one_an_opset_or_the_newest() -> None:
    every = every_target()

    assert all(target(each.name) == each for each in every)
    assert target(" ONNX-12 ").name == "onnx-12"
    assert target("onnx").name == target("onnx-28").name
    assert target("coreml").name == target("coreml-ios17").name == "coreml-ios17"
    assert target("trt") is target("tensorrt")
    assert len(every) == len(target_names())


@pytest.mark.parametrize("name", names())
def test_every_file_of_a_framework_is_a_target(name: str) -> None:
    each, found = framework(name), target(name)

    assert {op.family for op in found.rows} >= {row.op.family for row in each.rows}
    assert found.sources == each.sources


@pytest.mark.parametrize("name", ["", "onnx-", "onnx-1.2", "tensorrt-10"])
def test_a_name_of_no_target_is_refused_with_all_names(name: str) -> None:
    with pytest.raises(UsageError, match="no target") as refusal:
        target(name)

    assert all(each in refusal.value.message for each in target_names())


@pytest.mark.parametrize("name", ["onnx-0", "onnx-999"])
def test_an_opset_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(UsageError) as refusal:
        target(name)

    assert refusal.value.message == f"no target `{name}`: expected onnx-1 to onnx-28"
    assert refusal.value.hint is None


def test_a_misspelt_target_is_suggested() -> None:
    with pytest.raises(UsageError) as refusal:
        target("tensort")

    assert refusal.value.hint == "did you mean `tensorrt`?"


@pytest.mark.parametrize("each", every_target(), ids=lambda each: each.name)
def test_a_target_says_from_where_it_is_known(each: ConversionTarget) -> None:
    assert each.rows
    assert all(row.source for row in each.rows)
    assert all(each.sources)


def test_an_opset_has_the_operators_of_its_time() -> None:
    assert {row.family for row in target("onnx-10").rows} == {"gather"}
    assert "onnx.GatherND-12" in map(str, target("onnx-12").rows)


@pytest.mark.parametrize(("name", "command", "row"), ROWS)
def test_a_target_runs_the_first_row_of_a_family_or_that_of_a_version(
    name: str, command: str, row: Op
) -> None:
    found = target(name)

    for op in FAMILIES[command].ROWS:
        own = [each for each in found.rows if each.full_name == op.full_name]
        assert found.row(op) == (own[-1] if own else row)


@pytest.mark.parametrize("name", {name: None for name, *_ in ROWS})
def test_a_target_lacks_the_families_without_a_row(name: str) -> None:
    has = {command for own, command, _ in ROWS if own == name}

    assert {command for command, f in FAMILIES.items() if target(name).row(f.ROWS[0])} == has


@pytest.mark.parametrize(("name", "command", "row"), GATHERS, ids=IDS)
def test_an_index_from_the_end_is_a_claim_unless_the_row_counts_it_so(
    name: str, command: str, row: Op, tmp_path: Path
) -> None:
    model = one_gather(OPERATORS[command], [5, 2], np.full((1, 1), -1))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())

    with closing(read(str(path))) as opened:
        found = [
            each.does for each in findings(opened, [target(name)]) if each.rule == "index-legal"
        ]

    expected = {target(name).named(row): row.negative}
    assert found == ([] if row.negative == FROM_THE_END else [expected])


@pytest.mark.parametrize("index", [5, -6, 99])
@pytest.mark.parametrize(("name", "command", "row"), GATHERS, ids=IDS)
def test_an_index_outside_has_the_fate_of_the_row(
    name: str, command: str, row: Op, index: int, tmp_path: Path
) -> None:
    found = dict(claims(small(command, index), name, tmp_path)["index-range"].does)

    own = found.pop(f"openvino.{OPERATORS[command]}-{OPSETS[command][-1]}")
    assert found == (
        {}
        if (own, name) == (row.out_of_range.done, "openvino")
        else {target(name).named(row): row.out_of_range.done}
    )


def test_an_index_below_the_axis_does_not_count_from_the_end(tmp_path: Path) -> None:
    model = one_gather(data=[2, 3], indices=[-5], opset=10)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())

    with closing(read(str(path))) as opened:
        (finding,) = findings(opened, [target("openvino"), target("numpy")])

    assert finding.does == {
        "onnx.Gather-1": "refused",
        "openvino": "zero-filled",
        "numpy.getitem": "refused",
    }


def test_an_index_that_does_not_fit_has_no_other_fate(tmp_path: Path) -> None:
    found = claims(small("gather", 2**40), "jax", tmp_path)["index-range"]

    assert found.does["jax.numpy.take"] == "read in fewer bits"
    assert found.text.endswith("and jax.numpy.take reads it in fewer bits")


@pytest.mark.parametrize("data_type", ELEMENT_TYPES, ids=str)
@pytest.mark.parametrize("command", OPERATORS)
def test_a_type_of_data_is_refused_or_narrowed_as_the_row_says(
    command: str, data_type: DType, tmp_path: Path
) -> None:
    indices = {"gather": [1], "gather-elements": [1, 2], "gather-nd": [1, 1]}[command]
    ir = layer(command, [5, 2], indices, (ELEMENT_TYPES[data_type], "i32"))

    for name, its, row in GATHERS:
        if its != command:
            continue
        found = claims(ir, name, tmp_path)
        narrow = (row.adapts or Adaptation()).narrow.get(data_type)
        taken = (narrow or data_type) in row.input("data").dtypes
        assert ("data-dtype" not in found) == taken, name
        note = found.get("data-width")
        assert (note is None) == (narrow is None or row.framework == "openvino"), name
        assert note is None or note.message.endswith(f"computes as {narrow}")


@pytest.mark.parametrize("index_type", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("command", ["gather", "gather-nd"])
def test_a_type_of_indices_is_refused_as_the_row_says(
    command: str, index_type: str, tmp_path: Path
) -> None:
    ir = layer(command, [5, 2], [1] if command == "gather" else [1, 1], ("f32", index_type))

    for name, its, row in GATHERS:
        if its != command:
            continue
        how, index = row.adapts or Adaptation(), dtype(index_type)
        cut = how.narrow.get(index, index)
        if cut.bits > how.index_bits:
            cut = dtype(f"{cut.kind.value}{how.index_bits}")
        found = claims(ir, name, tmp_path)
        assert ("indices-dtype" not in found) == (cut in row.input("indices").dtypes), name


@pytest.mark.parametrize("rank", [1, 2, 5, 6, 8, 9])
@pytest.mark.parametrize(("name", "command", "row"), GATHERS, ids=IDS)
def test_a_rank_is_a_claim_beyond_the_limit_of_the_row(
    name: str, command: str, row: Op, rank: int, tmp_path: Path
) -> None:
    indices = [1] * rank if command == "gather-elements" else [1]
    found = claims(layer(command, [1] * rank, indices), name, tmp_path)

    limits = [(rank, row.most_rank), (len(indices), row.most_index_rank)]
    beyond = [each for each, most in limits if most is not None and each > most]
    assert ("rank-most" in found) == bool(beyond)
    assert ("call-rank" in found) == (rank < row.least_rank)


def test_a_rank_of_indices_and_of_the_output_has_a_limit(tmp_path: Path) -> None:
    indices = claims(layer("gather-nd", [5], [1] * 6), "coreml", tmp_path)
    tensors = claims(layer("gather", [1] * 5, [1, 1]), "coreml", tmp_path)

    assert indices["rank-most"].message == "`indices` has rank 6: coreml-ios17 has 5 at most"
    assert tensors["rank-most"].message == "`output` has rank 6: coreml-ios17 has 5 at most"


@pytest.mark.parametrize("batch_dims", [1, 2])
@pytest.mark.parametrize("command", ["gather", "gather-nd"])
def test_batch_dimensions_are_a_claim_beyond_those_of_the_row(
    command: str, batch_dims: int, tmp_path: Path
) -> None:
    ir = layer(command, [2, 2, 3], [2, 2, 1], batch_dims=batch_dims)

    for name, its, row in GATHERS:
        if its != command:
            continue
        found = claims(ir, name, tmp_path)
        most = row.most_batch_dims
        assert ("batch-dims-unsupported" in found) == (not row.has_batch_dims), name
        assert ("batch-dims-most" in found) == (most is not None and batch_dims > most), name


SOME_CALLS: Final = {
    "openvino counts short integers without a check": (
        layer("gather", [5], np.array([9]), ("i32", "i64")), "openvino", "undefined",
    ),
    "openvino checks floats": (layer("gather", [5], np.array([9])), "openvino", "zero-filled"),
    "openvino checks matrices": (
        layer("gather", [5], np.array([[9]]), ("i32", "i64")), "openvino", "zero-filled",
    ),
    "tflite checks positions": (
        layer("gather-nd", [5, 2], np.array([[9]])), "tflite.GATHER_ND", "refused",
    ),
    "tflite checks no number of a longer tuple": (
        layer("gather-nd", [5, 2], np.array([[0, 2]])), "tflite.GATHER_ND", "undefined",
    ),
    "tflite refuses every negative number": (
        layer("gather-nd", [5, 2], np.array([[0, -9]])), "tflite.GATHER_ND", "refused",
    ),
    "tflite checks no coordinate": (
        layer("gather-elements", [5, 2], np.array([[9, 0]])), "tflite.GATHER_ND", "undefined",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SOME_CALLS)
def test_a_row_for_some_calls_stands_before_that_of_all(case: str, tmp_path: Path) -> None:
    ir, name, fate = SOME_CALLS[case]

    found = claims(ir, name.partition(".")[0], tmp_path)["index-range"]

    assert found.does.get(name, "zero-filled") == fate


def test_tflite_takes_strings_of_one_dimension(tmp_path: Path) -> None:
    rules = [
        claims(layer("gather", shape, [1], ("string", "i64")), "tflite", tmp_path)
        for shape in ([5], [5, 2])
    ]

    assert ["data-dtype" in each for each in rules] == [False, True]


MLX: Final = """
title = 'MLX'
release = '0.29'

[rows.take]
like = 'openvino.Gather-1'
call = 'mx.take(data, indices, axis)'
legal = '[0, s-1]'
outside = 'undefined'
only_axis = 1
evidence = 'made up'
"""


def test_a_file_with_nothing_but_rows_is_a_target(tmp_path: Path) -> None:
    package = tmp_path / "site" / "gathercli"
    shutil.copytree(Path(gathercli.__file__).parent, package)
    (package / "frameworks" / "mlx.toml").write_text(MLX)
    (tmp_path / "m.onnx").write_bytes(one_gather(indices=[-1]).SerializeToString())
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}

    ran = subprocess.run(
        [sys.executable, "-m", "gathercli", "check", "m.onnx", "--to", "mlx"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (1, "")
    assert (
        "`axis` is 0, which mlx.take does not take: expected 1; mlx.take refuses it" in ran.stdout
    )
    assert "expected 0 to 9 for mlx (1 of 1 index); mlx.take leaves it undefined" in ran.stdout


def test_the_first_versions_of_onnx_refuse_what_later_ones_count_from_the_end() -> None:
    first = min(op.version for op in GATHER_ROWS if op.framework == "onnx")

    assert target(f"onnx-{first}").rows[0].negative == "refused"
    assert target("onnx").rows[0].negative == FROM_THE_END
