"""Code: a program as a function in Python that needs its framework alone.

Its file has a table of expressions. A value that is used once, and is short, becomes a part of the
expression that uses it; any other one gets a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from gathercli.cli.slice_options import NEGATIVE, NO_BEAM, OUTSIDE
from gathercli.spec.call import Call
from gathercli.spec.dtypes import Kind
from gathercli.translate.program import Program, Step, unused
from gathercli.translate.targets import TranslationTarget

# The primitives with a name that become a part of the expression that uses them, if one does.
_INLINED: Final = frozenset(("size", "either", "zeros", "strides"))

_PYTHON_OPERATORS: Final = {
    "add": "+",
    "multiply": "*",
    "modulo": "%",
    "less": "<",
    "at_least": ">=",
    "either": "|",
}


class Expression(NamedTuple):
    """The text of a value."""

    text: str
    is_operation: bool = False  # whether it needs parentheses beside another operator
    is_number: bool = False  # whether it is a number of Python, known without a tensor

    @property
    def operand(self) -> str:
        """The text beside an operator."""
        return f"({self.text})" if self.is_operation else self.text


def function_name(call: Call) -> str:
    """Return the name of the function of a call."""
    return call.op.family.replace("-", "_")


def code(program: Program, call: Call, target: TranslationTarget) -> str:
    """Return the text of a module with the function."""
    names = ", ".join(program.inputs)
    settings = "".join(f", {each.name} {call.attrs[each.name]}" for each in call.op.attrs)
    about = f"{call.op}{settings}" + ("" if call.op.followed else f": {_operands(program, call)}")
    values = (*program.inputs.values(), *(step.output for step in program.steps))
    is_wide = any(value.dtype.bits >= 64 for value in values)
    body = _beam_lines(target) if call.op.followed else _Writer(program, target).lines()
    lines = [
        f'"""{about}."""',
        "",
        *target.imports,
        *(target.imports_of_64_bits if is_wide else ()),
        "",
        "",
        f"def {function_name(call)}({names}):",
        f'    """Return {call.family.equation(call)}."""',
        *(f"    {line}" for line in body),
    ]
    return "".join(f"{line}\n" for line in lines)


def _operands(program: Program, call: Call) -> str:
    """Describe the inputs that the code serves: the type matters of those that hold indices."""
    return " and ".join(
        f"{f'{value.dtype} ' if each.values else ''}{each.name} of rank {len(value.shape)}"
        for each in call.op.inputs
        if (value := program.inputs.get(each.name)) is not None
    )


class _Writer:
    def __init__(self, program: Program, target: TranslationTarget) -> None:
        self._program, self._target = program, target
        self._uses = Counter(each.number for step in program.steps for each in step.inputs)
        self._known = {value.number: Expression(name) for name, value in program.inputs.items()}
        self._names = set(program.inputs)
        self._lines: list[str] = []

    def lines(self) -> Iterator[str]:
        for step in self._program.steps:
            self._add(step)
        yield from self._lines
        yield f"return {self._known[self._program.output.number].text}"

    def _add(self, step: Step) -> None:
        number, last = step.output.number, step.output == self._program.output
        if step.primitive in ("check", "widen"):
            write = self._check if step.primitive == "check" else self._widen
            self._lines += write(step)
            self._known[number] = self._known[step.inputs[0].number]
            return
        expression = self._expression(step)
        short = (not step.output.name or step.primitive in _INLINED) and self._uses[number] == 1
        if last or short or step.primitive == "constant":
            self._known[number] = expression
            return
        wish = "gathered" if step.output.name == "output" else step.output.name or "value"
        name = unused(wish, self._names)
        self._lines.append(f"{name} = {expression.text}")
        self._known[number] = Expression(name, is_number=expression.is_number)

    def _expression(self, step: Step) -> Expression:
        inputs = [self._known[each.number] for each in step.inputs]
        numbers = all(each.is_number for each in inputs)
        if step.primitive == "constant":
            value = step.settings["value"]
            text = "2**63 - 1" if value == 2**63 - 1 else str(value)
            return Expression(text, is_operation=not text.isdigit(), is_number=True)
        if step.primitive in _PYTHON_OPERATORS:
            return self._operation(step.primitive, inputs, is_number=numbers)
        if step.primitive in ("minimum", "maximum") and numbers and self._target.has_numbers:
            arguments = ", ".join(each.text for each in inputs)
            return Expression(f"{step.primitive[:3]}({arguments})", is_number=True)
        texts, write = [each.text for each in inputs], _WRITERS.get(step.primitive)
        written = write and write(self._target, step, *texts)  # else its settings suffice
        written = written or self._target.text(step.primitive, *texts, **step.settings)
        *setup, text = written.split("\n")
        self._lines += setup
        is_number = step.primitive == "size" and self._target.has_numbers
        return Expression(text, is_number=is_number)

    def _operation(
        self, primitive: str, inputs: list[Expression], *, is_number: bool
    ) -> Expression:
        one, other = inputs
        if primitive == "multiply" and other.text == "-1":
            return Expression(f"-{one.operand}", is_number=is_number)
        if primitive == "add" and other.text.startswith("-"):
            return Expression(f"{one.operand} - {other.text[1:]}", True, is_number)
        text = f"{one.operand} {_PYTHON_OPERATORS[primitive]} {other.operand}"
        return Expression(text, is_operation=True, is_number=is_number)

    def _widen(self, step: Step) -> list[str]:
        """Return the lines that replace data, an input, if it is empty along an axis."""
        name = self._known[step.inputs[0].number].text
        start, stop, rank = step.settings["start"], step.settings["stop"], len(step.output.shape)
        condition, sizes = f"not {name}.shape[{start}]", "1"
        if stop - start > 1:
            condition = f"0 in {name}.shape[{start}:{stop}]"
            sizes = f"*(max(n, 1) for n in {name}.shape[{start}:{stop}])"
        value = self._target.text("zeros", name, shape=_like(name, rank, start, stop, sizes))
        return [f"if {condition}:  # JAX takes nothing from an empty axis", f"    {name} = {value}"]

    def _check(self, step: Step) -> list[str]:
        """Return the lines that raise an error for an illegal index."""
        k, *sizes = (self._known[each.number] for each in step.inputs)
        least = f"-{sizes[0].operand}" if sizes and step.settings["signed"] else "0"
        parts = [f"{k.operand} < {least}"] if step.inputs[0].dtype.kind is Kind.INT else []
        parts += [f"{k.operand} >= {size.operand}" for size in sizes]
        condition = " | ".join(f"({part})" for part in parts) if parts[1:] else parts[0]
        message = OUTSIDE if sizes else NEGATIVE
        return self._target.check(k.text, condition, message)


# The text of primitives


def _like(x: str, rank: int, before: int, after: int, middle: str) -> str:
    """Write a shape: that of x, but for the dimensions from `before` up to `after`."""
    first = [f"*{x}.shape[:{before}]"] if before else []
    last = [f"*{x}.shape[{after}:]"] if after < rank else []
    parts = [*first, middle, *last]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _product(x: str, start: int, stop: int) -> str:
    return " * ".join(f"{x}.shape[{at}]" for at in range(start, stop)) or "1"


def _strides(target: TranslationTarget, step: Step, x: str) -> str:
    start, stop = step.settings["start"], step.settings["stop"]
    products = ", ".join(_product(x, at + 1, stop) for at in range(start, stop))
    return target.text("strides", x, products=f"[{products}]", **step.settings)


def _zeros(target: TranslationTarget, step: Step, x: str) -> str:
    at = step.settings["axis"]
    shape = _like(x, len(step.output.shape), at, at + 1, "1")
    return target.text("zeros", x, shape=shape, axis=at)


def _concat(target: TranslationTarget, step: Step, x: str, y: str) -> str:
    axis = step.settings["axis"]
    ends = [[0, int(at == axis)] for at in range(len(step.output.shape))]
    return target.text("concat", x, y, axis=axis, ends=ends)


def _narrow(target: TranslationTarget, step: Step, x: str, y: str) -> str:
    rank, axis = len(step.output.shape), step.settings["axis"]
    ends = [target.text("length", y, axis=at) if at != axis else "" for at in range(rank)]
    if axis == rank - 1:
        ends.pop()
    return target.text("narrow", x, cut=", ".join(f":{end}" for end in ends))


def _merge(target: TranslationTarget, step: Step, x: str) -> str:
    start, stop = step.settings["start"], step.settings["stop"]
    if start == stop:
        return target.text("expand", x, axis=start)
    shape = _like(x, len(step.inputs[0].shape), start, stop, _product(x, start, stop))
    return target.text("merge", x, shape=shape, **step.settings)


def _gather(target: TranslationTarget, step: Step, x: str, y: str) -> str:
    """Write a gather along an axis; without an expression for batches, by their coordinates."""
    axis, b = step.settings["axis"], step.settings["batch_dims"]
    if not b:
        return target.text("gather", x, y, axis=axis, before=":, " * axis)
    if "batched gather" in target.expressions:
        mapped = "jax.vmap(" * b + "take" + ")" * b
        settings = {"axis": axis, "batch_dims": b, "inner": axis - b, "mapped": mapped}
        return target.text("batched gather", x, y, **settings)
    data, indices = step.inputs
    m = len(indices.shape)
    setup, coordinates = _batches(target, x, b, m)
    text = f"{x}[{coordinates}{':, ' * (axis - b)}{y}]"
    order = _order_after_index(len(data.shape), axis, b, m)
    if order is not None:
        text = target.text("transposed", text, order=", ".join(map(str, order)))
    return setup + text


def _order_after_index(rank: int, axis: int, b: int, m: int) -> list[int] | None:
    """Return the order that brings the dimensions of indices back behind those before the axis.

    An index of several arrays with slices between them puts the m dimensions of the arrays first.
    """
    if axis == b:
        return None
    between = list(range(m, m + axis - b))
    total = m + rank - b - 1
    return [*range(b), *between, *range(b, m), *range(m + axis - b, total)]


def _batches(target: TranslationTarget, x: str, b: int, m: int) -> tuple[str, str]:
    """Return lines with the coordinates of b batches for indices of rank m, and their names."""
    names = ["p"] if b == 1 else [f"p{at}" for at in range(b)]
    setup = ""
    for at, name in enumerate(names):
        new = ", None" * (m - 1 - at)
        coordinates = target.text("range", x, axis=at) + (f"[:{new}]" if new else "")
        setup += f"{name} = {coordinates}\n"
    return setup, "".join(f"{name}, " for name in names)


def _gather_elements(target: TranslationTarget, step: Step, x: str, y: str) -> str:
    """Write a gather of elements; TensorFlow gathers along the last axis, the others as batches."""
    axis, last = step.settings["axis"], len(step.output.shape) - 1
    order = [*(at for at in range(last + 1) if at != axis), axis]
    back = [order.index(at) for at in range(last + 1)]
    kind = "moved " if axis != last else "batched " if last else ""
    what = f"{kind}gather_elements"
    what = what if what in target.expressions else "gather_elements"
    return target.text(what, x, y, axis=axis, last=last, order=order, back=back)


def _gather_nd(target: TranslationTarget, step: Step, x: str, y: str) -> str:
    """Write a gather at tuples; without an expression for batches, by their coordinates."""
    indices, b = step.inputs[1], step.settings["batch_dims"]
    if "batched gather_nd" in target.expressions:
        what = "batched gather_nd" if b else "gather_nd"
        return target.text(what, x, y, batch_dims=b)
    setup, coordinates = _batches(target, x, b, len(indices.shape) - 1)
    parts = ", ".join(f"{y}[..., {at}]" for at in range(indices.shape[-1]))
    return setup + target.text("gather_nd", x, place=coordinates + parts)


# What writes the primitives whose expressions need more than their settings.
_WRITERS: Final[Mapping[str, Callable[..., str]]] = {
    "strides": _strides,
    "zeros": _zeros,
    "concat": _concat,
    "narrow": _narrow,
    "merge": _merge,
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
}


def _beam_lines(target: TranslationTarget) -> list[str]:
    """Return the lines of the body of a function of step_ids, parent_ids, max_seq_len, end_token.

    No framework has the operator, so this is a loop over the steps. The beam of a sequence that
    has not begun yet is its own. Everything from the first end on is the end.
    """
    text = target.text
    check = target.check("beam", "active & ((beam < 0) | (beam >= width))", NO_BEAM)
    ended = text("count", text("cast", "(output == end_token)"))
    return [
        "steps, batch, width = step_ids.shape",
        "if steps == 0:",
        "    return step_ids",
        f"length = {text('cast', 'max_seq_len')}[:, None]",
        f"beam = {text('own beams')}",
        "tokens = []",
        "for step in reversed(range(steps)):",
        "    active = step < length",
        *(f"    {line}" for line in check),
        f"    at = {text('where', 'active', 'beam', '0')}",
        f"    token = {text('beams', 'step_ids[step]', 'at')}",
        f"    tokens.insert(0, {text('where', 'active', 'token', 'end_token')})",
        f"    parent = {text('beams', 'parent_ids[step]', 'at')}",
        f"    beam = {text('where', 'active', text('cast', 'parent'), 'beam')}",
        f"output = {text('stack', 'tokens')}",
        f"ended = {ended} > 0",
        f"return {text('where', 'ended', 'end_token', 'output')}",
    ]
