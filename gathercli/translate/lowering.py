"""From a bound call to a program of a target: its own operator, and the steps that it needs beside.

What a negative index means and what happens outside the axis are policies of the call, which come
from the row of its version; what the target does is in its row. Where both agree no step is added.
Arithmetic is done on indices alone, in int64, so that data may have any type; zeros for illegal
indices are a slice of zeros behind the data, at index s.
"""

from __future__ import annotations

from collections.abc import Sequence

from gathercli.errors import Hint, UsageError
from gathercli.ops import check_one_indexed, gather, gather_elements, gather_nd
from gathercli.spec.call import Call
from gathercli.spec.dtypes import BOOL, INT64, UINT64, DType, Kind
from gathercli.spec.op import Adaptation, Negative, OffAxis, OutOfRange
from gathercli.spec.shapes import known
from gathercli.translate.program import LARGEST_INDEX, Program, ProgramValue
from gathercli.translate.targets import OwnOperator, TranslationTarget, translation_targets


def lowered(call: Call, target: TranslationTarget) -> Program:
    """Return the program of a call in a target.

    UsageError says that no target has such an operator, or (``dtype``) that this lacks a type.
    """
    op = call.op
    check_one_indexed(op)
    lowering = _Lowering(call, target)
    if op.followed is not None:
        lowering.tree()
    elif op.tuples:
        lowering.tuples()
    elif op.elementwise:
        lowering.elements()
    else:
        lowering.slices()
    program = lowering.program
    program.drop_unused()
    if lowering.relies_on_errors and not target.operators[op.family].op.checks_empty:
        program.notes.append(f"{target.title} refuses no index where the slices have no elements")
    if target.unraised and any(step.primitive == "check" for step in program.steps):
        program.notes.append(target.unraised)
    return program


