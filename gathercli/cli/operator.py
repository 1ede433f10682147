"""The operator options of a command: attributes, version and policies."""

from __future__ import annotations

import os

from gathercli.cli.command import Options, argument, option
from gathercli.cli.groups import OPERATOR
from gathercli.cli.inputs import OpenInputs, Token, option_name, read
from gathercli.errors import VersionError
from gathercli.ops import (
    FAMILIES,
    attributes,
    families,
    family_of,
    find,
    find_for_any,
    frameworks_of,
    versions,
)
from gathercli.records import NamedTuple
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import is_integer, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Final

    from gathercli.cli.messages import Messages
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.tensor import ChunkedTensor, Tensor
    from gathercli.compute.threads import ProgressCallback
    from gathercli.compute.verdicts import Case
    from gathercli.spec.call import Call, CallContext, Operand
    from gathercli.spec.op import Attr, Op


VARIABLE: Final = "GATHERCLI_VERSION"
"""The environment variable that names the default version."""

OP_HELP: Final = f"{listed(FAMILIES)}."

LETTERS: Final = {"axis": "-a", "batch_dims": "-b"}
"""The one-letter options of attributes."""


class Choice(NamedTuple):
    """A version, a note about how it was found, and the environment variable that named it."""

    op: Op
    note: str | None = None
    version_from: str | None = None


def choice(command: str, version: str | None) -> Choice:
    """Choose a version of an operator: the named one, that of the environment, or the default.

    A version of the environment does not concern operators that its framework lacks.

    Raises
    ------
    VersionError
        No version has the name, typed or from the environment.
    """
    family = family_of(command)
    if version is not None:
        return Choice(*find(version, family.COMMAND))
    default, name = family.ROWS[0], os.environ.get(VARIABLE)
    if not name:
        return Choice(default)
    try:
        op, note = find_for_any(name, family.COMMAND)
    except VersionError as error:
        frameworks = frameworks_of(name)
        if len(frameworks) == 1 and frameworks.isdisjoint(op.framework for op in family.ROWS):
            (framework,) = frameworks
            note = f"{VARIABLE}: {framework} has no {default.name}; {default} is the default"
            return Choice(default, note)
        error.prefix(f"`{VARIABLE}`")
        near = error.near[0] if len(error.near) == 1 else None
        better = f"did you mean `export {VARIABLE}={near}`? " if near and not frameworks else ""
        version = near if near and frameworks else default.id
        error.hint = (
            f"{better}`-V {version}` takes precedence; `unset {VARIABLE}` removes the variable"
        )
        raise
    return Choice(op, note and f"{VARIABLE}: {note}", VARIABLE)


class AttributeOptions(Options):
    """The attributes of an operator, as typed; `of` adds an option for each."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the attributes of a command's operators."""
        names = {name: None for family in families(command) for name in attributes(family)}
        rows = [op for family in families(command) for op in family.ROWS]
        return cls.with_options({name: _attribute_option(name, rows) for name in names})

    @property
    def typed(self) -> dict[str, Any]:
        """The attributes by name, integers as numbers; None for one that was not typed."""
        return {name: integer(text) for name, text in vars(self).items()}


def _attribute_option(name: str, rows: list[Op]) -> Any:
    """Return the option of an attribute; it is hidden if no row has the attribute."""
    having = {op: each for op in rows if (each := op.attr(name))}
    defaults = {each.default for each in having.values()} or {None}
    (default,) = defaults if len(defaults) == 1 else (None,)
    letters = [LETTERS[name]] if name in LETTERS else []
    return option(
        OPERATOR,
        option_name(name),
        *letters,
        metavar="INT",
        default=None if default is None else str(default),
        help=_attribute_help(having, rows) if having else "",
        hidden=not having,
    )


def _attribute_help(having: Mapping[Op, Attr], rows: list[Op]) -> str:
    """Return the help of an attribute: its meaning, the versions that have it, its default."""
    doc = next(iter(having.values())).doc
    only = "" if len(having) == len(rows) else f" ({_by_operator(having, rows)})"
    defaults = [each.default for each in having.values() if each.default is not None]
    parts = [f"default {defaults[0]}"] if defaults else []
    if requiring := [op for op, each in having.items() if each.default is None]:
        parts.append(f"required by {_by_operator(requiring, rows)}")
    return f"{doc}{only}; {', but '.join(parts)}."


def _by_operator(ops: Iterable[Op], rows: list[Op]) -> str:
    """Name versions; with their operators if `rows` are of several."""
    chosen = set(ops)
    names = []
    for family in FAMILIES.values():
        own = [op for op in family.ROWS if op in chosen]
        if set(rows) <= set(family.ROWS):
            return versions(own)
        if own:
            is_all = len(own) == len(family.ROWS)
            names.append(family.COMMAND if is_all else f"{family.COMMAND}: {versions(own)}")
    return "; ".join(names)


