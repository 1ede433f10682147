"""Calls of a version that a runtime must answer as it says, made of its row.

The calls are the same ones each time: nothing is drawn at random. They are legal ones, of every
rank, axis, type and kind of index that the row takes; illegal ones, each near a rule; and odd ones,
legal or not, at which runtimes are known to err, or of which their texts say little.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.run import answer
from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import OperatorError, UsageError
from gathercli.frameworks import every_row
from gathercli.frameworks.versions import row_of
from gathercli.io.arraylike import as_numpy, typed
from gathercli.runtimes.calls import onnx_model, openvino_model
from gathercli.runtimes.declared import ONNX, OPENVINO
from gathercli.slices import given
from gathercli.spec.call import CallContext, Operand
from gathercli.spec.dtypes import BOOL, INT64, PLAIN, STRING, DType, Kind, dtype
from gathercli.spec.op import Adaptation, IndexRange, Op
from gathercli.spec.shapes import product
from gathercli.text import listed, short, table_beside

if TYPE_CHECKING:
    import numpy.typing as npt

    CaseKind: TypeAlias = Literal["legal", "illegal", "odd"]
    Sizes: TypeAlias = tuple[int, ...]

FLOAT32, INT32 = dtype("float32"), dtype("int32")
KINDS: Final = ("legal", "illegal", "odd")  # of cases
UNDEFINED: Final = "index-undefined"  # the rule of what a framework leaves open


@dataclass(frozen=True, eq=False)
class ConformanceCase:
    """A call of a version, and what a runtime must answer.

    Attributes
    ----------
    name, op, version
        The name, as `str` gives it; the operator, ``gather``; its version, ``onnx-13``.
    kind
        ``legal``, ``illegal``, which the version refuses, or ``odd``, at which runtimes err, or of
        which texts say little.
    inputs, attributes
        The arrays by name, types that NumPy lacks as those of `ml_dtypes`; the attributes that are
        given, others are left out.
    expected
        The output; None where the version refuses the call.
    rule, refusal
        The rule that refuses it, and how; empty where none does.
    why
        What the call tries.
    row, tensors
        The version, and the inputs, as the package has them.
    """

    name: str
    op: str
    version: str
    kind: CaseKind
    inputs: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    attributes: Mapping[str, int]
    expected: npt.NDArray[Any] | None = field(repr=False)
    rule: str
    refusal: str = field(repr=False)
    why: str
    row: Op
    tensors: Mapping[str, Tensor] = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def data(self) -> npt.NDArray[Any]:
        """The first input."""
        return self.inputs[self.row.inputs[0].name]

    @property
    def indices(self) -> npt.NDArray[Any]:
        """The second input."""
        return self.inputs[self.row.inputs[1].name]

    @property
    def refused(self) -> bool:
        """Whether the version refuses the call."""
        return self.expected is None

    def model(self) -> bytes:
        """Return a model with a single node: of ONNX, or the text of an IR, see `files`."""
        return next(iter(self.files().values()))

    def files(self) -> dict[str, bytes]:
        """Return the files of the model by name, the model first; an IR has ``model.bin`` too."""
        if self.row.framework == ONNX and not self.row.text:
            return {"model.onnx": onnx_model(self.row, self.tensors, self.attributes)}
        if self.row.framework == OPENVINO and not self.row.text:
            model = openvino_model(self.row, self.tensors, self.attributes)
            return {"model.xml": model.xml.encode(), "model.bin": model.weights}
        raise UsageError(f"{self.row} is of no model", value=self.version, expected="a version")

    def assert_answer(self, answer: Callable[[ConformanceCase], Any]) -> None:
        """Call a runtime, and assert that it answers or refuses as the version does."""
        __tracebackhide__ = True
        try:
            result = answer(self)
        except Exception as error:
            if self.refused and isinstance(error, AttributeError | ImportError | NameError):
                raise  # a mistake in the function, not a refusal
            result = error
        self.check(result)

    def check(self, result: Any) -> None:
        """Assert that a result, or the exception in its place, is what the version says."""
        __tracebackhide__ = True
        error, row, why = result if isinstance(result, BaseException) else None, self.row, ""
        if error is not None and not self.refused:
            what = short(" ".join(f"{type(error).__name__}: {error}".split()), 300)
            why = f"{row} takes the call, which is refused: {what}"
        elif error is None and self.refused and self.rule != UNDEFINED:
            array = np.asarray(result)
            gives = f"{array.dtype}{list(array.shape)} {short(str(array.tolist()), 80)}"
            why = f"{row} refuses the call, which gives {gives}\n{self.rule}: {self.refusal}"
        elif error is None and not self.refused:
            inputs = list(self.inputs.values())
            check = given("tests", "mismatch")
            why = check(row, inputs, result, **self.attributes)
        if why:
            raise AssertionError(f"{why}\n{self}: {self.why} ({row.source})") from error


@typed
def cases(
    op: str,
    *,
    version: str | int | None = None,
    kind: CaseKind | None = None,
    dtypes: Collection[str] | None = None,
) -> list[ConformanceCase]:
    """Return the cases of a version, of a kind, and with data of some types; None for all."""
    if kind not in (None, *KINDS):
        raise UsageError(f"is `{kind}`", subject="kind", value=kind, expected=listed(KINDS))
    row = row_of(op, version)
    types = None if dtypes is None else {dtype(name) for name in dtypes}
    return [
        case
        for case in cases_of(row)
        if kind in (None, case.kind)
        and (types is None or case.tensors[row.inputs[0].name].dtype in types)
    ]


def cases_of(row: Op) -> list[ConformanceCase]:
    """Return all cases of a row."""
    return list(tree_cases(row) if row.followed else CaseTable(row).all())


def _answered(
    row: Op, name: str, why: str, tensors: Sequence[Tensor], attrs: Mapping[str, int], *, odd: bool
) -> ConformanceCase:
    expected, rule, refusal, options = None, "", "", dict[str, Any](attrs)
    try:
        with CallContext(row):
            call = ops.bind(row, *map(Operand.of, tensors), **options)
            expected = as_numpy(answer(BoundCall(call, *tensors)))
    except OperatorError as error:
        rule, refusal = error.rule, error.message
    kind: CaseKind = "odd" if odd else "illegal" if rule else "legal"
    named = {each.name: tensor for each, tensor in zip(row.inputs, tensors, strict=True)}
    inputs = {each: as_numpy(tensor) for each, tensor in named.items()}
    words, answers = (f"{kind}-{name}", row.family, row.id, kind), (expected, rule, refusal)
    return ConformanceCase(*words, inputs, attrs, *answers, why, row, named)


SIZES: Final = (3, 2, 4, 5)  # of `data`, from the front
# Indices that do not fit into 32 bits, or signed 64; some lie on the axis when they are cut.
HUGE: Final = (2**31, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63), 2**64 - 1)
# Types that are tried, where a row does not take them.
OTHER_TYPES: Final = (*PLAIN, dtype("int4"), dtype("float8_e4m3fn"))


def data_of(shape: Sizes, of: DType) -> Tensor:
    """Return data whose elements differ; 32 bits, or float32, do not hold those of wider types."""
    n = np.arange(1, product(shape) + 1)
    elements: Any = {
        Kind.STRING: np.char.add("s", n.astype(np.str_)),
        Kind.BOOL: n * n // 3 % 2 == 0,
        Kind.COMPLEX: n - 1j * n,
        Kind.FLOAT: n + (0.1 if of.bits == 64 else 0.5),
    }.get(of.kind, n * {64: 2**33 + 1, 32: 2**16 + 1}.get(of.bits, 1))
    if of.opaque:
        elements = n * 37 % 2**of.bits  # subnormal floats, and others
    elements = elements if of is STRING else elements.astype(storage_of(of))
    return Tensor(of, elements.reshape(shape))


def picks(sizes: Sequence[int], count: int, *, signed: bool, most: int = 2**63) -> list[int]:
    """Return legal indices, unsorted, some of them twice, with `signed` every other negative.

    They count along `sizes` in turn, as the components of tuples do; none is above `most`.
    """
    values = []
    for n in range(count):
        s = sizes[n % len(sizes)] or 1
        k = min((n * n + n // 2 + s - 1) % s, most)
        values.append(k - s if signed and n % 2 and k - s > -most else k)
    return values


class CaseTable:
    """The calls of a row that has `data` and `indices`."""

    def __init__(self, row: Op) -> None:
        self.row, how = row, row.adapts or Adaptation()
        self.flattens, always = how.flattens, how.flattens and row.most_rank == 1
        self.has_axis = row.attr("axis") is not None and not always
        least, most = max(1, row.least_rank), 2 if always else min(row.most_rank or 4, len(SIZES))
        self.ranks = range(least, most + 1)
        self.shape = SIZES[: min(max(2, least), most)]  # of most calls
        free = 2 if row.most_index_rank is None else row.most_index_rank - row.tuples
        self.frees = [each for each in ((2,), (3, 2), ()) if len(each) <= free]
        data, indices = (each.dtypes for each in row.inputs)
        self.of = FLOAT32 if FLOAT32 in data else data[0]
        self.by = INT64 if INT64 in indices else max(indices, key=lambda each: each.bits)
        own = (each for each in every_row(row.family) if each.op is row)
        self.masks = next((each.masks for each in own), ())  # types that are no indices there

    def all(self) -> Iterator[ConformanceCase]:
        """Yield all calls."""
        yield from self._ranks()
        yield from self._types()
        yield from self._values()
        for fields in table_beside(__name__)["calls"]:
            words = {"of": self.row.family, **fields}
            is_own = self.row.family in words.pop("of").split()
            if is_own and (self.row.has_batch_dims or "batch" not in words):
                yield self.case(**words)

    def case(
        self,
        name: str,
        why: str,
        data: Sequence[int] | None = None,
        free: Sequence[int] = (4,),
        *,
        indices: Sequence[int] | None = None,
        axis: int | None = 0,
        batch: int = 0,
        depth: int = 1,
        values: Sequence[int] = (),
        last: int | None = None,
        attrs: Mapping[str, int] | None = None,
        type: DType | None = None,  # noqa: A002  (of `data`)
        by: DType | None = None,
        odd: bool = False,
    ) -> ConformanceCase:
        """Return a call, as conformance.toml describes it, with types of data and of indices."""
        row, shape, by = self.row, self.shape if data is None else tuple(data), by or self.by
        axis = None if not self.has_axis else axis if row.only_axis is None else row.only_axis
        place = axis % len(shape) if axis is not None and shape else 0
        sizes, its = shape[place : place + 1], (*shape[: max(batch, 0)], *free)
        if row.tuples:
            sizes, its = shape[batch : batch + depth], (*its, depth)
        elif row.elementwise:
            its = (*shape[:place], product(free), *shape[place + 1 :])
        if axis is None and self.flattens:
            sizes = (product(shape),)
        its = its if indices is None else tuple(indices)
        signed = row.index_range is IndexRange.SIGNED and by.kind is Kind.INT
        chosen = picks(sizes or (1,), product(its), signed=signed, most=by.bounds[1])
        chosen[: len(values)] = values[: len(chosen)]
        chosen[-1:] = chosen[-1:] if last is None else [last] * bool(chosen)
        bits = [k % 2**by.bits for k in chosen] if by.opaque else chosen
        if not by.integral:  # which is refused
            bits = [0] * len(chosen)
        numbers = np.array(bits, np.str_ if by is STRING else storage_of(by))
        tensors = data_of(shape, type or self.of), Tensor(by, numbers.reshape(its))
        given = {} if axis is None else {"axis": axis}
        given |= {"batch_dims": batch} if batch else {}
        return _answered(row, name, why, tensors, given if attrs is None else attrs, odd=odd)

    def _ranks(self) -> Iterator[ConformanceCase]:
        """Yield calls of each rank, along each axis, or by tuples of each length."""
        for rank in self.ranks:
            axes = range(-rank, rank) if self.has_axis and self.row.only_axis is None else (0,)
            why, shape = f"data of rank {rank}", SIZES[:rank]
            for n in range(1, rank + 1) if self.row.tuples else axes:
                free = self.frees[(rank + n) % len(self.frees)]
                part = f"depth-{n}" if self.row.tuples else f"axis{n:+}"
                own: Any = {"depth" if self.row.tuples else "axis": n}
                yield self.case(f"rank-{rank}-{part}", why, shape, free, **own)
        if self.row.attr("axis") is not None:
            yield self.case("no-axis", "the axis is left out", values=[0] * 8, attrs={})

    def _types(self) -> Iterator[ConformanceCase]:
        """Yield calls with data and indices of each type, and of types that the row lacks."""
        data, indices = (each.dtypes for each in self.row.inputs)
        for of in dict.fromkeys((*data, *OTHER_TYPES)):
            odd = of in data and (of.opaque or of in (STRING, BOOL))
            yield self.case(f"data-{of}", f"data of {of}", type=of, odd=odd)
            if of not in data:
                why = f"data of {of}, and no indices"
                yield self.case(f"no-index-{of}", why, free=(0,), type=of, odd=True)
            elif self.row.out_of_range.fills:
                why = f"what {of} has for an index outside"
                row = (3,) if 1 in self.ranks else None
                yield self.case(f"outside-{of}", why, row, last=7, type=of, odd=odd)
        if STRING in data:
            by, why = min(indices, key=lambda each: each.bits), "strings by the shortest indices"
            yield self.case("strings-by-short", why, type=STRING, by=by, odd=True)
        for by in dict.fromkeys((*indices, *OTHER_TYPES)):
            if by.name in self.masks:
                continue
            odd = by in indices and by.opaque
            yield self.case(f"indices-{by}", f"indices of {by}", by=by, odd=odd)
            if by.integral and by not in indices:
                why = f"a single index of {by}"
                yield self.case(f"index-0-d-{by}", why, free=(), by=by, odd=True)

    def _values(self) -> Iterator[ConformanceCase]:
        """Yield calls with indices at the ends of the axis, behind them and far from it."""
        s = self.shape[0] if self.has_axis or not self.flattens else product(self.shape)
        data, indices = (each.dtypes for each in self.row.inputs)
        yield self.case("repeated", "an index again and again", values=[1] * 8)
        for k in (0, s - 1, -s, -1, s, s + 1, -s - 1):
            yield self.case(f"index{k:+}", f"index {k} on an axis of {s}", last=k)
            yield self.case(f"first-index{k:+}", f"index {k} comes first", values=[k])
        for size, k in ((3, 3), (3, -1), (3, -4), (100, 100)):
            if 1 in self.ranks and INT32 in data:
                why = f"index {k} of 1-D integers"
                name = f"row-of-{size}-index{k:+}"
                yield self.case(name, why, (size,), last=k, type=INT32, odd=True)
        for by in indices:
            if by.bits == 8:
                end = -1 if self.row.index_range is IndexRange.SIGNED and by.kind is Kind.INT else 0
                why = f"{by} on an axis that it does not reach the end of"
                yield self.case(f"long-{by}", why, (300, *SIZES[1:2]), last=end, by=by, odd=True)
            for k in HUGE if by.bits >= 32 else ():
                if by.bounds[0] <= k <= by.bounds[1]:
                    why = f"index {k}, of {by}"
                    yield self.case(f"{by}{k:+}", why, last=k, by=by, odd=True)


def tree_cases(row: Op) -> Iterator[ConformanceCase]:
    """Yield the calls of GatherTree."""
    for of in (each for each in PLAIN if each is not STRING and not each.opaque):
        yield _tree(row, f"type-{of}", f"inputs of {of}", types=[of] * 4)
    yield _tree(row, "types-mixed", "inputs of two types", types=[INT32, INT32, INT32, INT64])
    for fields in table_beside(__name__)["trees"]:
        yield _tree(row, **fields)


def _tree(
    row: Op,
    name: str,
    why: str,
    *,
    lengths: Sequence[int] = (4, 3),
    end: int = 99,
    width: int = 3,
    parent: Sequence[int] = (0, 0),
    types: Sequence[DType] = (INT32,) * 4,
    odd: bool = False,
) -> ConformanceCase:
    """Return a call of GatherTree, as conformance.toml describes it, with types of its inputs."""
    steps = np.arange(1, 8 * width + 1).reshape(4, 2, width)
    parents = (steps * 2 + steps // 3) % max(width, 1)
    parents[parent[0], 0, 1:2] = parent[1]
    steps = steps * (2**33 + 1 if types[0].bits == 64 else 1)  # which 32 bits do not hold
    arrays = zip(types, (steps, parents, np.array(lengths), np.array(end)), strict=True)
    tensors = [Tensor(of, each.astype(storage_of(of))) for of, each in arrays]
    return _answered(row, name, why, tensors, {}, odd=odd)
