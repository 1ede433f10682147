"""The commands of the core as functions of Python, each with the result that its command prints.

::

    words      ->  Options, Inputs  ->  Case, BoundCall  ->  Report  ->  a terminal, JSON
    arguments  ->  opened(...)      ->  Case, BoundCall  ->  Report  ->  Python

The functions of a slice are in its own `python.py`, likewise; `gathercli._HOMES` names them all.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.cli.messages import ErrorOptions, Messages
from gathercli.cli.options import MemoryOptions, SourceOptions
from gathercli.compute.bound import BoundCall
from gathercli.compute.compare import compared
from gathercli.compute.verdicts import Case, checked
from gathercli.errors import GatherError, UsageError
from gathercli.frameworks.versions import family_of, row_of
from gathercli.io.arraylike import arguments, joined, type_word, typed
from gathercli.io.files import cores
from gathercli.ops import bind
from gathercli.report.terminal import Report, Styled, assembled
from gathercli.report.verdicts import MOST_SHOWN_INDICES, CheckReport
from gathercli.spec.call import Call, CallContext, Operand
from gathercli.text import as_argument, counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from gathercli.cli.commands.compare import ComparisonReport
    from gathercli.cli.declarations import Answer
    from gathercli.compute.tensor import Tensor
    from gathercli.spec.op import Op

_OPTION: Final = re.compile(r"`--([a-z-]+)(?: ([^`]+))?`")


class PythonCall(NamedTuple):
    """A call as Python passes it: a version, its inputs, and what is set."""

    row: Op
    tensors: Sequence[Tensor]
    settings: Mapping[str, Any]  # attributes and policies

    def bind(self, row: Op) -> Call:
        """Bind the call to a version."""
        return bind(row, *map(Operand.of, self.tensors), **self.settings)

    def bound(self) -> BoundCall:
        """Return the call of its own version."""
        return BoundCall(self.bind(self.row), *self.tensors)

    def case(self, threads: int | None) -> Case:
        """Return the inputs with what binds them to any version."""
        return Case(self.bind, *self.tensors, threads=threads or cores())


@contextmanager
def opened(
    op: str,
    inputs: Sequence[ArrayLike],
    version: str | int | None,
    *,
    keeps: bool = False,
    **settings: Any,
) -> Iterator[PythonCall]:
    """Read the inputs of a call; a context that names it in errors.

    With `keeps` the result has the inputs: copies of those that can be written to.
    """
    row = row_of(op, version)
    with CallContext(row) as context, worded():
        tensors = arguments(context, inputs)
        if keeps:
            tensors = [deepcopy(each) if each.array.flags.writeable else each for each in tensors]
        yield PythonCall(row, tensors, settings)


@contextmanager
def worded() -> Iterator[None]:
    """Word the errors of a command for Python: an option is an argument."""
    try:
        yield
    except GatherError as error:
        if error.subject is not None and error.subject.startswith("--"):
            error.subject = error.subject[2:].replace("-", "_")
        error.problem = _OPTION.sub(_argument, error.problem)
        error.expected = error.expected and _OPTION.sub(_argument, error.expected)
        if type(error.advice) is str:
            is_line = "`gathercli " in error.advice
            error.advice = None if is_line else _OPTION.sub(_argument, error.advice)
        raise


def _argument(option: re.Match[str]) -> str:
    name, value = option[1].replace("-", "_"), option[2]
    return f"`{name if value is None else as_argument(name, value)}`"


@typed
def check(
    op: str,
    data: ArrayLike,
    indices: ArrayLike,
    *more: ArrayLike,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int | None = None,
    negative: str = "spec",
    out_of_range: str = "spec",
    every: bool = False,
    threads: int | None = None,
) -> CheckReport:
    """List the illegal indices of a call, 20 or `every` one, and what each version does.

    The operator `op` is ``gather``, ``gather-elements``, ``gather-nd`` or ``gather-tree``; the
    others are as for its function, such as `gathercli.gather`. No `version` is OpenVINO's newest.

    Raises
    ------
    OperatorError, VersionError, UsageError
        A rule of shapes, types or attributes refuses (no illegal index does); there is no such
        version, or operator.

    Examples
    --------
    >>> report = check("gather", [10, 20, 30], [2, 7])
    >>> report.illegal.shown[0].at, report.illegal.shown[0].value, report.verdicts[0].verdict
    ((1,), 7, 'fills')
    """
    settings: dict[str, Any] = {"axis": axis, "batch_dims": batch_dims}
    settings |= {"negative": negative, "out_of_range": out_of_range}
    with opened(op, (data, indices, *more), version, keeps=True, **settings) as call:
        rows = family_of(call.row.family).ROWS
        result = checked(call.row, rows, call.case(threads))
        if result.chosen.error is not None and not result.chosen.refuses_index:
            raise result.chosen.error
        most = None if every else MOST_SHOWN_INDICES
        return CheckReport.of(result, most, "every=True lists them")


@typed
def compare(
    data: ArrayLike,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    ops: str | Collection[str] | None = None,
    of: str | Collection[str] | None = None,
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
) -> ComparisonReport:
    """Make a call in every version, also of other frameworks, and group those that agree.

    `ops` are names, in a list or with commas: operators (``gather``), versions (``onnx-13``), and
    calls (``torch.gather``); `of` are frameworks: ``openvino,onnx,torch``. The others are as for
    `gathercli.gather`. A version that refuses the call raises nothing.

    Raises
    ------
    VersionError, UsageError
        There is no such version or framework.

    Examples
    --------
    >>> report = compare([10, 20, 30], [2, -1], ops="openvino-8,onnx-13,openvino-7")
    >>> [(row.version, row.outcome) for row in report.rows if row.rule]
    [('openvino.Gather-7', 'refused')]
    """
    from gathercli.cli.commands.compare import ComparisonReport, rows_of

    settings: dict[str, Any] = {"axis": axis, "batch_dims": batch_dims}
    settings |= {"negative": negative, "out_of_range": out_of_range}
    with opened("gather", (data, indices), None, **settings) as call:
        rows, by_name = rows_of(joined(ops), joined(of), [])
        case = call.case(threads)
        comparison = compared(rows, case, named=by_name)
        return ComparisonReport.of(comparison, case, {**call.settings})


@typed
def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    dtype: DTypeLike | None = None,
    lossy: bool = False,
) -> None:
    """Convert a file to another format, block by block where it is larger than memory.

    The `source` and the `format` are as for `load` and `save`; `target` is the file to write, and
    `dtype` the type of its elements, refused if a value would change, unless that is `lossy`.

    Raises
    ------
    InputError, NoInputError, LimitError, OutputError, TransferError, UsageError
    """
    from gathercli.cli.commands.convert import ConvertOptions, run

    paths = [source if isinstance(source, str) else f"@{os.fspath(source)}", os.fspath(target)]
    reading, messages = SourceOptions(memory=MemoryOptions(max_bytes="0")), Messages(quiet=True)
    messages.guarded = False  # the signals of a program are its own
    name = type_word(dtype)
    options = ConvertOptions(paths=paths, to=format, dtype=name, lossy=lossy, reading=reading)
    with worded():
        run(options, messages)


class VersionsReport(Report):
    """A view of the versions, as ``gathercli ops`` prints it."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def to_json(self) -> Any:
        """Return the object of the JSON, or a list of them."""
        return json.loads(self._answer.json()) if self._answer.json else None

    def styled(self, width: int | None) -> Styled:
        """Return the text."""
        return assembled([(self._answer.text(width, False), "")])


@typed
def versions(
    version: str | None = None, *, diff: tuple[str, str] | None = None, like: str | None = None
) -> VersionsReport:
    """Describe all versions, some, what two do differently, or those `like` another call.

    Raises
    ------
    VersionError, UsageError

    Examples
    --------
    >>> versions(like="torch.gather").to_json()["rows"]
    ['onnx.GatherElements-13', 'onnx.GatherElements-11']
    """
    from gathercli.cli.commands.ops import VersionsView, run

    if diff is not None and (len(diff) != 2 or not all(isinstance(each, str) for each in diff)):
        raise UsageError(f"has {counted(len(diff), 'name')}", subject="diff", expected="two names")
    with worded():
        view = VersionsView(version=version, diff=diff, like=like)
        return VersionsReport(run(view, ErrorOptions()))
