"""The options of an operator, from its inputs and attributes, for every command that takes one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

from gathercli.cli.command import Field, Options, argument, option
from gathercli.cli.groups import INPUT, OPERATOR
from gathercli.cli.options import TENSOR_HELP, type_of
from gathercli.errors import UsageError, VersionError
from gathercli.ops import FAMILIES, attributes, families, family_of, find, find_for_any, versions
from gathercli.spec.dtypes import FLOAT64, INT64
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import clean, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.tensor import Tensor
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.cli.messages import Messages
    from gathercli.lessons.verdicts import Case
    from gathercli.spec.call import Call, CallContext, Operand
    from gathercli.spec.dtypes import DType
    from gathercli.spec.op import Attr, Family, Input, Op

_Read = TypeVar("_Read", bound="Tensor | ChunkedTensor | Operand")

VARIABLE: Final = "GATHERCLI_VERSION"
"""The environment variable with the version of who names none."""

OP_HELP: Final = f"{listed(FAMILIES)}."

LETTERS: Final = {"axis": "-a", "batch_dims": "-b"}
"""The short options of attributes."""


class Token(NamedTuple):
    """A tensor argument, and the type declared for it."""

    text: str
    dtype: DType | None


class Choice(NamedTuple):
    """The row that runs, what the user should know of it, and the variable that names it if any."""

    op: Op
    note: str | None = None
    version_from: str | None = None


def choice(command: str, version: str | None) -> Choice:
    """Choose the version of an operator: as named, as the environment says, or the default.

    Raises
    ------
    VersionError
        Nothing answers to what is named, here or in the environment.
    """
    family = family_of(command)
    if version is not None:
        return Choice(*find(version, family.COMMAND))
    default, named = family.ROWS[0], os.environ.get(VARIABLE)
    if not named:
        return Choice(default)
    try:
        op, note = find_for_any(named, family.COMMAND)
    except VersionError as error:
        error.prefix(f"`{VARIABLE}`")
        near = re.fullmatch(r"did you mean `-V ([\w-]+)`\?", error.hint or "")
        better = f"did you mean `export {VARIABLE}={near[1]}`? " if near else ""
        error.hint = (
            f"{better}`-V {default.id}` takes precedence; `unset {VARIABLE}` removes the variable"
        )
        raise
    return Choice(op, note and f"{VARIABLE}: {note}", VARIABLE)


class TypeOptions(Options):
    """The types of inputs that name none; `of` makes an option of each input."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the inputs of a command's operators."""
        inputs = {each.name: each for family in families(command) for each in inputs_of(family)}
        return cls.with_fields(
            {f"{name}_dtype": _type_option(name, is_first=not n) for n, name in enumerate(inputs)}
        )

    def token(self, name: str, text: str) -> Token:
        """Return an argument with the type that is declared for this input."""
        return Token(text, type_of(vars(self).get(f"{name}_dtype")))


def _type_option(name: str, *, is_first: bool) -> Field:
    shown = name.upper()
    examples = " (float32, bf16…)" if is_first else ""
    declared = option(
        INPUT,
        f"{_option(name)}-dtype",
        metavar="DTYPE",
        help=f"The type of untyped {shown}{examples}; typed {shown} must convert without loss.",
    )
    return Field(Annotated[str | None, declared], None)


def inputs_of(family: Family) -> tuple[Input, ...]:
    """Return the inputs of an operator, which all of its versions have."""
    return family.ROWS[0].inputs


