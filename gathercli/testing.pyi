from collections.abc import Collection
from typing import Any, Literal

from gathercli.runtimes.conformance import ConformanceCase

def assert_gathers(
    out: Any,
    data: Any,
    indices: Any,
    *more: Any,
    op: str = ...,
    version: str | int | None = ...,
    axis: Any = ...,
    batch_dims: Any = ...,
    rtol: float = ...,
    atol: float = ...,
) -> None: ...
def cases(
    op: str,
    *,
    version: str | int | None = ...,
    kind: Literal["legal", "illegal", "odd"] | None = ...,
    dtypes: Collection[str] | None = ...,
) -> list[ConformanceCase]: ...
