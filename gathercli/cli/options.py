"""Options that several commands have, each declared once; the operator's are made of its rows."""

from __future__ import annotations

import os

from gathercli import ops
from gathercli.cli.declarations import (
    INPUT,
    OPERATOR,
    OUTPUT,
    VIEW,
    Options,
    argument,
    flag,
    option,
)
from gathercli.errors import UsageError, VersionError
from gathercli.frameworks.versions import VersionMatch, family_of, find, find_for_any, frameworks_of
from gathercli.io.formats.table import ARGUMENTS
from gathercli.ops import FAMILIES, accepted_families, attributes, version_list
from gathercli.records import Any, Final, Iterable, Mapping, NamedTuple, Sequence, cached_property
from gathercli.spec.call import Call, CallContext, Operand
from gathercli.spec.dtypes import DType, dtype
from gathercli.spec.op import FRAMEWORKS, OUT_OF_RANGE_CHOICES, Attr, Negative, Op
from gathercli.text import is_integer, listed

TYPE_CHECKING = False  # as in `gathercli.errors`

if TYPE_CHECKING:
    from gathercli.cli.messages import Messages
    from gathercli.compute.compare import Tolerance
    from gathercli.compute.threads import ProgressCallback
    from gathercli.io.source import Inputs


TENSOR_HELP = (
    f"A file ({', '.join(ARGUMENTS)}), a literal ('[[0,1],[2,3]]', 2x3xi32=0, 0,0,4), a generator "
    "(arange:2x5xf32), or - for standard input."
)


class CommonOptions(Options):
    """Options that several groups have, each for itself."""

    external_data: bool = flag(INPUT, "--external-data", rare=True)
    fmt: str = option(
        OUTPUT,
        "--format",
        "-f",
        metavar="FORMAT",
        choices=("auto", "pretty", "json"),
        default="auto",
    )
    no_clobber: bool = flag(OUTPUT, "--no-clobber", rare=True)
    threads: int | None = option(OUTPUT, "--threads", "-j", metavar="N", min=1, kind=int, rare=True)
    precision: int = option(
        VIEW, "--precision", metavar="N", min=1, max=17, kind=int, default=6, rare=True
    )


EXTERNAL_DATA: Final[Any] = CommonOptions.external_data
TEXT_FORMAT: Final[Any] = CommonOptions.fmt
NO_CLOBBER: Final[Any] = CommonOptions.no_clobber
THREADS: Final[Any] = CommonOptions.threads
PRECISION: Final[Any] = CommonOptions.precision


def tolerance(name: str) -> Any:
    """Declare the option of a tolerance."""
    return option(OUTPUT, name, metavar="FLOAT", min=0, kind=float, default=0.0, rare=True)


class ToleranceOptions(Options):
    """The tolerances of `--expect`."""

    rtol: float = tolerance("--rtol")
    atol: float = tolerance("--atol")

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance."""
        from gathercli.compute.compare import Tolerance

        return Tolerance(self.rtol, self.atol)


def type_of(name: str | None) -> DType | None:
    """Return the type that an option names; None if it was not typed."""
    return None if name is None else dtype(name)


MOST_RESULT_BYTES: Final = 16 << 30  # the default for a result: 16 GiB

_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


class Limits(NamedTuple):
    """The most bytes in memory and of a result; None for no limit."""

    memory: int | None
    result: int | None
    explicit: bool = False  # whether the option is set

    @classmethod
    def parse(cls, text: str | None) -> Limits:
        """Parse the option.

        >>> Limits.parse("2Ki").memory, Limits.parse("0").memory
        (2048, None)
        """
        if text is None:
            from gathercli.io.files import free_memory

            return cls(free_memory() // 2, MOST_RESULT_BYTES)
        import re

        number = re.fullmatch(r"(\d{1,18})(K|M|G|Ki|Mi|Gi|)", text, re.ASCII)
        if number is None:
            what = f"is `{text}`"
            expected = "a number of bytes, with K, M, G, Ki, Mi or Gi, or 0 for no limit"
            hint = "`--max-bytes 4Gi`"
            raise UsageError(what, subject="--max-bytes", value=text, expected=expected, hint=hint)
        size = int(number[1]) * _UNITS[number[2]]
        return cls(size or None, size or None, explicit=True)


class MemoryOptions(Options):
    """The limits of memory and of a result."""

    max_bytes: str | None = option(INPUT, "--max-bytes", metavar="SIZE", rare=True)

    @cached_property
    def limits(self) -> Limits:
        """The option in bytes."""
        return Limits.parse(self.max_bytes)


class SourceOptions(Options):
    """How files are read that are no inputs of an operator."""

    data_dtype: str | None = option(INPUT, "--data-dtype", metavar="DTYPE")
    external_data: bool = EXTERNAL_DATA
    memory: MemoryOptions

    @cached_property
    def declared(self) -> DType | None:
        """The type of untyped sources."""
        return type_of(self.data_dtype)

    def inputs(self, messages: Messages, progress: ProgressCallback | None = None) -> Inputs:
        """Return the inputs of a command."""
        return messages.inputs(self.memory.limits.memory, progress, external=self.external_data)


VARIABLE: Final = "GATHERCLI_VERSION"  # the environment variable that names the default version

OP_HELP: Final = f"{listed(FAMILIES)}."

LETTERS: Final = {"axis": "-a", "batch_dims": "-b"}  # the one-letter options of attributes


def choice(command: str, version: str | None) -> VersionMatch:
    """Choose a version of an operator: the named one, that of the environment, or the default.

    A version of the environment does not concern operators that its framework lacks.
    """
    family = family_of(command)
    if version is not None:
        return find(version, family.COMMAND)
    default, name = family.ROWS[0], os.environ.get(VARIABLE)
    if not name:
        return VersionMatch(default)
    try:
        op, note, _ = find_for_any(name, family.COMMAND)
    except VersionError as error:
        frameworks = frameworks_of(name)
        if len(frameworks) == 1 and frameworks.isdisjoint(op.framework for op in family.ROWS):
            (framework,) = frameworks
            name = default.name if framework in FRAMEWORKS else family.COMMAND
            note = f"{VARIABLE}: {framework} has no {name}; {default} is the default"
            return VersionMatch(default, note)
        error.prefix(f"`{VARIABLE}`")
        near = error.near[0] if len(error.near) == 1 else None
        better = f"did you mean `export {VARIABLE}={near}`? " if near and not frameworks else ""
        version = near if near and frameworks else default.id
        error.hint = (
            f"{better}`-V {version}` takes precedence; `unset {VARIABLE}` removes the variable"
        )
        raise
    return VersionMatch(op, note and f"{VARIABLE}: {note}", VARIABLE)


class AttributeOptions(Options):
    """The attributes of an operator, as typed; `of` adds an option for each."""

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the attributes of a command's operators."""
        names = {name: None for family in accepted_families(command) for name in attributes(family)}
        rows = [op for family in accepted_families(command) for op in family.ROWS]
        return cls.with_options({name: _attribute_option(name, rows) for name in names})

    @property
    def typed(self) -> dict[str, Any]:
        """The attributes by name, integers as numbers; None for one that was not typed."""
        return {name: integer(text) for name, text in vars(self).items()}