class TensorOptions(Options):
    """The inputs of an operator; `of` makes an argument of each.

    A command that takes any operator names its arguments as the first one does, and takes what
    others have beyond them as `more`.
    """

    required = True
    types: TypeOptions

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the inputs of a command's operators."""
        taken = [inputs_of(family) for family in families(command)]
        fewest = min(map(len, taken))
        kind = str if cls.required else str | None
        default = Field(None).default if cls.required else None
        fields = {
            each.name: Field(
                Annotated[kind, argument(each.name.upper(), cls._help(each, is_first=not n))],
                default,
            )
            for n, each in enumerate(taken[0][:fewest])
        }
        rest = {each.name: each.name.upper() for names in taken for each in names[fewest:]}
        if rest:
            more = argument(
                "[MORE]...", f"What other operators take beside: {listed(rest.values(), 'and')}."
            )
            fields["more"] = Field(Annotated[list[str] | None, more], None)
        return cls.with_fields(fields)

    @classmethod
    def _help(cls, each: Input, *, is_first: bool) -> str:
        return TENSOR_HELP if is_first else f"{each.doc}, given in the same ways."

    @property
    def words(self) -> list[Any]:
        """The arguments as they were typed; None for one that is missing."""
        values = vars(self)
        named = [value for name, value in values.items() if name not in ("types", "more")]
        return [*named, *(values.get("more") or ())]

    @property
    def names(self) -> list[str]:
        """What help calls the arguments that must be there."""
        return [name.upper() for name in vars(self) if name not in ("types", "more")]

    def typed(self) -> dict[str, Any]:
        """Return the arguments and types that were typed."""
        return self.given() | self.types.given()

    def tokens(self, family: Family) -> dict[str, Token]:
        """Return the arguments by the names of the inputs, each with the type declared for it.

        Raises
        ------
        UsageError
            There are more or fewer than the operator takes.
        """
        names, words = [each.name for each in inputs_of(family)], self.words
        if len(words) != len(names):
            raise _miscounted(family, words)
        return {name: self.types.token(name, word) for name, word in zip(names, words, strict=True)}


def _miscounted(family: Family, words: list[Any]) -> UsageError:
    """Refuse arguments that are fewer than the inputs of an operator, or more."""
    names = [each.name.upper() for each in inputs_of(family)]
    what = (
        f"`{clean(str(words[len(names)]))}` is one argument too many"
        if len(words) > len(names)
        else f"`{names[len(words)]}` is missing"
    )
    return UsageError(
        f"{what}: expected {listed(names, 'and')} of {family.COMMAND}",
        rule="usage",
        hint=f"`gathercli {family.COMMAND} --help`",
    )


class AttributeOptions(Options):
    """The attributes of an operator, as they were typed; `of` makes an option of each."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the attributes of a command's operators."""
        names = {name: None for family in families(command) for name in attributes(family)}
        rows = [op for family in families(command) for op in family.ROWS]
        return cls.with_fields({name: _attribute_option(name, rows) for name in names})

    @property
    def typed(self) -> dict[str, Any]:
        """The attributes by name, integers as numbers; None where nothing was typed."""
        return {name: integer(text) for name, text in vars(self).items()}


def _attribute_option(name: str, rows: list[Op]) -> Field:
    """Make the option of an attribute of some rows, hidden where none of them has it."""
    having = {op: each for op in rows if (each := op.attr(name))}
    defaults = {each.default for each in having.values()} or {None}
    (default,) = defaults if len(defaults) == 1 else (None,)
    letters = [LETTERS[name]] if name in LETTERS else []
    declared = option(
        OPERATOR,
        _option(name),
        *letters,
        metavar="INT",
        help=_attribute_help(having, rows) if having else "",
        hidden=not having,
    )
    return Field(Annotated[str | None, declared], None if default is None else str(default))


def _attribute_help(having: Mapping[Op, Attr], rows: list[Op]) -> str:
    """Say what an attribute is, which versions have it, and what its default is."""
    doc = next(iter(having.values())).doc
    only = "" if len(having) == len(rows) else f" ({_by_operator(having, rows)})"
    defaults = [each.default for each in having.values() if each.default is not None]
    said = [f"default {defaults[0]}"] if defaults else []
    if requiring := [op for op, each in having.items() if each.default is None]:
        said.append(f"required by {_by_operator(requiring, rows)}")
    return f"{doc}{only}; {', but '.join(said)}."


def _by_operator(some: Iterable[Op], rows: list[Op]) -> str:
    """Name versions, with their operators where there are several among the rows."""
    chosen = set(some)
    named = []
    for family in FAMILIES.values():
        its = [op for op in family.ROWS if op in chosen]
        if set(rows) <= set(family.ROWS):
            return versions(its)
        if its:
            all_of_it = len(its) == len(family.ROWS)
            named.append(family.COMMAND if all_of_it else f"{family.COMMAND}: {versions(its)}")
    return "; ".join(named)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