class _Lowering:
    def __init__(self, call: Call, target: TranslationTarget) -> None:
        self.call, self.target = call, target
        self.gather = target.operators[gather.COMMAND]
        self.own = target.operators.get(call.op.family, self.gather)
        self.relies_on_errors = False
        # Every input of a bound call of tensors has a type.
        self.program = Program(
            {name: (each.dtype or BOOL, known(each.shape)) for name, each in call.inputs.items()}
        )
        self._add = self.program.add
        self._check_type(target.data, target.title)
        self._check_type(self.own.data, self.own.title)
        indices = self.program.inputs.get("indices")
        if indices and indices.dtype not in target.casts:
            raise _wrong_indices(indices, f"{target.title} makes no int64 of it")

    def _check_type(self, types: Sequence[DType], title: str) -> None:
        """Raise if `types` lack that of data; suggest a target that has it."""
        dtype = next(iter(self.program.inputs.values())).dtype
        if dtype in types:
            return
        others = (each for each in translation_targets() if each.name != self.target.name)
        other = next((each.name for each in others if dtype in each.data), None)
        wider = "int8" if dtype.integral else "float32"
        hint = f"`--to {other}` has it" if other else None
        hint = hint or Hint("{data_dtype} converts it", data_dtype=wider)
        what = f"`{next(iter(self.call.inputs))}` is {dtype}, and {title} has no such type"
        expected = "another type, or another target"
        raise UsageError(what, rule="dtype", value=dtype.name, expected=expected, hint=hint)

    # The families

    def slices(self) -> None:
        data, indices = self.program.inputs.values()
        axis, batch_dims = self.call.normalized
        k = self._prepared(indices, self._add("size", data, axis=axis))
        data = self._ready_data(data, (axis, axis + 1))
        self._gather(data, k, axis, batch_dims)

    def _gather(
        self, data: ProgramValue, indices: ProgramValue, axis: int, batch_dims: int
    ) -> ProgramValue:
        """Gather slices; with tuples of one component where the operator has no batches."""
        add = self._add
        if self.gather.batches or not batch_dims:
            return add("gather", data, indices, axis=axis, batch_dims=batch_dims)
        n, between = len(data.shape), axis - batch_dims
        front = [*range(batch_dims), axis]
        order = (*front, *(each for each in range(n) if each not in front))
        moved = add("transpose", data, order=order, name="moved")
        if indices.dtype not in self.target.operators[gather_nd.COMMAND].op.input("indices").dtypes:
            indices = add("cast", indices, name="wide")
        tuples = add("unsqueeze", indices, name="tuples")
        output = add("gather_nd", moved, tuples, batch_dims=batch_dims)
        # p[:b], i, p[b:], s becomes p[:b], p[b:], i, s
        dims = list(range(len(output.shape)))
        i = len(indices.shape)
        front = [*dims[:batch_dims], *dims[i : i + between]]
        order = (*front, *dims[batch_dims:i], *dims[i + between :])
        return add("transpose", output, order=order, name="output")

    def elements(self) -> None:
        add = self._add
        data, indices = self.program.inputs.values()
        axis, _ = self.call.normalized
        k = self._prepared(indices, add("size", data, axis=axis))
        narrows = self.own.op.off_axis is OffAxis.AT_MOST
        if self.call.op.off_axis is OffAxis.AT_MOST and not narrows and self._may_narrow:
            data = add("narrow", data, indices, axis=axis)
        add("gather_elements", self._ready_data(data, (axis, axis + 1)), k, axis=axis)

    @property
    def _may_narrow(self) -> bool:
        """Whether data may be larger than indices beside the axis; a graph has fixed sizes."""
        (data, indices), (axis, _) = self.program.inputs.values(), self.call.normalized
        sizes = enumerate(zip(data.shape, indices.shape, strict=True))
        differs = any(one != other for at, (one, other) in sizes if at != axis)
        return len(data.shape) > 1 if self.target.module else differs

    def tuples(self) -> None:
        add = self._add
        data, indices = self.program.inputs.values()
        b, k = self.call.batch_dims or 0, indices.shape[-1]
        if not k:  # repeat the slice that empty tuples name, at every place of a tuple
            one = add("merge", data, start=b, stop=b, name="whole")  # p, 1, s
            zeros = add("no_tuples", indices, start=b)
            output = add("gather", one, zeros, axis=b, batch_dims=0)
        elif self._pads(self.own):
            output = self._flat_tuples(data, indices, b, k)
        else:
            places = self._prepared(indices, add("sizes", data, start=b, stop=b + k))
            data = self._ready_data(data, (b, b + k))
            output = add("gather_nd", data, places, batch_dims=b)
        if self.call.op.flattens_batch and b > 1:
            add("merge", output, start=0, stop=b, name="output")

    def _pads(self, own: OwnOperator) -> bool:
        """Return whether illegal indices read a slice of zeros behind the data."""
        return self.call.outside is OutOfRange.ZERO and not own.fills

    def _ready_data(self, data: ProgramValue, axes: tuple[int, int]) -> ProgramValue:
        """Return data with the zeros that illegal indices need."""
        if self._pads(self.own):
            return self._padded(data, axes[0])
        is_slice = self.own is self.gather  # whose result is wrong without any index, too
        fills = self.own.fills and self.own.op.full
        if fills and (is_slice or self.call.outside is OutOfRange.ZERO):
            return self._add("widen", data, start=axes[0], stop=axes[1])
        return data

    def _padded(self, data: ProgramValue, axis: int) -> ProgramValue:
        zeros = self._add("zeros", data, axis=axis)
        return self._add("concat", data, zeros, axis=axis, name="padded")

    def _flat_tuples(
        self, data: ProgramValue, indices: ProgramValue, b: int, k: int
    ) -> ProgramValue:
        """Gather at flat positions along axes that become one; an illegal tuple is behind them."""
        add = self._add
        sizes = add("sizes", data, start=b, stop=b + k)
        view = add("merge", data, start=b, stop=b + k, name="flat")
        count = add("size", view, axis=b)
        wrapped = self._wrapped(self._refused_negative(indices), sizes)
        far = self._outside(wrapped, sizes)
        steps = add("multiply", wrapped, add("strides", data, start=b, stop=b + k))
        # A tuple with an illegal component is at `count` or beyond, any other one before it.
        total = add("total", add("where", far, count, steps, name="steps"))
        position = add("minimum", total, count, name="position")
        if self._pads(self.gather):
            view = self._padded(view, b)
        return self._gather(view, position, b, b)

    def tree(self) -> None:
        program = self.program
        first = next(iter(program.inputs.values()))
        elements = self.target.operators[gather_elements.COMMAND].data
        types = [each for each in elements if each not in self.target.loop_lacks]
        self._check_type(types, f"the loop of {self.target.title}")
        if self.target.unraised:
            program.notes.append(self.target.unraised)
        if self.target.loop_note:
            program.notes.append(self.target.loop_note)
        program.add("gather_tree", *program.inputs.values())
        if self.own is self.gather and not first.dtype.integral:
            program.notes.append(
                "a fractional parent or length such as 0.5, which the version refuses, is "
                "truncated to an integer"
            )
        moved = self.call.outside is not OutOfRange.ERROR
        if moved or self.call.wraps_negative:
            option = "--out-of-range" if moved else "--negative"
            what = f"is given with {self.call.op}, whose beams no target finds in another way"
            raise UsageError(what, subject=option, expected="a call without it")

    # Indices

    def _prepared(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Return indices for which the own operator does what the call does with `k`.

        `sizes` is the size of the axis, or of the axis of each component of tuples.
        """
        own = self.own
        if own.op.full == "data" and self.target.raises:
            self.program.notes.append(f"{own.title} refuses a legal index whose slice is empty")
        outside = self.call.outside
        if outside is OutOfRange.ERROR:
            return self._taken(self._or_error(k, sizes))
        k = self._refused_negative(k)
        if outside is OutOfRange.ZERO:
            return self._or_zero(k, sizes)
        self._note_empty_axis()
        if outside is OutOfRange.WRAP:
            return self._modulo(k, sizes)
        return self._clamped(self._wrapped(k, sizes), sizes)

    def _note_empty_axis(self) -> None:
        own = self.own
        if own.refuses:
            return
        what = "zeros" if own.fills else "anything"
        self.program.refuses = self.target.raises
        self.program.notes.append(
            f"{own.title} refuses no index of an axis of size 0, as {self.call.op} does: "
            f"it gives {what}"
        )

    def _or_error(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Return indices for which the own operator raises where the call does, if it can."""
        own = self.own
        is_signed, wraps = k.dtype.kind is Kind.INT, self.call.wraps_negative
        self.relies_on_errors = own.refuses
        if not own.refuses:
            return self._checked(k, sizes)
        if not is_signed or (wraps and own.wraps):
            return k
        if not wraps and not own.wraps and own.refuses_negative:
            return k
        if not wraps and self.target.raises:
            return self._add("check", k, signed=False)
        if wraps:
            k = self._wrapped(k, sizes)
            if own.refuses_negative:
                return k
        return self._banished(k, sizes)

    def _checked(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Check indices before an operator that promises no error, or note that nothing does."""
        own, wraps = self.own, self.call.wraps_negative
        if self.target.raises:
            k = k if self.target.has_numbers else self._wide(k)
            signed = wraps and k.dtype.kind is Kind.INT
            k = self._add("check", k, sizes, signed=signed)
        else:
            legal = "-s to s-1" if wraps else "0 to s-1"
            what = "zeros" if own.fills else "anything"
            if own.fills and not wraps:
                what = "an element counted from the end, or zeros"
            self.program.refuses = False
            self.program.notes.append(
                f"{own.title} refuses no index: one outside {legal}, which {self.call.op} "
                f"refuses, gives {what}"
            )
        return k if own.wraps else self._wrapped(k, sizes)

    def _or_zero(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Return indices that give zeros where the call does."""
        wraps = self.call.wraps_negative
        if self.own.fills:
            if k.dtype.kind is not Kind.INT or (wraps and self.own.wraps):
                return self._near_axis(self._taken(k), sizes)
            return self._wrapped(k, sizes) if wraps else self._banished(k, sizes)
        wrapped = self._wrapped(k, sizes)
        return self._add("where", self._outside(wrapped, sizes), sizes, wrapped, name="position")

    def _refused_negative(self, k: ProgramValue) -> ProgramValue:
        """Refuse negative indices, whatever becomes of others, if the call does."""
        if self.call.negative is not Negative.ERROR or k.dtype.kind is not Kind.INT:
            return k
        if self.target.raises:
            return self._add("check", k, signed=False)
        note = "a negative index, which `--negative error` refuses, is treated as one outside"
        if note not in self.program.notes:
            self.program.notes.append(note)
        return k

    def _wide(self, k: ProgramValue) -> ProgramValue:
        """Return indices as int64; one that int64 cannot represent becomes its largest."""
        if k.dtype is INT64:
            return k
        wide = self._add("cast", k, name="wide")
        if k.dtype is not UINT64:
            return wide
        negative = self._add("less", wide, 0)
        return self._add("where", negative, LARGEST_INDEX, wide, name="signed")

    def _near_axis(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Bring indices so near the axis that the bits suffice in which the operator computes."""
        if k.dtype.bits <= (self.own.op.adapts or Adaptation()).index_bits:
            return k
        low = self._add("add", self._add("multiply", sizes, -1), -1)
        return self._add("minimum", self._add("maximum", k, low), sizes, name="near")

    def _taken(self, k: ProgramValue) -> ProgramValue:
        return k if k.dtype in self.own.op.input("indices").dtypes else self._wide(k)

    def _wrapped(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Add the size to negative indices, if the call counts them from the end."""
        wraps, k = self.call.wraps_negative and k.dtype.kind is Kind.INT, self._wide(k)
        if not wraps:
            return k
        negative = self._add("less", k, 0)
        return self._add("where", negative, self._add("add", k, sizes), k, name="wrapped")

    def _banished(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Move negative indices behind the end of the axis, where they are illegal."""
        k = self._wide(k)
        return self._add("where", self._add("less", k, 0), sizes, k, name="position")

    def _outside(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        low = self._add("less", k, 0)
        return self._add("either", low, self._add("at_least", k, sizes), name="outside")

    def _clamped(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        """Return the nearest legal index; -1, which is illegal, where there is none."""
        least = self._add("maximum", k, 0)
        return self._add("minimum", least, self._add("add", sizes, -1), name="clamped")

    def _modulo(self, k: ProgramValue, sizes: ProgramValue) -> ProgramValue:
        if k.dtype is UINT64:
            raise _wrong_indices(
                k, "`--out-of-range wrap` needs its remainder, which no target computes"
            )
        k = self._wide(k)
        divisor = self._add("maximum", sizes, 1)  # of an empty axis no index is legal
        return self._add("modulo", k, divisor, name="position")


def _wrong_indices(k: ProgramValue, why: str) -> UsageError:
    what, name = f"is {k.dtype}, and {why}", k.dtype.name
    hint = Hint("{indices_dtype} converts it", indices_dtype="int64")
    return UsageError(
        what, rule="dtype", subject="indices", value=name, expected="int64", hint=hint
    )
