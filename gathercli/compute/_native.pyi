from collections.abc import Callable
from typing import Any

import numpy as np

from gathercli.compute.storage import AnyArray

def fill(
    out: AnyArray,
    data: AnyArray,
    indices: AnyArray,
    plan: AnyArray,
    start: int,
    part: int,
    threads: int,
    /,
) -> bool: ...
def fill_again(
    signature: AnyArray,
    make: Callable[[tuple[int, ...], np.dtype[Any]], AnyArray],
    dtype: np.dtype[Any],
    out: AnyArray | None,
    data: AnyArray,
    indices: AnyArray,
    /,
) -> AnyArray | None: ...
def fill_tree(
    code: str,
    steps: int,
    batches: int,
    beams: int,
    out: AnyArray,
    step_ids: AnyArray,
    parent_ids: AnyArray,
    max_seq_len: AnyArray,
    end_token: AnyArray,
    /,
) -> bool: ...
def json_lists(values: AnyArray, words: tuple[bytes, ...], /) -> bytearray | None: ...