class OperatorOptions(Options):
    """What was typed for the operator; nothing of it is checked yet.

    `command` names the operator; it is empty where all are called.
    """

    command = ""
    attrs: AttributeOptions
    version: Annotated[
        str | None,
        option(
            OPERATOR,
            "--version",
            "-V",
            metavar="VERSION",
            help="The operator version, such as openvino-8, onnx-13, onnx (its newest), 'opset "
            "17' or openvino.Gather-8; default GATHERCLI_VERSION, else OpenVINO's newest. "
            "`gathercli ops` lists them.",
        ),
    ] = None
    negative: Annotated[
        Negative,
        option(
            OPERATOR,
            "--negative",
            metavar="POLICY",
            help="A negative index: spec (as the version says), wrap (counted from the end, once) "
            "or error.",
        ),
    ] = Negative.SPEC
    out_of_range: Annotated[
        OutOfRange,
        option(
            OPERATOR,
            "--out-of-range",
            metavar="POLICY",
            help="An index outside the axis: spec (as the version says), error, zero, clamp or "
            "wrap (modulo the size).",
        ),
    ] = OutOfRange.SPEC

    def typed(self) -> dict[str, Any]:
        """Return the options whose values are not the defaults, the attributes among them."""
        return self.attrs.given() | self.given()

    def row(self, messages: Messages) -> Op:
        """Find the version that was asked for, or the default."""
        chosen = choice(self.command, self.version)
        if chosen.note:
            messages.notes.append(chosen.note)
        return chosen.op

    def context(self, op: Op) -> CallContext:
        """Return what names the operator and its inputs in what is refused."""
        from gathercli.spec.call import CallContext

        return CallContext(op, self._version_from(op))

    def _version_from(self, op: Op) -> str | None:
        """Name the variable that chose a row, if one did."""
        if self.version is not None or not self.command:
            return None
        chosen = choice(self.command, None)
        return chosen.version_from if chosen.op is op else None

    def bind(self, op: Op, operands: Iterable[Operand], *, shapes_only: bool = False) -> Call:
        """Put the call together; every rule of shapes and types is tried."""
        from gathercli import engine

        return engine.bind(
            op,
            *operands,
            negative=self.negative.value,
            out_of_range=self.out_of_range.value,
            shapes_only=shapes_only,
            version_from=self._version_from(op),
            **self.attrs.typed,
        )

    def bound(
        self,
        op: Op,
        context: CallContext,
        reader: Callable[..., ChunkedTensor],
        tokens: Mapping[str, Token],
    ) -> BoundCall:
        """Read the inputs, and put the call together."""
        from gathercli.arrays.bound import BoundCall

        tensors = read(context, reader, tokens, op.inputs)
        return BoundCall(self.bind(op, context.inputs.values()), *tensors)

    def job(self, tokens: Mapping[str, Token]) -> dict[str, Any]:
        """Write the call as a job, which a worker elsewhere can read."""
        keys = {
            "id": self.command,
            "op": self.command,
            "version": choice(self.command, self.version).op.id,
            **{name: token.text for name, token in tokens.items()},
            **{f"{name}_dtype": each.dtype and each.dtype.name for name, each in tokens.items()},
            **self.attrs.typed,
            "negative": self.negative.value,
            "out_of_range": self.out_of_range.value,
        }
        return {key: value for key, value in keys.items() if value is not None}

    def case(
        self, tensors: Sequence[Tensor], threads: int | None, progress: ProgressCallback | None
    ) -> Case:
        """Prepare to try the inputs on every version; by default on all cores."""
        from gathercli.io.files import cores
        from gathercli.lessons.verdicts import Case
        from gathercli.spec.call import Operand

        def bind(row: Op) -> Call:
            return self.bind(row, map(Operand.of, tensors))

        return Case(bind, *tensors, threads=threads or cores(), progress=progress)


class NamedOperator(OperatorOptions):
    """An operator that is named by an argument."""

    command: Annotated[str, argument("OP", OP_HELP)]


def read(
    context: CallContext,
    reader: Callable[..., _Read],
    tokens: Mapping[str, Token],
    inputs: Iterable[Input],
) -> list[_Read]:
    """Read inputs, adding each to what a refusal names."""
    from gathercli.spec.call import Operand

    tensors: list[_Read] = []
    for each in inputs:
        text, declared = tokens[each.name]
        empty = INT64 if each.values else FLOAT64
        tensor = reader(text, each.name, declared=declared, empty=empty)
        context.inputs[each.name] = Operand.of(tensor)
        tensors.append(tensor)
    if context.op is not None and context.op.one_type:
        from gathercli.arrays.bound import of_one_type

        tensors = of_one_type(tensors)
        context.describe(tensors)
    return tensors


def integer(text: str | None) -> int | str | None:
    """Read an integer; what is none stays as it was typed, for the rule that refuses it."""
    if text is not None and re.fullmatch(r"[+-]?\d{1,4300}", text.strip(), re.ASCII):
        return int(text)
    return text
