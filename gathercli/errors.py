"""What can go wrong, and the exit status each kind of failure has.

::

    GatherError
    ├── MismatchError         1   the result is not what was expected
    ├── UsageError            2   the command line is wrong          (ValueError)
    │   └── VersionError      2   no such operator version
    ├── OperatorError        65   an operator's rule refuses          (ValueError)
    │   ├── DtypeError            data-dtype, indices-dtype           (+ TypeError)
    │   ├── AxisError             axis-required, axis-type, axis-range
    │   ├── BatchDimsError        batch-dims-*, batch-shape
    │   ├── RankError             data-rank, indices-rank
    │   ├── ElementsShapeError    elements-shape
    │   └── OutOfRangeError       index-negative, index-range         (+ IndexError)
    ├── LimitError           65   too large for --max-bytes           (+ MemoryError)
    ├── InputError           65   malformed bytes or text             (ValueError)
    ├── NoInputError         66   absent or unreadable                (OSError)
    ├── OutputError          73   the output cannot be created        (OSError)
    └── TransferError        74   reading or writing failed midway    (OSError)

Every one carries the name of the ``rule`` that refused. The messages follow one pattern: what was
given, as it was given; what it met; what was allowed, as an interval.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a third of what `gathercli --version` takes
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ClassVar, Protocol, Self

    class Describable(Protocol):
        """An input of a call, as `core.call.Operand` describes it; a tensor itself is none."""

        def described(self) -> str:
            """Write type and shape."""


class Hint(str):
    """A next step that names settings: in the command's words, `python`'s, or those of a `job`.

    Parameters
    ----------
    text
        With a field for each setting, if there are any: ``"{version} takes complex"``.
    settings
        Their values, by their names in Python; `_PYTHON` has those that are written otherwise.
        Of a list each is a choice.

    Examples
    --------
    >>> hint = Hint("{axis} or {out_of_range}", axis=-1, out_of_range="zero")
    >>> print(hint)
    `--axis -1` or `--out-of-range zero`
    >>> print(hint.python)
    `axis=-1` or `out_of_range="zero"`
    >>> print(hint.job)
    `"axis":-1` or `"out_of_range":"zero"`
    """

    __slots__ = ("job", "python")
    job: str
    python: str

    def __new__(cls, text: str, **settings: str | int | list[str]) -> Self:
        """Write the settings in each way."""

        def words(write: Callable[[str, str | int], str]) -> str:
            said = {
                name: " or ".join(
                    f"`{write(name, each)}`"
                    for each in (value if isinstance(value, list) else [value])
                )
                for name, value in settings.items()
            }
            return text.format_map(said) if said else text

        self = super().__new__(cls, words(_typed))
        self.python = words(_called)
        self.job = words(_keyed)
        return self


def _typed(name: str, value: str | int) -> str:
    """Write a setting as the command takes it."""
    if name in ("source", "code", "literal"):
        import json

        from gathercli.text import literal, shell_word

        word = shell_word(literal(json.loads(str(value))) if name == "literal" else str(value))
        return f"python -c {word}" if name == "code" else word
    if name == "command":
        return f"gathercli {value}"
    option = _OPTIONS.get(name) or f"--{name.replace('_', '-')}"
    return f"{option} {value}"


def _called(name: str, value: str | int) -> str:
    """Write a setting as a Python caller gives it."""
    import json

    if name == "command":
        return str(value).replace("-", "_")
    word = json.dumps(value, ensure_ascii=False)
    return _PYTHON[name].format(value, word) if name in _PYTHON else f"{name}={word}"


def _keyed(name: str, value: str | int) -> str:
    """Write a setting as a job has it."""
    import json

    return f'"{"op" if name == "command" else name}":{json.dumps(value)}'


_OPTIONS = {"version": "-V", "format": "-f"}
"""The options of the command that are not named like the setting."""

_PYTHON = {
    "code": "{0}",
    "data_dtype": "dtype={1}",
    "indices_dtype": "numpy.asarray(indices, {1})",
    "literal": "{0}",
    "max_bytes": "max_bytes=None",  # the command's 0
    "source": "{1}",
}
"""How Python says a setting that is no argument of this name: its value, bare and quoted."""


class GatherError(Exception):
    """The root of every refusal.

    Parameters
    ----------
    message
        One sentence, with the value as the user wrote it and what was expected.
    rule
        The name of the rule, as `cli` and job files spell it: ``axis-range``, ``npy``…
    where
        The place of the first offender: coordinates (``[1]``), a JSON path (``$[1][2]``), a byte.
    value, expected
        The offending value and what would have been accepted.
    count
        How many values offend, when several can.
    hint
        A next step, with anything to be pasted in backquotes; a `Hint` where it names settings.

    instead
        Words that are right in the place of `value`, and then those to add to the command line.

    Attributes
    ----------
    operator, data, indices
        The call in which the refusal came up: the row, and both tensors described.
    version_from
        The variable that names the row, if who calls did not.
    others
        What else was refused at once.
    rest
        Where still more was, by rules.
    swapped
        Whether `data` and `indices` probably stand in each other's place.
    """

    status: ClassVar[int] = 70

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        where: str | None = None,
        value: object = None,
        expected: str | None = None,
        count: int | None = None,
        hint: str | None = None,
        instead: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.where = where
        self.value = value
        self.expected = expected
        self.count = count
        self.hint = hint
        self.instead = instead
        self.operator: str | None = None
        self.inputs: dict[str, str] = {}
        self.version_from: str | None = None
        self.others: list[GatherError] = []
        self.rest: dict[str, str] = {}
        self.swapped = False

    def add_call(
        self,
        operator: str | None,
        inputs: Mapping[str, Describable],
        version_from: str | None = None,
    ) -> None:
        """Add the call in which this refusal came up; the first to say so is the nearest.

        Only what is described can be passed, so that no tensor is shown as Python writes it.
        """
        if self.operator is None:
            self.operator, self.version_from = operator, version_from
            self.inputs = {name: each.described() for name, each in inputs.items()}

    @property
    def data(self) -> str | None:
        """What is gathered, described."""
        return self.inputs.get("data")

    @property
    def indices(self) -> str | None:
        """What says where, described."""
        return self.inputs.get("indices")

    def prefix(self, place: str) -> None:
        """Say in which place the refusal came up, before the message."""
        self.message = f"{place}: {self.message}"
        self.args = (self.message,)

    def __str__(self) -> str:
        """Give the message and the hint, in Python's words."""
        return self.message + (
            f"\nhint: {getattr(self.hint, 'python', self.hint)}" if self.hint else ""
        )


