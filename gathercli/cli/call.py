"""The call of a command line: the inputs of an operator as arguments, and what opens them."""

from __future__ import annotations

from gathercli.cli.declarations import INPUT, REQUIRED, Options, argument, option
from gathercli.cli.messages import Messages
from gathercli.cli.options import (
    EXTERNAL_DATA,
    TENSOR_HELP,
    MemoryOptions,
    NamedOperator,
    OperatorOptions,
    option_name,
    type_of,
)
from gathercli.errors import UsageError
from gathercli.frameworks.versions import family_of
from gathercli.io.files import cores
from gathercli.ops import accepted_families
from gathercli.records import Any, Callable, Iterable, NamedTuple, Self
from gathercli.slices import given_names
from gathercli.spec.call import Operand
from gathercli.spec.dtypes import FLOAT64, INT64, DType
from gathercli.text import clean, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import TypeVar

    from gathercli.compute.bound import BoundCall
    from gathercli.compute.tensor import ChunkedTensor, Tensor
    from gathercli.compute.verdicts import Case
    from gathercli.spec.call import Call, Family, Operand
    from gathercli.spec.op import Input, Op

    _Read = TypeVar("_Read", bound="Tensor | ChunkedTensor | Operand")


class Token(NamedTuple):
    """A tensor argument with the type declared for it."""

    text: str
    dtype: DType | None


