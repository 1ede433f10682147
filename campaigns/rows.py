"""Rows beside their runtimes: ``python -m campaigns.rows [-n CALLS] [--with NAMES] [ROW]...``.

``GATHERCLI_PEERS=torch=/venv/bin/python,…`` names the Pythons that have the runtimes. Each row that
has code, and each version that has models, is called with random tensors of all types, legal and
illegal indices, and empty shapes, in any of its ways; each difference is printed as a call that
repeats it, and counted by its kind. A mistake that the file of the framework knows is counted by
its text.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import run
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.frameworks import FrameworkRow, every_framework, framework
from gathercli.ops import OPERATORS
from gathercli.runtimes.calls import CONSTANT, DYNAMIC, STATIC, RuntimeCall
from gathercli.runtimes.client import RuntimeProcess, runtimes_of
from gathercli.runtimes.declared import NAMES, OPENVINO, known_mistake, mistakes_of, runtimes
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import BOOL, DTYPES, STRING, DType, Kind
from gathercli.spec.op import IndexRange
from tests.random_calls import Dice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.cli.slice_options import Observation
    from gathercli.spec.op import Op

    Answers = Callable[["Drawn"], Observation]

MOST_PRINTED: Final = 3  # the most calls to print for a kind of difference


class Drawn(NamedTuple):
    """A call of a row."""

    call: RuntimeCall
    tensors: dict[str, Tensor]
    attrs: dict[str, Any]

    def __str__(self) -> str:
        inputs = (f"{each} {_text(each)}" for each in self.tensors.values())
        return f"{self.call.text} {self.attrs}\n    {'; '.join(inputs)}"


def main() -> None:
    """Call every row, and print where the runtime differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--with", dest="names", default=",".join(NAMES))
    parser.add_argument("rows", nargs="*")
    words = parser.parse_args()
    peers = runtimes_of(os.environ.get("GATHERCLI_PEERS", ",".join(NAMES)))
    for peer in peers:
        for row in _rows(peer.name) if peer.name in words.names.split(",") else ():
            if words.rows and not {row.name, row.op.framework} & {*words.rows}:
                continue
            with RuntimeProcess(peer, 60) as process:
                kinds = differences(row, _answers(process), words.n, words.seed, peer.name)
                name = ", ".join(filter(None, (row.name, row.way, process.full_name)))
                print(f"{name}: {sum(kinds.values())} calls", flush=True)
                for kind, count in kinds.most_common():
                    print(f"  {count:6} {kind}", flush=True)


def _rows(runtime: str) -> Iterator[FrameworkRow]:
    """Yield the rows of a runtime, and the versions of its models in each way."""
    for of in every_framework() if not runtimes()[runtime].models else ():
        yield from (row for row in (*of.rows, *of.ways) if row.code and of.runtime == runtime)
    for op in OPERATORS:
        if op.framework in runtimes()[runtime].models and not op.followed:
            yield FrameworkRow(op, "", op)


def _answers(process: RuntimeProcess) -> Answers:
    return lambda drawn: drawn.call.run(process, drawn.tensors, drawn.attrs)


def differences(
    row: FrameworkRow, answer: Answers, count: int, seed: int, runtime: str = ""
) -> Counter[str]:
    """Call a row so many times, print the differences, and count the calls by their outcome."""
    kinds: Counter[str] = Counter()
    for number in range(count):
        call = _drawn(row, Dice(seed * count + number), runtime)
        ours, theirs = _ours(row, call), answer(call)
        said = _difference(ours, theirs)
        if said.startswith("!"):
            said = known(row, call, ours, theirs) or said
        kind = said if said.startswith("known") else said.partition(":")[0]
        kinds[kind] += 1
        if said.startswith("!") and kinds[kind] <= MOST_PRINTED:
            print(f"  {row.name}, seed {seed * count + number}: {said}\n    {call}", flush=True)
    return kinds