class MismatchError(GatherError):
    """The result is not what `--expect` says."""

    status = 1


class UsageError(GatherError, ValueError):
    """The command line itself is wrong."""

    status = 2


class VersionError(UsageError):
    """No row of the operator answers to this version.

    Attributes
    ----------
    elsewhere
        The operator that has it, and how it is written there.
    """

    elsewhere: tuple[str, str] | None = None


class OperatorError(GatherError, ValueError):
    """A rule of the operator's specification refuses the call."""

    status = 65


class DtypeError(OperatorError, TypeError):
    """The operator version does not take this element type."""


class AxisError(OperatorError):
    """The axis is missing, not an integer, or not an axis of `data`."""


class BatchDimsError(OperatorError):
    """batch_dims is unknown to the version, out of range, or the batches differ."""


class RankError(OperatorError):
    """A tensor has a rank the operator does not take."""


class ElementsShapeError(OperatorError):
    """`indices` of GatherElements do not fit `data` beside the axis."""


class OutOfRangeError(OperatorError, IndexError):
    """An index value that the version refuses."""


class LimitError(GatherError, ValueError, MemoryError):
    """Something would take more memory, disk or dimensions than is allowed."""

    status = 65

    @classmethod
    def over(cls, what: str, size: int, limit: int, *, instead: str = "") -> LimitError:
        """Refuse `size` bytes where `limit` are allowed, and name the option that lifts it.

        Parameters
        ----------
        what
            The beginning of the message, with the size.
        instead
            What else helps.
        """
        expected = f"at most {limit} bytes"
        return cls(
            f"{what}: expected {expected}",
            rule="limit",
            value=size,
            expected=expected,
            hint=Hint(f"{{max_bytes}} lifts the limit{instead and f'; {instead}'}", max_bytes=0),
        )


class InputError(GatherError, ValueError):
    """Bytes or text that are not the tensor they should be."""

    status = 65


class NoInputError(GatherError, OSError):
    """An input that is absent, unreadable, a directory or a device."""

    status = 66


class OutputError(GatherError, OSError):
    """An output that cannot be created."""

    status = 73


class TransferError(GatherError, OSError):
    """Reading or writing failed on the way."""

    status = 74


def reason_of(error: Exception) -> str:
    """Say why a file cannot be used; a name with a NUL is refused before the system sees it."""
    reason = getattr(error, "strerror", None)
    if reason is None and isinstance(error, ValueError):
        return "a NUL in its name"
    return str(reason or error).lower()


def refusal_of(error: Exception) -> GatherError:
    """Turn whatever was raised into a refusal, with its rule and status."""
    if isinstance(error, GatherError):
        return error
    if isinstance(error, MemoryError | RecursionError):
        what = "memory" if isinstance(error, MemoryError) else "nesting"
        return LimitError(f"there is not enough {what} for this", rule="limit")
    if isinstance(error, OSError):
        reason = error.strerror or error
        return TransferError(f"reading or writing failed ({reason})", rule="output")
    bug = GatherError(
        f"a bug in gathercli: {type(error).__name__}: {error}",
        rule="bug",
        hint="`--debug` shows where; please report it with the command line",
    )
    bug.__cause__ = error
    return bug
