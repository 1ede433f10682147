"""The exceptions, and the exit status of each.

::

    GatherError
    ├── MismatchError         1   the result differs from the expected
    ├── UsageError            2   the command line is wrong          (ValueError)
    │   └── VersionError      2   no such operator version
    ├── OperatorError        65   an operator's rule refuses          (ValueError)
    │   ├── DtypeError            data-dtype, indices-dtype, tree-dtype (+ TypeError)
    │   ├── AxisError             axis-*
    │   ├── BatchDimsError        batch-dims-*, batch-shape
    │   ├── RankError             data-rank, indices-rank
    │   ├── ElementsShapeError    elements-shape
    │   ├── IndicesDepthError     indices-depth
    │   ├── TreeShapeError        tree-shape
    │   └── OutOfRangeError       index-*, integer-values             (+ IndexError)
    ├── LimitError           65   too large for --max-bytes           (+ MemoryError)
    ├── InputError           65   malformed bytes or text             (ValueError)
    ├── NoInputError         66   absent or unreadable                (OSError)
    ├── OutputError          73   the output cannot be created        (OSError)
    └── TransferError        74   reading or writing failed midway    (OSError)

Each names the broken ``rule``. An error is data: the value as the user wrote it, what it conflicts
with, and what was expected, as an interval. `GatherError.message` alone puts them in a sentence. A
caller that words it otherwise changes the data, or makes another of it by `GatherError.of`.
"""

from __future__ import annotations

from gathercli.text import as_argument, as_key, as_option, in_bytes

TYPE_CHECKING = False  # importing `typing` takes a third of the time of `gathercli --version`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar, Self


class Hint(str):
    r"""A next step, worded for the command, for `python` and for a `job`.

    `text` has a field for each setting; the value of a setting is a list where it has alternatives.

    >>> hint = Hint("{axis} or {out_of_range}", axis=-1, out_of_range="zero")
    >>> print(hint, hint.python, hint.job, sep="\n")
    `--axis -1` or `--out-of-range zero`
    `axis=-1` or `out_of_range="zero"`
    `"axis":-1` or `"out_of_range":"zero"`
    """

    __slots__ = ("job", "python")
    job: str
    python: str

    def __new__(
        cls, text: str, *, python: str | None = None, **settings: str | int | list[str]
    ) -> Self:
        """Fill in the settings for each of the three; `python` has other words."""

        def fill(write: Callable[[str, str | int], str]) -> str:
            fields = {}
            for name, value in settings.items():
                values = value if isinstance(value, list) else [value]
                fields[name] = " or ".join(f"`{write(name, each)}`" for each in values)
            return text.format_map(fields) if fields else text

        self = super().__new__(cls, fill(as_option))
        self.python = fill(as_argument) if python is None else python
        self.job = fill(as_key)
        return self

    def joined(self) -> Hint:
        """Quote settings that stand side by side together: ``--a 1 --b 2``, ``"a":1,"b":2``."""
        hint = Hint(self.replace("` `", " "))
        hint.python, hint.job = self.python, self.job.replace("` `", ",")
        return hint