def known(row: FrameworkRow, drawn: Drawn, ours: Tensor | str, theirs: Observation) -> str:
    """Return the mistake of the framework that a difference is; empty for none."""
    mistake = known_mistake(
        mistakes_of(row.op.framework, drawn.call.runtime),
        drawn.tensors,
        theirs.tensor,
        **{"axis": None, "batch_dims": 0, **drawn.attrs},
        row=row.op.name,
        way=drawn.call.way,
        refused=ours.partition(":")[0] if isinstance(ours, str) else "",
        problem=theirs.problem or "",
    )
    return f"known of {mistake.release}: {mistake.what}" if mistake else ""


def _text(tensor: Tensor) -> str:
    return str(tensor.values().tolist())[:80] if tensor.dtype is not STRING else ""


def _ours(row: FrameworkRow, drawn: Drawn) -> Tensor | str:
    """Return the result of a row, or why it has none."""
    tensors = drawn.tensors.values()
    try:
        call = ops.bind(row.op, *map(Operand.of, tensors), **drawn.attrs)
        return run(BoundCall(call, *tensors)).whole()
    except GatherError as error:
        return f"{error.rule}: {error}"


def _difference(ours: Tensor | str, theirs: Observation) -> str:
    """Return how the answers differ, after a ``!``; what both do otherwise."""
    if theirs.problem is not None or theirs.tensor is None:
        if isinstance(ours, str):
            return "both refuse"
        return f"! it {theirs.problem}: {theirs.message}"
    result = theirs.tensor
    if isinstance(ours, str):
        return f"! we refuse {ours.partition(':')[0]}: {ours}; it gives {result} {_text(result)}"
    if ours.shape != result.shape:
        return f"! shape: {ours}, it {result}"
    if ours.dtype is not result.dtype:
        return f"! type: {ours}, it {result}"
    same = np.array_equal(_bits(ours), _bits(result))
    return "equal" if same else f"! values: {_text(ours)}, it {_text(result)}"


def _bits(tensor: Tensor) -> Any:
    """Return the elements; NaN is equal to NaN."""
    if tensor.dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        return np.where(np.isnan(tensor.values()), tensor.array.dtype.type(123), tensor.array)
    return tensor.array.astype(str) if tensor.dtype is STRING else tensor.array


def _drawn(row: FrameworkRow, dice: Dice, runtime: str = "") -> Drawn:
    """Draw tensors, attributes and the code of a call; most are near a legal one."""
    op, how = row.op, row.op.adapts
    rank = dice.number(0, 4) if dice.number(0, 5) == 0 else dice.number(1, 3)
    if op.least_rank and dice.number(0, 9):
        rank = op.least_rank
    shape = [dice.number(0 if dice.number(0, 5) == 0 else 1, 4) for _ in range(rank)]
    axis = dice.number(-rank, rank - 1) if rank else 0
    axis = axis if op.only_axis is None else op.only_axis
    place = axis % rank if rank else 0
    batch = dice.number(0, min(place + op.tuples, 2)) if op.has_batch_dims and rank else 0
    its = _shape_of_indices(op, dice, shape, place, batch)
    if how is not None and how.broadcasts:
        shape = [1 if d != place and not dice.number(0, 5) else n for d, n in enumerate(shape)]
    legal = dice.number(0, 1) == 0
    default = op.attr("axis")
    attrs: dict[str, Any] = {"axis": axis} if default else {}
    flattens = how is not None and how.flattens
    has_default = default and (default.default != 0 or flattens)
    if has_default and row.code and dice.number(0, 5) == 0:  # an IR lacks no attribute
        attrs = {}
    if flattens and op.most_rank == 1:
        attrs = {}
    if batch:
        attrs["batch_dims"] = batch
    size = int(np.prod(shape)) if flattens and not attrs else shape[place] if rank else 1
    if op.tuples:
        size = min(shape[batch:], default=1)
    tensors = {
        "data": _data(_type_of_data(op, dice, runtime), shape, dice),
        "indices": _indices(row, dice, its, size, legal=legal),
    }
    words = {
        "axis": attrs.get("axis", default and default.default),
        "batch_dims": batch,
        "position": place,
        "before": ":, " * place,
    }
    code, of = " ".join(row.code.format(**words).split()), framework(op.framework)
    way = dice.one_of([STATIC, DYNAMIC, CONSTANT]) if op.framework == OPENVINO else row.way
    text = ", ".join(filter(None, (code or op.full_name, way)))
    call = RuntimeCall(runtime or of.runtime, text, op, code, of.functions, way)
    return Drawn(call, tensors, attrs)


