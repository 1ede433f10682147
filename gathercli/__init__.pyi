from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

from numpy.typing import ArrayLike, NDArray

from gathercli.api import infer_shape as infer_shape
from gathercli.api import load as load
from gathercli.api import save as save
from gathercli.diagnose.python import diagnose as diagnose
from gathercli.errors import AxisError as AxisError
from gathercli.errors import BatchDimsError as BatchDimsError
from gathercli.errors import DtypeError as DtypeError
from gathercli.errors import ElementsShapeError as ElementsShapeError
from gathercli.errors import GatherError as GatherError
from gathercli.errors import IndicesDepthError as IndicesDepthError
from gathercli.errors import InputError as InputError
from gathercli.errors import LimitError as LimitError
from gathercli.errors import NoInputError as NoInputError
from gathercli.errors import OperatorError as OperatorError
from gathercli.errors import OutOfRangeError as OutOfRangeError
from gathercli.errors import OutputError as OutputError
from gathercli.errors import RankError as RankError
from gathercli.errors import TransferError as TransferError
from gathercli.errors import TreeShapeError as TreeShapeError
from gathercli.errors import UsageError as UsageError
from gathercli.errors import VersionError as VersionError
from gathercli.explain.python import explain as explain
from gathercli.models.python import check_model as check_model
from gathercli.models.python import node as node
from gathercli.models.python import nodes as nodes
from gathercli.python import check as check
from gathercli.python import compare as compare
from gathercli.python import convert as convert
from gathercli.python import versions as versions
from gathercli.report.versions import OPERATORS as OPERATORS
from gathercli.spec.shapes import Shape as Shape
from gathercli.translate.python import translate as translate

__version__: str

class _Torch(Protocol):
    @property
    def requires_grad(self) -> bool: ...

class _Jax(Protocol):
    @property
    def addressable_shards(self) -> Any: ...

# What becomes an array of NumPy, and what gives its like; TensorFlow has no types.
_Nested: TypeAlias = Sequence[Any] | complex | str | memoryview
_Tensor = TypeVar("_Tensor", bound=NDArray[Any] | _Torch | _Jax)

@overload
def gather(
    data: _Nested,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"] | None = None,
) -> NDArray[Any]: ...
@overload
def gather(
    data: _Tensor,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: None = None,
) -> _Tensor: ...
@overload
def gather(
    data: object,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"],
) -> NDArray[Any]: ...
@overload
def gather(
    data: object,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any: ...
@overload
def gather_elements(
    data: _Nested,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    version: str | int = "openvino-6",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_elements(
    data: _Tensor,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    version: str | int = "openvino-6",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: None = None,
) -> _Tensor: ...
@overload
def gather_elements(
    data: object,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    version: str | int = "openvino-6",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"],
) -> NDArray[Any]: ...
@overload
def gather_elements(
    data: object,
    indices: ArrayLike,
    *,
    axis: ArrayLike | None = None,
    version: str | int = "openvino-6",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any: ...
@overload
def gather_nd(
    data: _Nested,
    indices: ArrayLike,
    *,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_nd(
    data: _Tensor,
    indices: ArrayLike,
    *,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: None = None,
) -> _Tensor: ...
@overload
def gather_nd(
    data: object,
    indices: ArrayLike,
    *,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"],
) -> NDArray[Any]: ...
@overload
def gather_nd(
    data: object,
    indices: ArrayLike,
    *,
    batch_dims: ArrayLike = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any: ...
@overload
def gather_tree(
    step_ids: _Nested,
    parent_ids: ArrayLike,
    max_seq_len: ArrayLike,
    end_token: ArrayLike,
    *,
    version: str | int = "openvino-1",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"] | None = None,
) -> NDArray[Any]: ...
@overload
def gather_tree(
    step_ids: _Tensor,
    parent_ids: ArrayLike,
    max_seq_len: ArrayLike,
    end_token: ArrayLike,
    *,
    version: str | int = "openvino-1",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: None = None,
) -> _Tensor: ...
@overload
def gather_tree(
    step_ids: object,
    parent_ids: ArrayLike,
    max_seq_len: ArrayLike,
    end_token: ArrayLike,
    *,
    version: str | int = "openvino-1",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: Literal["numpy"],
) -> NDArray[Any]: ...
@overload
def gather_tree(
    step_ids: object,
    parent_ids: ArrayLike,
    max_seq_len: ArrayLike,
    end_token: ArrayLike,
    *,
    version: str | int = "openvino-1",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any: ...
