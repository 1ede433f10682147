"""The kernel in C."""

from typing_extensions import Buffer

def fill(out: Buffer, data: Buffer, indices: Buffer, plan: Buffer, start: int, /) -> bool: ...