def _shape_of_indices(
    op: Op, dice: Dice, shape: list[int], place: int, batch: int
) -> tuple[int, ...]:
    """Draw a shape that fits `data` of a shape in most calls."""
    if op.elementwise:
        sizes = [n if dice.number(0, 5) else dice.one_of([0, 1, 1, n + 1]) for n in shape]
        sizes[place : place + 1] = [dice.number(0, 4)] * bool(shape)
        return tuple(sizes if dice.number(0, 19) else sizes[1:])
    free = dice.number(0, 4) if op.most_index_rank == 1 and dice.number(0, 3) else None
    sizes = [dice.number(0 if dice.number(0, 3) == 0 else 1, 3) for _ in range(dice.number(0, 2))]
    sizes = shape[:batch] + sizes if free is None else [free]
    if op.tuples:
        most = max(1, len(shape) - batch)
        sizes.append(dice.number(op.shortest_tuple, most + (dice.number(0, 9) == 0)))
    return tuple(sizes)


def _type_of_data(op: Op, dice: Dice, runtime: str) -> DType:
    """Draw a type that the row takes, or at times one that a file holds; one that models have."""
    if own := runtime and runtimes()[runtime].types:
        return dice.one_of([each for each in op.inputs[0].dtypes if each in own])
    held = [each for each in DTYPES if not each.narrow or each.bits == 8]
    return dice.one_of(op.inputs[0].dtypes if dice.number(0, 5) else held)


def _indices(
    row: FrameworkRow, dice: Dice, shape: tuple[int, ...], size: int, *, legal: bool
) -> Tensor:
    """Draw indices of a type that is not a mask: legal ones, or those around the axis, or far."""
    integers = [each for each in DTYPES if each.integral and not each.opaque]
    integers = [each for each in integers if each.name not in row.masks]
    taken = [each for each in row.op.inputs[1].dtypes if each in integers]
    dtype = dice.one_of(taken if dice.number(0, 7) else integers)
    signed = row.op.index_range is IndexRange.SIGNED and dice.number(0, 1)
    least, most = (-size if signed else 0, size - 1) if legal else (-size - 1, size + 1)
    far = dice.one_of([2**31, 2**32, 2**33 + 1, 2**64]) if dice.number(0, 9) == 0 else 0
    bottom, top = dtype.bounds
    numbers = []
    for _ in range(int(np.prod(shape, dtype=np.int64))):
        number = dice.number(least, max(least, most)) + far * dice.number(-1, 1)
        numbers.append(number if bottom <= number <= top else max(0, min(most, int(top))))
    return Tensor(dtype, np.array(numbers, storage_of(dtype)).reshape(shape))


def _data(dtype: DType, shape: list[int], dice: Dice) -> Tensor:
    cells = int(np.prod(shape, dtype=np.int64))
    if dtype is STRING:
        return Tensor(dtype, np.array([f"t{n}" for n in range(cells)], np.str_).reshape(shape))
    if dtype is BOOL:
        bits = [dice.number(0, 1) for _ in range(cells)]
        return Tensor(dtype, np.array(bits, bool).reshape(shape))
    storage = np.dtype(storage_of(dtype))
    if dtype.opaque:
        numbers = dice.random.integers(0, 2**dtype.bits, cells)
    elif dice.number(0, 3):
        numbers = np.arange(1, cells + 1)
    else:  # any bits
        numbers = np.frombuffer(dice.random.bytes(cells * storage.itemsize), storage)
    return Tensor(dtype, numbers.astype(storage).reshape(shape))


if __name__ == "__main__":
    main()
