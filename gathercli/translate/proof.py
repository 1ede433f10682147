"""The proof of a translation, on the given tensors and on made ones, and the report of both."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli import ops
from gathercli.cli.slice_options import Absence
from gathercli.compute.bound import BoundCall
from gathercli.compute.compare import are_equal
from gathercli.compute.conversion import convert
from gathercli.compute.run import run
from gathercli.compute.storage import AnyArray, storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError, OperatorError
from gathercli.report.header import title
from gathercli.report.terminal import Report
from gathercli.report.versions import aligned
from gathercli.spec.call import Call, Operand
from gathercli.spec.dtypes import INT64, STRING, DType, Kind
from gathercli.spec.op import IndexedAxis, OffAxis
from gathercli.spec.shapes import Shape, known, product
from gathercli.text import clean, counted, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from gathercli.translate.translation import Translation


MADE_CALLS: Final = 100  # the number of made calls


class ProofOutcome(Enum):
    """What a translation does on a call, beside what the version does."""

    EQUAL = "equal"
    BOTH_REFUSE = "both refuse"
    GIVES = "gives values where the version refuses"
    OPEN = "may give anything where the version refuses"
    REFUSES = "refuses where the version gives values"
    DIFFERS = "differs"


class ProvenCall(NamedTuple):
    """A call and what the version says of it: its output, or None and the rule that refuses."""

    tensors: Mapping[str, Tensor]
    expected: Tensor | None
    rule: str | None = None

    def gives(self, result: Tensor) -> bool:
        """Return whether the version gives this output, of the same type."""
        wanted = self.expected
        return wanted is not None and wanted.dtype is result.dtype and are_equal(result, wanted)


def calls_of(
    translation: Translation,
    given: BoundCall,
    count: int = MADE_CALLS,
    *,
    seed: int = 0,
    bits: int = 64,
) -> Iterator[ProvenCall]:
    """Yield the given call, and made ones: of other sizes if the translation serves these."""
    yield _proven(given)
    resizes = translation.any_size
    yield from map(_proven, made_calls(given.call, count, resizes=resizes, seed=seed, bits=bits))


def _proven(bound: BoundCall) -> ProvenCall:
    tensors = bound.loaded()
    try:
        expected = run(BoundCall(bound.call, *tensors.values())).whole()
    except OperatorError as error:
        return ProvenCall(tensors, None, error.rule)
    return ProvenCall(tensors, expected)


def prove(translation: Translation, calls: Iterable[ProvenCall]) -> tuple[ProofOutcome, ...]:
    """Return the outcomes of calls, the first of which is the given one.

    Raise GatherError, ``bug``, if the translation is not exact, and no note of it says so.
    """
    outcomes = tuple(outcome_of(each, translation.evaluate) for each in calls)
    if not translation.program.refuses:  # what our evaluation refuses, the target may not
        open_ = {ProofOutcome.BOTH_REFUSE: ProofOutcome.OPEN}
        outcomes = tuple(open_.get(each, each) for each in outcomes)
    allowed = {ProofOutcome.EQUAL, ProofOutcome.BOTH_REFUSE, ProofOutcome.OPEN}
    if translation.program.notes:
        allowed.add(ProofOutcome.GIVES)
    for number, each in enumerate(outcomes):
        if each not in allowed:
            call = translation.call
            what = (
                f"a bug in gathercli: the translation of {call.op} to {translation.target.name} "
                f"{each.value} on call {number}"
            )
            raise GatherError(what, rule="bug", hint="please report it with the command line")
    return outcomes


def outcome_of(
    each: ProvenCall, evaluate: Callable[[Mapping[str, Tensor]], Tensor]
) -> ProofOutcome:
    """Compare a translation with the version on a call."""
    try:
        result = evaluate(each.tensors)
    except OperatorError:
        refuses = each.expected is None
        return ProofOutcome.BOTH_REFUSE if refuses else ProofOutcome.REFUSES
    if each.expected is None:
        return ProofOutcome.GIVES
    return ProofOutcome.EQUAL if each.gives(result) else ProofOutcome.DIFFERS


MOST_MADE_SIZE: Final = 4  # the largest size of a made dimension
# The most axes of made tensors that are longer than 1, so that no result is large.
MOST_MADE_AXES: Final = 8
MOST_DRAWN: Final = 1 << 20  # the most elements of a tensor before they are repeated
_LEGAL_SHARE: Final = 0.6  # how many of the calls have legal indices only
# The values of made data are less than this, so that every type represents them.
_MADE_VALUES: Final = 100


def made_calls(
    call: Call, count: int, *, resizes: bool, seed: int = 0, bits: int = 64
) -> Iterator[BoundCall]:
    """Yield calls with the types, the ranks and the attributes of another.

    The sizes differ, too, if `resizes`. Each index fits into a signed integer of `bits` bits.
    """
    maker = _Maker(call, Random(seed), bits)  # noqa: S311
    for _ in range(count):
        yield maker.make(resizes=resizes)


class _Maker:
    def __init__(self, call: Call, random: Random, bits: int) -> None:
        self._call, self._random, self._bits = call, random, bits

    def _integers(self, low: int, high: int, shape: Sequence[int]) -> AnyArray:
        """Return integers below `high`, drawn without numpy.random, which imports for 8 ms."""
        drawn = self._random.randbytes(8 * min(MOST_DRAWN, product(shape)))
        numbers: AnyArray = np.resize(np.frombuffer(drawn, np.uint64), shape)
        # NumPy makes a scalar of what is 0-D.
        return np.asarray((numbers % (high - low)).astype(np.int64) + low)

    def make(self, *, resizes: bool) -> BoundCall:
        shapes = {name: known(each.shape) for name, each in self._call.inputs.items()}
        if resizes:
            shapes = self._resized(shapes)
        operands = [
            Operand(Shape(shapes[name]), each.dtype) for name, each in self._call.inputs.items()
        ]
        attrs: Any = dict(self._call.attrs)
        call = ops.bind(
            self._call.op,
            *operands,
            negative=self._call.negative.value,
            out_of_range=self._call.out_of_range.value,
            **attrs,
        )
        axes = call.indexed
        tensors = (
            self._indices(call, name, axes[name])
            if name in axes
            else self._data(name, _type_of(each), known(each.shape))
            for name, each in call.inputs.items()
        )
        return BoundCall(call, *tensors)

    def _size(self) -> int:
        """Return a size: seldom 0."""
        return self._random.randint(0 if self._random.random() < 0.05 else 1, MOST_MADE_SIZE)

    def _resized(self, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """Return other sizes that fit each other, of which few are larger than 1."""
        op = self._call.op
        sizes = {name: [self._size() for _ in shape] for name, shape in shapes.items()}
        axes = [(name, at) for name, shape in shapes.items() for at in range(len(shape))]
        for name, at in self._random.sample(axes, max(0, len(axes) - MOST_MADE_AXES)):
            sizes[name][at] = min(1, sizes[name][at])
        if op.followed is not None:
            steps, _, lengths, _ = sizes
            return {
                name: tuple(sizes[steps][1:2]) if name == lengths else tuple(sizes[steps])
                for name in sizes
            } | {list(sizes)[-1]: ()}
        data, indices = sizes.values()
        if op.elementwise:
            axis, _ = self._call.normalized
            for at in range(len(data)):
                if at != axis:
                    least = data[at] if op.off_axis is OffAxis.EQUAL else min(1, data[at])
                    indices[at] = self._random.randint(least, data[at])
        elif op.tuples:
            indices[-1] = shapes["indices"][-1]
        for at in range(self._call.batch_dims or 0):
            indices[at] = data[at]
        return {name: tuple(each) for name, each in sizes.items()}

    def _data(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        op = self._call.op
        if op.followed is not None:
            low, high = (-1, MOST_MADE_SIZE + 2) if name == "max_seq_len" else (0, 6)
            low = max(low, dtype.bounds[0]) if dtype.integral else low
            return convert(Tensor(INT64, self._integers(low, high, shape)), dtype)
        if dtype is STRING:
            words = np.array([f"s{at}" for at in range(_MADE_VALUES)])
            return Tensor(dtype, words[self._integers(0, _MADE_VALUES, shape)])
        bits = 1 if dtype.kind is Kind.BOOL else dtype.bits if dtype.opaque else 0
        high = 1 << bits if bits else _MADE_VALUES
        return Tensor(dtype, self._integers(0, high, shape).astype(storage_of(dtype)))

    def _indices(self, call: Call, name: str, axes: list[IndexedAxis]) -> Tensor:
        """Return indices: all legal, or a few that are not."""
        operand = call.inputs[name]
        dtype, shape = _type_of(operand), known(operand.shape)
        array = np.zeros(shape, object)
        is_legal = self._random.random() < _LEGAL_SHARE
        for along in axes:
            part = (..., along.component) if along.component is not None else ...
            cells = array[part]
            array[part] = self._along(call, along.size, np.shape(cells), dtype, is_legal=is_legal)
        if dtype.integral:
            return Tensor(dtype, array.astype(storage_of(dtype)))
        return convert(Tensor(INT64, array.astype(np.int64)), dtype)

    def _along(
        self, call: Call, size: int, shape: tuple[int, ...], dtype: DType, *, is_legal: bool
    ) -> AnyArray:
        """Return indices along an axis of a size: all legal, or one or two that may not be."""
        least, most = dtype.bounds if dtype.integral else (-8, 8)
        low, high = call.legal(size) or (0, 0)
        indices = self._integers(max(low, least), min(high, most) + 1, shape)
        flat = indices.astype(object).reshape(-1)
        if not is_legal and flat.size:
            if self._bits < 64:
                bound = 2 ** (self._bits - 1)
                least, most = max(least, -bound), min(most, bound - 1)
            strange = [-1, size, size + 2, -size - 1, -size, 2**32, 2**32 - 1, least, most]
            fitting = [each for each in strange if least <= each <= most]
            for _ in range(self._random.randint(1, 2)):
                flat[self._random.randrange(flat.size)] = self._random.choice(fitting)
        return flat.reshape(shape)


def _type_of(operand: Operand) -> DType:
    if operand.dtype is None:
        raise LookupError("an input has no type")
    return operand.dtype


AGREEING: Final = (ProofOutcome.EQUAL.value, ProofOutcome.BOTH_REFUSE.value)


class RuntimeProof(NamedTuple):
    """What a runtime did on calls."""

    runtime: str
    version: str
    # The number of calls: by `ProofOutcome`, or what the runtime does in place of an answer.
    outcomes: Mapping[str, int]
    known: Mapping[str, int]  # what it is known to do wrong, and on how many calls it did
    first: tuple[int, str] | None  # the first other call that differs, and how, for people

    @property
    def agreeing(self) -> int:
        """The number of calls on which the runtime agrees with the version."""
        return sum(self.outcomes.get(each, 0) for each in AGREEING)


# The report


class ProvedTranslation(NamedTuple):
    """A translation with its proof."""

    translation: Translation
    proof: Sequence[ProofOutcome]  # of the calls; the first one is the given one
    runtimes: Sequence[RuntimeProof]  # what runtimes did with it
    absences: Sequence[Absence]  # those that cannot be called
    known: Sequence[str]  # what the runtime of the target does wrong, if none was called
    paths: Sequence[str] = ()  # the files that were written

    @property
    def notes(self) -> list[str]:
        """Where the translation, or its runtime, is not exact, and what its text lacks."""
        (main, _), *others = self.translation.files.items()
        lacking = [
            f"its constants are in a {suffix} file, which `-o NAME{main}` writes beside it"
            for suffix, content in others
            if content and not self.paths
        ]
        return [*self.translation.program.notes, *self.known, *lacking]


def translation_text(report: ProvedTranslation, width: int | None) -> Text:
    """Format a translation: its text unless it was written, then the proof and the notes."""
    from rich.text import Text

    translation = report.translation
    # A user chose some of the names in the text.
    lines = [] if report.paths else [*translation.text.splitlines(), ""]
    text = Text("".join(f"{clean(line)}\n" for line in lines))
    text.append_text(title(translation.call, width))
    text.append(aligned(_pairs(report), width))
    for heading in ("proof", "note"):
        text.highlight_regex(rf"(?m)^  {heading}(?=  )", "bold")
    return text


def _pairs(report: ProvedTranslation) -> Iterator[tuple[str, str]]:
    translation = report.translation
    sizes = "for tensors of any size" if translation.any_size else "for tensors of these sizes"
    yield "in", f"{translation.target.title}: {translation.size}, {sizes}"
    yield "proof", proof_text(report.proof)
    for line in runtime_lines(report):
        yield "", line
    for note in report.notes:
        yield "note", note


def proof_text(proof: Sequence[ProofOutcome]) -> str:
    """Describe what our own evaluation showed.

    ``equal on the given tensors and on 100 made ones (7 of these both refuse)``
    """
    given, made = proof[0], proof[1:]
    what = {
        ProofOutcome.EQUAL: "equal on the given tensors",
        ProofOutcome.BOTH_REFUSE: "refuses the given tensors, as the version does,",
        ProofOutcome.OPEN: "may give anything for the given tensors, which the version refuses,",
        ProofOutcome.GIVES: "gives values for the given tensors, which the version refuses,",
    }[given]
    equal = "and" if given is ProofOutcome.EQUAL else "and equal"
    parts = [f"{what} {equal} on {counted(made.count(ProofOutcome.EQUAL), 'made one')}"]
    if number := made.count(ProofOutcome.BOTH_REFUSE):
        parts.append(f"both refuse {number} more")
    if number := made.count(ProofOutcome.OPEN):
        parts.append(f"{grouped(number)} more may give anything where the version refuses")
    if number := made.count(ProofOutcome.GIVES):
        values = counted(number, "more gives values", "more give values")
        parts.append(f"{values} where the version refuses")
    return ", ".join(parts) + ", by our evaluation"


def runtime_lines(report: ProvedTranslation) -> list[str]:
    """Describe what each runtime showed, or why it cannot be called."""
    absences = (f"{each.runtime} {each.why}" for each in report.absences)
    return [*map(runtime_text, report.runtimes), *absences]


def runtime_text(each: RuntimeProof) -> str:
    """Describe what a runtime showed."""
    total = sum(each.outcomes.values())
    name = f"{each.runtime} {each.version}"
    if each.agreeing == total:
        return clean(f"{name} agrees on {'all ' * (total > 1)}{counted(total, 'call')}")
    parts = [f"{name} agrees on {each.agreeing} of {counted(total, 'call')}"]
    parts += [f"{what}: {counted(count, 'call')}" for what, count in each.known.items()]
    if each.first is not None:
        number, what = each.first
        rest = total - each.agreeing - sum(each.known.values())
        where = "the given tensors" if number == 0 else f"made call {number}"
        differ = counted(rest, "other differs", "others differ")
        parts.append(f"{differ}, first {where}: {what}")
    return clean("; ".join(parts))


@dataclass(frozen=True, repr=False, eq=False)
class TranslationReport(Report):
    """A call in another framework, as code or as a graph, and the proof that it means the same."""

    operator: str
    target: str
    size: str  # ``5 nodes``
    any_size: bool  # whether it serves tensors of other sizes
    text: str
    files: tuple[str, ...]  # those that were written, the main one first
    proof: dict[str, str | int]  # of the given call, and the number of made ones by outcome
    runtimes: tuple[dict[str, Any], ...]  # what they did with it
    notes: tuple[str, ...]
    _proved: ProvedTranslation

    @classmethod
    def of(cls, proved: ProvedTranslation) -> TranslationReport:
        """Report on a translation."""
        translation, (given, *made) = proved.translation, proved.proof
        runtimes = [
            {
                **each._asdict(),
                "outcomes": dict(each.outcomes),
                "known": dict(each.known),
                "first": each.first and {"call": each.first[0], "message": each.first[1]},
            }
            for each in proved.runtimes
        ]
        counts = {each.value: made.count(each) for each in ProofOutcome}
        return cls(
            translation.call.op.full_name,
            translation.target.name,
            translation.size,
            translation.any_size,
            translation.text,
            tuple(proved.paths),
            {"given": given.value, "made": len(made), **counts},
            (*runtimes, *map(Absence.json, proved.absences)),
            tuple(proved.notes),
            proved,
        )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_proved": self._proved}

    def styled(self, width: int | None) -> Text:
        """Write the text, the proof and the notes."""
        return translation_text(self._proved, width)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file with the suffix of the target; an OpenVINO graph has a .bin beside it.

        Raises
        ------
        UsageError
            The suffix is not that of the target.
        OutputError, TransferError
        """
        translation = self._proved.translation
        translation.target.check_path(os.fspath(path), "path")
        translation.write(os.fspath(path))