class GatherError(Exception):
    """The base class of every exception.

    A raise site passes data; `message` alone makes a sentence of them, and no code reads it.

    Parameters
    ----------
    problem
        What is wrong, with the value as the user wrote it; a verb first if there is a `subject`.
    rule
        The name of the rule, as in `expect_error` of job files: ``axis-range``, ``npy``…
    subject
        The input, attribute or option that the problem is of, by its name: ``axis``, ``--axis``.
    version
        The name for ``{version}`` in `problem`.
    places
        Where the problem is, the widest place first: a file, a job, an input in backquotes.
    where
        The position of the first wrong value: coordinates (``[1]``), a JSON path (``$[1][2]``), a
        byte.
    value, expected
        The first wrong value, and the accepted values, as an interval where they have one.
    remark
        Words that follow `expected`, with their blank or comma.
    unsaid
        Whether the sentence ends without `expected`, as the hint says it.
    count
        The number of wrong values, if several are possible.
    hint
        A next step, with text to paste in backquotes; a `Hint` if it names settings.
    instead
        Words that replace `value`, then words to add to the command line.

    Attributes
    ----------
    operator, inputs
        The call: the full name of the version, and the type and shape of each input.
    version_from
        The environment variable that sets the version, if the caller does not.
    others
        The next errors of a file of jobs.
    number, rest
        How many jobs of a file have the same error, and the places of the others.
    advice
        The hint as it was given: for the command, unless it is a `Hint`.
    swapped
        Which of the last two arguments comes first, ``DATA``, if they are probably swapped.

    Examples
    --------
    >>> error = AxisError("is 3", rule="axis-range", subject="axis", value=3, expected="-2 to 1")
    >>> error.prefix("jobs.jsonl, line 2")
    >>> error.message
    'jobs.jsonl, line 2: `axis` is 3: expected -2 to 1'
    """

    status: ClassVar[int] = 70
    usual_rule: ClassVar[str] = ""

    def __init__(
        self,
        problem: str,
        *,
        rule: str = "",
        subject: str | None = None,
        version: str | None = None,
        places: Sequence[str] = (),
        where: str | None = None,
        value: object = None,
        expected: str | None = None,
        remark: str = "",
        unsaid: bool = False,
        count: int | None = None,
        hint: str | None = None,
        instead: tuple[str, ...] = (),
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.rule = rule or self.usual_rule
        self.subject = subject
        self.version = version
        self.places = [*places]
        self.where = where
        self.value = value
        self.expected = expected
        self.remark = remark
        self.unsaid = unsaid
        self.count = count
        self.advice = hint
        self.instead = instead
        self.operator: str | None = None
        self.inputs: dict[str, str] = {}
        self.version_from: str | None = None
        self.others: list[GatherError] = []
        self.number, self.rest = 1, ""
        self.swapped = ""

    @classmethod
    def of(cls, error: GatherError, **changes: Any) -> Self:
        """Return an error of this class with the data of another; `changes` are parameters."""
        names = ("problem", *(GatherError.__init__.__kwdefaults__ or ()))
        data = {name: getattr(error, name) for name in names}
        return cls(**data | {"hint": error.advice} | changes)

    def add_call(
        self, operator: str | None, inputs: Mapping[str, str], version_from: str | None = None
    ) -> None:
        """Add the operator, and the type and shape of its inputs, unless an inner call has."""
        if self.operator is None:
            self.operator, self.version_from = operator, version_from
            self.inputs = {**inputs}

    def prefix(self, place: str) -> None:
        """Add a place around those of the error."""
        self.places.insert(0, place)

    def name(self, name: str) -> None:
        """Add an input as the place, unless the error names it."""
        if name != self.subject and f"`{name}`" not in self.places:
            self.prefix(f"`{name}`")

    @property
    def statement(self) -> str:
        """The sentence without what is expected."""
        problem = self.problem
        if self.version is not None:
            start, mark, end = problem.rpartition("{version}")
            problem = start + (self.version if mark else "") + end
        if self.subject is not None:
            problem = f"`{self.subject}` {problem}"
        return ": ".join((*self.places, problem))

    @property
    def message(self) -> str:
        """One sentence: where, what is wrong, and what is expected."""
        return sentence(self.statement, None if self.unsaid else self.expected, self.remark)

    @property
    def hint(self) -> str | None:
        """A next step, in the words of Python."""
        return getattr(self.advice, "python", self.advice)

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self.advice = hint

    def __str__(self) -> str:
        """Return the message and the hint for Python."""
        return self.message + (f"\nhint: {self.hint}" if self.hint else "")

    def __repr__(self) -> str:
        """Return the class with the message, of which `args` have a part."""
        return f"{type(self).__name__}({self.message!r})"


def sentence(statement: str, expected: str | None, remark: str = "") -> str:
    """Word what is wrong, and what is expected."""
    return statement + ("" if expected is None else f": expected {expected}") + remark


class MismatchError(GatherError):
    """The result differs from `--expect`."""

    status = 1


class UsageError(GatherError, ValueError):
    """The command line is wrong, or an argument of a function.

    Attributes
    ----------
    is_extra, is_operator
        Whether `value` is one argument too many, or stands for an operator and is none.
    """

    status = 2
    usual_rule = "usage"
    is_extra = False
    is_operator = False


class VersionError(UsageError):
    """The operator has no such version.

    Attributes
    ----------
    elsewhere
        The operator that has the version, and its name there.
    near
        The versions that were probably meant.
    """

    elsewhere: tuple[str, str] | None = None
    near: Sequence[str] = ()


class OperatorError(GatherError, ValueError):
    """The call breaks a rule of the operator's specification."""

    status = 65
    # The `spec.call.Call`, which may break more rules; None for one whose indices are illegal.
    refused: Any = None


class DtypeError(OperatorError, TypeError):
    """The operator version does not take this element type."""


class AxisError(OperatorError):
    """The axis is missing, not an integer, or not an axis of `data`."""


class BatchDimsError(OperatorError):
    """batch_dims is unsupported or out of range, or the batches differ."""


class RankError(OperatorError):
    """The operator does not take a tensor of this rank."""


class ElementsShapeError(OperatorError):
    """`indices` of GatherElements do not fit `data` on the other axes."""


class IndicesDepthError(OperatorError):
    """The tuples of GatherND are too short or too long."""


class TreeShapeError(OperatorError):
    """The inputs of GatherTree do not fit each other."""


class OutOfRangeError(OperatorError, IndexError):
    """The version refuses an index."""


class LimitError(GatherError, ValueError, MemoryError):
    """Something would take more memory, disk or dimensions than is allowed.

    Attributes
    ----------
    lifted_by
        The setting that lifts the limit, if one does.
    """

    status = 65
    usual_rule = "limit"
    lifted_by: str | None = None

    @classmethod
    def over(cls, what: str, size: int, limit: int, *, instead: str = "") -> LimitError:
        """Return the error for `size` bytes over `limit`, with the option that lifts it.

        `what` starts the message, with the size; `instead` is another remedy.
        """
        hint = Hint(f"{{max_bytes}} lifts the limit{instead and f'; {instead}'}", max_bytes=0)
        error = cls(what, value=size, expected=f"at most {in_bytes(limit)}", hint=hint)
        error.lifted_by = "max_bytes"
        return error


class InputError(GatherError, ValueError):
    """Bytes or text are not a valid tensor."""

    status = 65
    usual_rule = "format"


class NoInputError(GatherError, OSError):
    """An input is absent, unreadable, a directory or a device."""

    status = 66
    usual_rule = "unreadable"


class OutputError(GatherError, OSError):
    """An output cannot be created."""

    status = 73
    usual_rule = "output"


class TransferError(GatherError, OSError):
    """Reading or writing failed midway."""

    status = 74
    usual_rule = "output"


def reason_of(error: Exception) -> str:
    """Return why a file cannot be used; Python itself rejects a name with a NUL."""
    reason = getattr(error, "strerror", None)
    if reason is None and isinstance(error, ValueError) and not isinstance(error, GatherError):
        return "a NUL in its name"
    return str(reason or error).lower()


def refusal_of(error: Exception) -> GatherError:
    """Turn any exception into a `GatherError`, with its rule and status."""
    if isinstance(error, GatherError):
        return error
    if isinstance(error, MemoryError | RecursionError):
        what = "memory" if isinstance(error, MemoryError) else "nesting"
        return LimitError(f"there is not enough {what} for this")
    if isinstance(error, OSError):
        from gathercli.text import clean

        reason, name = error.strerror or error, error.filename
        places = [f"`{clean(name)}`"] if isinstance(name, str) else []
        return TransferError(f"reading or writing failed ({reason})", places=places)
    hint = "`--debug` shows where; please report it with the command line"
    bug = GatherError(f"a bug in gathercli: {type(error).__name__}: {error}", rule="bug", hint=hint)
    bug.__cause__ = error
    return bug
