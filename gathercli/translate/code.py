"""Code: a program as a function in Python that needs its framework alone.

A dialect is a table of expressions. A value that is used once, and is short, becomes a part of the
expression that uses it; any other one gets a line.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli.runtimes import NEGATIVE, OUTSIDE
from gathercli.spec.dtypes import Kind
from gathercli.translate.beams import beam_lines
from gathercli.translate.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.spec.call import Call
    from gathercli.translate.program import Program, ProgramValue, Step
    from gathercli.translate.targets import TranslationTarget

_INLINE: Final = frozenset(("size", "either", "zeros", "strides"))
"""The primitives with a name that become a part of the expression that uses them, if one does."""

_OPERATORS: Final = {
    "add": "+",
    "multiply": "*",
    "modulo": "%",
    "less": "<",
    "at_least": ">=",
    "either": "|",
}


class Expression(NamedTuple):
    """The text of a value.

    Attributes
    ----------
    is_operation
        Whether it needs parentheses beside another operator.
    is_number
        Whether it is a number of Python, known without a tensor.
    """

    text: str
    is_operation: bool = False
    is_number: bool = False

    @property
    def operand(self) -> str:
        """The text beside an operator."""
        return f"({self.text})" if self.is_operation else self.text


def function_name(call: Call) -> str:
    """Return the name of the function of a call."""
    return call.op.family.replace("-", "_")


def code(program: Program, call: Call, target: TranslationTarget) -> str:
    """Return the text of a module with the function."""
    dialect = DIALECTS[target.name]
    names = ", ".join(program.inputs)
    settings = "".join(f", {each.name} {call.attrs[each.name]}" for each in call.op.attrs)
    about = f"{call.op}{settings}" + ("" if call.op.followed else f": {_operands(program, call)}")
    lines = [
        f'"""{about}."""',
        "",
        *dialect.imports,
        *(dialect.wide if _is_wide(program) else ()),
        "",
        "",
        f"def {function_name(call)}({names}):",
        f'    """Return {call.family.equation(call)}."""',
    ]
    if call.op.followed is not None:
        lines += [f"    {line}" for line in beam_lines(dialect)]
    else:
        lines += [f"    {line}" for line in _Writer(program, target).lines()]
    return "".join(f"{line}\n" for line in lines)


def _operands(program: Program, call: Call) -> str:
    """Describe the inputs that the code serves: the type matters of those that hold indices."""
    return " and ".join(
        f"{f'{value.dtype} ' if each.values else ''}{each.name} of rank {len(value.shape)}"
        for each in call.op.inputs
        if (value := program.inputs.get(each.name)) is not None
    )


def _is_wide(program: Program) -> bool:
    """Return whether a value has 64 bits."""
    values = (*program.inputs.values(), *(step.output for step in program.steps))
    return any(value.dtype.bits >= 64 for value in values)


class _Writer:
    """A writer of the lines of a program."""

    def __init__(self, program: Program, target: TranslationTarget) -> None:
        self._program, self._dialect = program, DIALECTS[target.name]
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
        short = (not step.output.name or step.primitive in _INLINE) and self._uses[number] == 1
        if last or short or step.primitive == "constant":
            self._known[number] = expression
            return
        name = self._name(step.output)
        self._lines.append(f"{name} = {expression.text}")
        self._known[number] = Expression(name, is_number=expression.is_number)

    def _name(self, value: ProgramValue) -> str:
        wish = "gathered" if value.name == "output" else value.name or "value"
        name, number = wish, 1
        while name in self._names:
            number += 1
            name = f"{wish}_{number}"
        self._names.add(name)
        return name

    def _expression(self, step: Step) -> Expression:
        inputs = [self._known[each.number] for each in step.inputs]
        numbers = all(each.is_number for each in inputs)
        if step.primitive == "constant":
            value = step.settings["value"]
            text = "2**63 - 1" if value == 2**63 - 1 else str(value)
            return Expression(text, is_operation=not text.isdigit(), is_number=True)
        if step.primitive in _OPERATORS:
            return self._operation(step.primitive, inputs, is_number=numbers)
        if step.primitive in ("minimum", "maximum") and numbers and self._dialect.has_numbers:
            arguments = ", ".join(each.text for each in inputs)
            return Expression(f"{step.primitive[:3]}({arguments})", is_number=True)
        setup, text = self._dialect.write(step, [each.text for each in inputs])
        self._lines += setup
        is_number = step.primitive == "size" and self._dialect.has_numbers
        return Expression(text, is_number=is_number)

    def _operation(
        self, primitive: str, inputs: list[Expression], *, is_number: bool
    ) -> Expression:
        one, other = inputs
        if primitive == "multiply" and other.text == "-1":
            return Expression(f"-{one.operand}", is_number=is_number)
        if primitive == "add" and other.text.startswith("-"):
            return Expression(f"{one.operand} - {other.text[1:]}", True, is_number)
        text = f"{one.operand} {_OPERATORS[primitive]} {other.operand}"
        return Expression(text, is_operation=True, is_number=is_number)

    def _widen(self, step: Step) -> list[str]:
        """Return the lines that replace data, an input, if it is empty along an axis."""
        name = self._known[step.inputs[0].number].text
        condition, value = self._dialect.widened(step, name)
        return [f"if {condition}:  # JAX takes nothing from an empty axis", f"    {name} = {value}"]

    def _check(self, step: Step) -> list[str]:
        """Return the lines that raise an error for an illegal index."""
        k, *sizes = (self._known[each.number] for each in step.inputs)
        least = f"-{sizes[0].operand}" if sizes and step.settings["signed"] else "0"
        parts = [f"{k.operand} < {least}"] if step.inputs[0].dtype.kind is Kind.INT else []
        parts += [f"{k.operand} >= {size.operand}" for size in sizes]
        condition = " | ".join(f"({part})" for part in parts) if parts[1:] else parts[0]
        message = OUTSIDE if sizes else NEGATIVE
        return self._dialect.check(k.text, condition, f'"{message}"')