def _attribute_option(name: str, rows: list[Op]) -> Any:
    """Return the option of an attribute; it is hidden if no row has the attribute."""
    having = {op: each for op in rows if (each := op.attr(name))}
    defaults = {each.default for each in having.values()} or {None}
    one = len(defaults) == 1 and name != "axis"  # which a framework's call may require, or flatten
    (default,) = defaults if one else (None,)
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
            return version_list(own)
        if own:
            is_all = len(own) == len(family.ROWS)
            names.append(family.COMMAND if is_all else f"{family.COMMAND}: {version_list(own)}")
    return "; ".join(names)


# Calls of other frameworks, as examples of versions.
_CALLS: Final = {
    "gather": "np.take",
    "gather-elements": "torch.gather",
    "gather-nd": "tf.gather_nd",
}


def _version_option(rows: Sequence[Op]) -> Any:
    newest = {op.framework: op for op in reversed(rows)}
    onnx = "onnx" in newest
    examples = [
        *sorted((op.id for op in newest.values()), key=[op.id for op in rows].index),
        f"{'onnx' if onnx else rows[0].framework} (its newest)",
        *["'opset 17'"] * onnx,
        _CALLS.get(rows[0].family, rows[0].full_name),
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
    """The operator options as typed, before any check."""

    command: str = ""  # the operator
    attrs: AttributeOptions
    version: str | None = None
    negative: str = option(
        OPERATOR,
        "--negative",
        metavar="POLICY",
        choices=tuple(each.value for each in Negative),
        default="spec",
    )
    out_of_range: str = option(
        OPERATOR, "--out-of-range", metavar="POLICY", choices=OUT_OF_RANGE_CHOICES, default="spec"
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group with the versions of a command's first operator as examples.

        The policies are rare for a command of any operator.
        """
        first, *others = accepted_families(command)
        policies = cls.replaced(rare=True) if others else cls
        group = policies.with_options({"version": _version_option(first.ROWS)})
        if not others:  # else an argument names the operator
            group.command = command
        return group

    def typed(self) -> dict[str, Any]:
        """Return the options, attributes included, that differ from their defaults."""
        return self.attrs.changed() | self.changed()

    @cached_property
    def chosen(self) -> VersionMatch:
        """The version to run."""
        return choice(self.command, self.version)

    def context(self) -> CallContext:
        """Return the context that names the operator and its inputs in errors."""
        return CallContext(self.chosen.op, self.chosen.version_from)

    def bind(self, op: Op, operands: Iterable[Operand], *, shapes_only: bool = False) -> Call:
        """Bind the call of a version, as `ops.bind` does."""
        chosen = self.chosen
        return ops.bind(
            op,
            *operands,
            negative=self.negative,
            out_of_range=self.out_of_range,
            shapes_only=shapes_only,
            version_from=chosen.version_from if chosen.op is op else None,
            **self.attrs.typed,
        )


class NamedOperator(OperatorOptions):
    """An operator that is named by an argument."""

    command: str = argument("OP", OP_HELP)


def option_name(name: str) -> str:
    """Return the option of an input or attribute: ``--batch-dims``."""
    return "--" + name.replace("_", "-")


def integer(text: str | None) -> int | str | None:
    """Convert text to an integer; other text stays as it is, for a rule to refuse."""
    if text is not None and is_integer(text.strip()):
        return int(text)
    return text
