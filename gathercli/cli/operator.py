"""The operator options, the same for every command that takes an operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gathercli.cli.options import type_of
from gathercli.core.dtypes import INT64
from gathercli.errors import GatherError
from gathercli.ops import family_of, find

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.cli.messages import Messages
    from gathercli.core.call import Call, Operand
    from gathercli.core.dtypes import Tensor
    from gathercli.core.spec import Op
    from gathercli.core.tiles import Tiles
    from gathercli.engine import Tick
    from gathercli.verdicts import Case

_Read = TypeVar("_Read", bound="Tensor | Tiles | Operand")
Token = tuple[str, str | None]
"""A tensor argument and the type declared for it."""


class Operator(NamedTuple):
    """What was typed for the operator; nothing of it is checked yet."""

    command: str
    axis: str | None
    batch_dims: str
    version: str | None
    negative: str
    out_of_range: str

    def row(self, messages: Messages) -> Op:
        """Find the version that was asked for, or the command's default."""
        family = family_of(self.command)
        version = family.ROWS[0].id if self.version is None else self.version
        found = find(version, family.COMMAND)
        if found.note:
            messages.notes.append(found.note)
        return found.op

    def read(
        self, op: Op, reader: Callable[..., _Read], data: Token, indices: Token
    ) -> tuple[_Read, _Read]:
        """Read both tensors, naming the operator in what is refused."""
        return read(op.full_name, reader, data, indices)

    def bind(self, op: Op, data: Operand, indices: Operand, *, shapes_only: bool = False) -> Call:
        """Put the call together; every rule of shapes and types is tried."""
        from gathercli import engine

        return engine.bind(
            op,
            data,
            indices,
            axis=integer(self.axis),
            batch_dims=integer(self.batch_dims),
            negative=self.negative,
            out_of_range=self.out_of_range,
            shapes_only=shapes_only,
        )

    def job(self, data: Token, indices: Token) -> dict[str, Any]:
        """Write the call as a job, which a worker elsewhere can read."""
        found = {
            "id": self.command,
            "op": self.command,
            "version": self.version,
            "data": data[0],
            "data_dtype": data[1],
            "indices": indices[0],
            "indices_dtype": indices[1],
            "axis": integer(self.axis),
            "batch_dims": integer(self.batch_dims),
            "negative": self.negative,
            "out_of_range": self.out_of_range,
        }
        return {key: value for key, value in found.items() if value is not None}

    def case(self, data: Tensor, indices: Tensor, threads: int | None, tick: Tick | None) -> Case:
        """Put what was read together for every row; by default all cores look at it."""
        from gathercli.core.call import Operand
        from gathercli.io.files import cores
        from gathercli.verdicts import Case

        def bind(row: Op) -> Call:
            return self.bind(row, Operand.of(data), Operand.of(indices))

        return Case(bind, data, indices, threads=threads or cores(), tick=tick)


def read(
    operator: str | None, reader: Callable[..., _Read], data: Token, indices: Token
) -> tuple[_Read, _Read]:
    """Read both tensors, naming the operator, if it is one, in what is refused."""
    declared = [type_of(name) for _, name in (data, indices)]
    first: _Read | None = None
    try:
        first = reader(data[0], "data", declared=declared[0])
        return first, reader(indices[0], "indices", declared=declared[1], empty=INT64)
    except GatherError as error:
        from gathercli.core.call import Operand

        error.met(operator, None if first is None else Operand.of(first), None)
        raise


def integer(text: str | None) -> int | str | None:
    """Read an integer; what is none stays as it was typed, for the rule that refuses it."""
    if text is not None and re.fullmatch(r"[+-]?\d{1,4300}", text.strip(), re.ASCII):
        return int(text)
    return text
