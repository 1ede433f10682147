"""The elements of a string constant in an OpenVINO .bin."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gathercli.compute.conversion import store
from gathercli.compute.tensor import Tensor
from gathercli.io.formats.content import malformed
from gathercli.io.stored import decoded
from gathercli.spec.coordinates import Place
from gathercli.spec.dtypes import STRING
from gathercli.spec.shapes import product
from gathercli.text import in_bytes


def strings(buffer: Any, shape: tuple[int, ...], offset: int, size: int) -> Tensor:
    """Read strings.

    Their number N, N + 1 offsets of their bytes, and the bytes in UTF-8; the numbers are 32-bit
    integers, little-endian.
    """
    number = product(shape)
    if size < 4 * (number + 2):
        raise malformed(f"the strings take {in_bytes(size)}", f"{4 * (number + 2)} or more")
    head = np.frombuffer(buffer, "<u4", number + 2, offset).tolist()
    start = offset + 4 * (number + 2)
    ends = head[1:]
    if head[0] != number or sorted(ends) != ends or start + ends[-1] > offset + size:
        raise malformed("the offsets of the strings are wrong", "offsets in order")
    words = [
        decoded(bytes(buffer[start + one : start + other]), f"strings[{at}]")
        for at, (one, other) in enumerate(pairwise(ends))
    ]
    return Tensor(STRING, store(words, STRING, Place("strings", (number,))).reshape(shape))