class TypeOptions(Options):
    """The types of untyped inputs, an option each, and what nodes and tensors of models need."""

    external_data: bool = EXTERNAL_DATA
    feed: list[str] | None = (
        option(INPUT, "--feed", metavar="TENSOR", kind=list, rare=True)
        if given_names("words")
        else None
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the inputs of a command's operators."""
        inputs = {
            each.name: each for family in accepted_families(command) for each in inputs_of(family)
        }
        return cls.with_options(
            {f"{name}_dtype": _type_option(name, is_first=not n) for n, name in enumerate(inputs)}
        )

    def token(self, name: str, text: str) -> Token:
        """Return an argument of the input with the type declared for it."""
        return Token(text, type_of(vars(self).get(f"{name}_dtype")))


def _type_option(name: str, *, is_first: bool) -> Any:
    metavar = name.upper()
    examples = " (float32, bf16…)" if is_first else ""
    return option(
        INPUT,
        f"{option_name(name)}-dtype",
        metavar="DTYPE",
        help=f"The type of untyped {metavar}{examples}; typed {metavar} must convert without loss.",
        rare=True,
    )


def inputs_of(family: Family) -> tuple[Input, ...]:
    """Return the inputs of an operator, which all of its versions have."""
    return family.ROWS[0].inputs


class TensorOptions(Options):
    """The inputs of an operator; `of` adds an argument for each.

    If a command takes any operator, its arguments are named after the inputs of the first one, and
    `more` takes the further inputs of others.
    """

    required = True
    command = ""
    help, likewise = TENSOR_HELP, "{}, given likewise."  # of the first argument, of the others
    types: TypeOptions

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the inputs of a command's operators."""
        operators = accepted_families(command)
        first, fewest = inputs_of(operators[0]), min(len(inputs_of(each)) for each in operators)
        default = REQUIRED if cls.required else None
        arguments: dict[str, Any] = {}
        for n, each in enumerate(first[:fewest]):
            text = cls.likewise.format(each.doc) if n else cls.help
            text = f"{text.removesuffix('.')}{_other_names(operators, n, each.name)}."
            arguments[each.name] = argument(each.name.upper(), text, default=default)
        further = {each.COMMAND: inputs_of(each)[fewest:] for each in operators}
        rest = [
            f"{listed((each.name.upper() for each in inputs), 'and')} of {name}"
            for name, inputs in further.items()
            if inputs
        ]
        if rest:
            text = f"{listed(rest, 'and')}."
            arguments["more"] = argument("[MORE]...", text, kind=list, default=None)
        group = cls.with_options(arguments)
        group.command = command
        return group

    @property
    def words(self) -> list[Any]:
        """The arguments as typed; None for a missing one."""
        values = vars(self)
        named = [value for name, value in values.items() if name not in ("types", "more")]
        return [*named, *(values.get("more") or ())]

    @property
    def beside(self) -> list[str]:
        """The arguments that are tensors, but no inputs."""
        return []

    @property
    def names(self) -> list[str]:
        """The names of the required arguments in help."""
        return [name.upper() for name in vars(self) if name not in ("types", "more")]

    def typed(self) -> dict[str, Any]:
        """Return the arguments and types that differ from their defaults."""
        return self.changed() | self.types.changed()

    def tokens(self, family: Family) -> dict[str, Token]:
        """Return the arguments by the names of the inputs; raise `UsageError` for more or fewer."""
        names, words = [each.name for each in inputs_of(family)], self.words
        if self.types.feed:  # a node would have taken it
            what = f"is `{clean(self.types.feed[0])}`, but no node of a model is given"
            expected = "`model.onnx#NODE` in place of the inputs"
            raise UsageError(what, subject="--feed", value=self.types.feed[0], expected=expected)
        if len(words) != len(names):
            raise _miscounted(self.command or family.COMMAND, family, words)
        return {name: self.types.token(name, word) for name, word in zip(names, words, strict=True)}


def _other_names(operators: Iterable[Family], n: int, name: str) -> str:
    """Say what input `n` is for the operators that do not call it `name`."""
    names = {family.COMMAND: inputs_of(family)[n].name for family in operators}
    return "".join(
        f"; {other.upper()} of {command}" for command, other in names.items() if other != name
    )


def _miscounted(command: str, family: Family, words: list[Any]) -> UsageError:
    from gathercli.cli.hints import suggest_example

    names = [each.name.upper() for each in inputs_of(family)]
    what = (
        f"`{clean(str(words[len(names)]))}` is one argument too many"
        if len(words) > len(names)
        else f"`{names[len(words)]}` is missing"
    )
    hint = suggest_example(command, family.ROWS[0], words)
    usage = UsageError(what, expected=f"{listed(names, 'and')} of {family.COMMAND}", hint=hint)
    usage.is_extra = len(words) > len(names)
    return usage


class CallOptions(Options):
    """A call: the operator, its inputs, the limit of memory; `open` does what precedes it."""

    operator: OperatorOptions
    tensors: TensorOptions
    memory: MemoryOptions
    messages: Messages

    def open(self, *others: str | None, shows_progress: bool = True) -> OpenCall:
        """Choose the version and return the call; `others` may name standard input, too."""
        return OpenCall(self, *others, shows_progress=shows_progress)


class NamedCall(CallOptions):
    """A call whose operator is an argument."""

    operator: NamedOperator


class OpenCall:
    """A call with open inputs; a context that closes them and erases the progress line.

    `context` names the operator and the inputs read so far in errors; `tokens` are the arguments
    by the names of the inputs.
    """

    def __init__(self, options: CallOptions, *others: str | None, shows_progress: bool) -> None:
        from gathercli.io.source import check_stdin

        self._operator, self._messages = options.operator, options.messages
        tensors, messages, chosen = options.tensors, options.messages, options.operator.chosen
        self.op = chosen.op
        messages.notes += [chosen.note] if chosen.note else []
        beside = tensors.beside  # which may be missing
        self.progress = messages.progress() if shows_progress else None
        self.tokens = tensors.tokens(family_of(self.op.family))
        check_stdin(*tensors.words, *others, *beside, names=self.tokens)
        external = tensors.types.external_data
        memory = options.memory.limits.memory
        self.inputs = messages.inputs(memory, self.progress, external=external)
        self.context = options.operator.context()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.inputs.__exit__(*exception)
        finally:
            self._messages.clear()

    def read(self, reader: Callable[..., _Read]) -> list[_Read]:
        """Read the inputs, and add each to the context as soon as it is read."""
        from gathercli.io.formats.content import ElementTypes

        tensors: list[_Read] = []
        with self.context as context:
            for each in self.op.inputs:
                text, declared = self.tokens[each.name]
                types = ElementTypes(declared, empty=INT64 if each.values else FLOAT64)
                tensor = reader(text, each.name, types)
                context.inputs[each.name] = Operand.of(tensor)
                tensors.append(tensor)
            if context.op is not None and context.op.one_type:
                from gathercli.compute.bound import of_one_type

                tensors = of_one_type(context.op, tensors)
                context.describe(tensors)
        return tensors

    def bound(self, reader: Callable[..., ChunkedTensor] | None = None) -> BoundCall:
        """Read the inputs, whole without a `reader`, and bind the call."""
        from gathercli.compute.bound import BoundCall

        tensors = self.read(reader or self.inputs.tensor)
        with self.context as context:
            return BoundCall(self._operator.bind(self.op, context.inputs.values()), *tensors)

    def inferred(self) -> Call:
        """Read the inputs, which may be shapes, and bind the call."""
        self.read(self.inputs.shape_or_operand)
        with self.context as context:
            return self._operator.bind(self.op, context.inputs.values(), shapes_only=True)

    def case(self, threads: int | None = None) -> Case:
        """Read the inputs, and return them with a function that binds them to any version."""
        from gathercli.compute.verdicts import Case

        tensors = self.read(self.inputs.tensor)

        def bind(row: Op) -> Call:
            return self._operator.bind(row, map(Operand.of, tensors))

        return Case(bind, *tensors, threads=threads or cores(), progress=self.progress)

    def job(self) -> dict[str, Any]:
        """Return the call as a job, for workers elsewhere."""
        operator, tokens = self._operator, self.tokens.items()
        keys = {
            "id": operator.command,
            "op": operator.command,
            "version": self.op.id,
            **{name: token.text for name, token in tokens},
            **{f"{name}_dtype": each.dtype and each.dtype.name for name, each in tokens},
            **operator.attrs.typed,
            "negative": operator.negative,
            "out_of_range": operator.out_of_range,
        }
        return {key: value for key, value in keys.items() if value is not None}