def _version_option(rows: Sequence[Op]) -> Any:
    """Return the option of the version; its help has examples of `rows`, newest first."""
    newest = {op.framework: op for op in reversed(rows)}
    onnx = "onnx" in newest
    examples = [
        *sorted((op.id for op in newest.values()), key=[op.id for op in rows].index),
        f"{'onnx' if onnx else rows[0].framework} (its newest)",
        *["'opset 17'"] * onnx,
        rows[0].full_name,
    ]
    return option(
        OPERATOR,
        "--version",
        "-V",
        metavar="VERSION",
        help=f"The version, such as {listed(examples)}; default {VARIABLE}, else OpenVINO's "
        "newest. See `gathercli ops`.",
    )


class OperatorOptions(Options):
    """The operator options as typed, before any check.

    `command` is the operator; it is empty if all are called.
    """

    command = ""
    attrs: AttributeOptions
    version: str | None = None
    negative: str = option(
        OPERATOR,
        "--negative",
        metavar="POLICY",
        choices=tuple(each.value for each in Negative),
        default="spec",
        help="A negative index: spec (the version's rule), wrap (from the end, once) or error.",
    )
    out_of_range: str = option(
        OPERATOR,
        "--out-of-range",
        metavar="POLICY",
        choices=tuple(each.value for each in OutOfRange),
        default="spec",
        help="An index outside the axis: spec (the version's rule), error, zero, clamp or wrap "
        "(modulo the size).",
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the versions of a command's first operator as examples.

        The policies are rare for a command of any operator.
        """
        first, *others = families(command)
        policies = cls.replaced(rare=True) if others else cls
        return policies.with_options({"version": _version_option(first.ROWS)})

    def typed(self) -> dict[str, Any]:
        """Return the options, attributes included, that differ from their defaults."""
        return self.attrs.changed() | self.changed()

    def row(self, messages: Messages) -> Op:
        """Return the version to run, and note how it was found."""
        chosen = choice(self.command, self.version)
        if chosen.note:
            messages.notes.append(chosen.note)
        return chosen.op

    def context(self, op: Op) -> CallContext:
        """Return the context that names the operator and its inputs in errors."""
        from gathercli.spec.call import CallContext

        return CallContext(op, self._version_from(op))

    def _version_from(self, op: Op) -> str | None:
        """Return the environment variable that named the version, if one did."""
        if self.version is not None or not self.command:
            return None
        chosen = choice(self.command, None)
        return chosen.version_from if chosen.op is op else None

    def bind(self, op: Op, operands: Iterable[Operand], *, shapes_only: bool = False) -> Call:
        """Bind the call, as `engine.bind` does."""
        from gathercli.ops import engine

        return engine.bind(
            op,
            *operands,
            negative=self.negative,
            out_of_range=self.out_of_range,
            shapes_only=shapes_only,
            version_from=self._version_from(op),
            **self.attrs.typed,
        )

    def bound(
        self,
        op: Op,
        context: CallContext,
        opened: OpenInputs,
        reader: Callable[..., ChunkedTensor],
    ) -> BoundCall:
        """Read the inputs and bind the call."""
        from gathercli.compute.bound import BoundCall

        tensors = read(context, opened, reader)
        return BoundCall(self.bind(op, context.inputs.values()), *tensors)

    def job(self, tokens: Mapping[str, Token]) -> dict[str, Any]:
        """Return the call as a job, for workers elsewhere."""
        keys = {
            "id": self.command,
            "op": self.command,
            "version": choice(self.command, self.version).op.id,
            **{name: token.text for name, token in tokens.items()},
            **{f"{name}_dtype": each.dtype and each.dtype.name for name, each in tokens.items()},
            **self.attrs.typed,
            "negative": self.negative,
            "out_of_range": self.out_of_range,
        }
        return {key: value for key, value in keys.items() if value is not None}

    def case(
        self, tensors: Sequence[Tensor], threads: int | None, progress: ProgressCallback | None
    ) -> Case:
        """Return the inputs with a function that binds them to any version."""
        from gathercli.compute.verdicts import Case
        from gathercli.io.files import cores
        from gathercli.spec.call import Operand

        def bind(row: Op) -> Call:
            return self.bind(row, map(Operand.of, tensors))

        return Case(bind, *tensors, threads=threads or cores(), progress=progress)


class NamedOperator(OperatorOptions):
    """An operator that is named by an argument."""

    command: str = argument("OP", OP_HELP)


def integer(text: str | None) -> int | str | None:
    """Convert text to an integer; other text stays as it is, for a rule to refuse."""
    if text is not None and is_integer(text.strip()):
        return int(text)
    return text
