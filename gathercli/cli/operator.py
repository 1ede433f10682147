"""The operator options, the same for every command that takes an operator."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

from gathercli.cli.command import Options, argument, option
from gathercli.cli.groups import OPERATOR
from gathercli.cli.options import OP_HELP, type_of
from gathercli.errors import GatherError, VersionError
from gathercli.ops import family_of, find, find_for_any
from gathercli.spec.dtypes import INT64
from gathercli.spec.op import Negative, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.bound import BoundCall
    from gathercli.arrays.chunks import ChunkedTensor
    from gathercli.arrays.tensor import Tensor
    from gathercli.arrays.threads import ProgressCallback
    from gathercli.cli.messages import Messages
    from gathercli.lessons.verdicts import Case
    from gathercli.spec.call import Call, Operand
    from gathercli.spec.op import Op

_Read = TypeVar("_Read", bound="Tensor | ChunkedTensor | Operand")
Token = tuple[str, str | None]
"""A tensor argument and the type declared for it."""


VARIABLE: Final = "GATHERCLI_VERSION"
"""The environment variable with the version of who names none."""


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


class OperatorOptions(Options):
    """What was typed for the operator; nothing of it is checked yet.

    `command` names the operator; it is empty where all are called.
    """

    command = ""
    axis: Annotated[
        str | None,
        option(
            OPERATOR,
            "--axis",
            "-a",
            metavar="INT",
            help="The dimension of DATA to gather along; negative counts from the end. Default 0, "
            "but required by OpenVINO's GatherElements; in shape also unknown.",
        ),
    ] = None
    batch_dims: Annotated[
        str,
        option(
            OPERATOR,
            "--batch-dims",
            "-b",
            metavar="INT",
            help="Leading dimensions that are batches (OpenVINO 7 and 8); default 0.",
        ),
    ] = "0"
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

    def row(self, messages: Messages) -> Op:
        """Find the version that was asked for, or the default."""
        chosen = choice(self.command, self.version)
        if chosen.note:
            messages.notes.append(chosen.note)
        return chosen.op

    def version_from(self, op: Op) -> str | None:
        """Name the variable that chose a row, if one did."""
        if self.version is not None or not self.command:
            return None
        chosen = choice(self.command, None)
        return chosen.version_from if chosen.op is op else None

    def read(
        self, op: Op, reader: Callable[..., _Read], data: Token, indices: Token
    ) -> tuple[_Read, _Read]:
        """Read both tensors, naming the operator in what is refused."""
        return read(op, reader, data, indices, self.version_from(op))

    def bind(self, op: Op, data: Operand, indices: Operand, *, shapes_only: bool = False) -> Call:
        """Put the call together; every rule of shapes and types is tried."""
        from gathercli import engine

        return engine.bind(
            op,
            data,
            indices,
            axis=integer(self.axis),
            batch_dims=integer(self.batch_dims),
            negative=self.negative.value,
            out_of_range=self.out_of_range.value,
            shapes_only=shapes_only,
            version_from=self.version_from(op),
        )

    def bound(
        self, op: Op, reader: Callable[..., ChunkedTensor], data: Token, indices: Token
    ) -> BoundCall:
        """Read both tensors, and put the call together."""
        from gathercli.arrays.bound import BoundCall
        from gathercli.spec.call import Operand

        tensors = self.read(op, reader, data, indices)
        return BoundCall(self.bind(op, *map(Operand.of, tensors)), *tensors)

    def job(self, data: Token, indices: Token) -> dict[str, Any]:
        """Write the call as a job, which a worker elsewhere can read."""
        found = {
            "id": self.command,
            "op": self.command,
            "version": choice(self.command, self.version).op.id,
            "data": data[0],
            "data_dtype": data[1],
            "indices": indices[0],
            "indices_dtype": indices[1],
            "axis": integer(self.axis),
            "batch_dims": integer(self.batch_dims),
            "negative": self.negative.value,
            "out_of_range": self.out_of_range.value,
        }
        return {key: value for key, value in found.items() if value is not None}

    def case(
        self, data: Tensor, indices: Tensor, threads: int | None, progress: ProgressCallback | None
    ) -> Case:
        """Put what was read together for every row; by default all cores look at it."""
        from gathercli.io.files import cores
        from gathercli.lessons.verdicts import Case
        from gathercli.spec.call import Operand

        def bind(row: Op) -> Call:
            return self.bind(row, Operand.of(data), Operand.of(indices))

        return Case(bind, data, indices, threads=threads or cores(), progress=progress)


class NamedOperator(OperatorOptions):
    """An operator that is named by an argument."""

    command: Annotated[str, argument("OP", OP_HELP)]


def read(
    op: Op | None,
    reader: Callable[..., _Read],
    data: Token,
    indices: Token,
    version_from: str | None = None,
) -> tuple[_Read, _Read]:
    """Read both tensors, naming the operator, if it is one, in what is refused."""
    declared = [type_of(name) for _, name in (data, indices)]
    first: _Read | None = None
    try:
        first = reader(data[0], "data", declared=declared[0])
        return first, reader(indices[0], "indices", declared=declared[1], empty=INT64)
    except GatherError as error:
        from gathercli.spec.call import Operand

        described = None if first is None else Operand.of(first)
        inputs = {} if described is None else {"data": described}
        error.add_call(None if op is None else op.full_name, inputs, version_from)
        raise


def integer(text: str | None) -> int | str | None:
    """Read an integer; what is none stays as it was typed, for the rule that refuses it."""
    if text is not None and re.fullmatch(r"[+-]?\d{1,4300}", text.strip(), re.ASCII):
        return int(text)
    return text
