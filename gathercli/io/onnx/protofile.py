"""ONNX TensorProto files (.pb). Elements in another file, which may have any path, are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.errors import InputError, LimitError
from gathercli.io.formats.content import Layout, malformed
from gathercli.io.formats.foreign import conversion_hint
from gathercli.io.formats.raw import raw_file
from gathercli.io.onnx.tensorproto import TYPES, TensorProto, tensor_head, tensor_message
from gathercli.io.onnx.wire import WireReader
from gathercli.spec.dtypes import DTYPES, STRING
from gathercli.text import clean, in_bytes, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.io.formats.raw import ByteTarget, NamedResult
    from gathercli.io.graph import Constant
    from gathercli.spec.dtypes import DType

MAX_BYTES: Final = 2**31 - 1
"""The size limit of a protobuf message, in bytes."""


class ProtoFile:
    """A TensorProto file; `format` and the members are those of `content.Content`."""

    format = "pb"

    def __init__(self, file: File) -> None:
        """Read the header."""
        size = file.length(MAX_BYTES if file.limit is None else min(MAX_BYTES, file.limit))
        if size > MAX_BYTES:
            raise malformed(
                f"the file has {in_bytes(size)}", f"at most {MAX_BYTES}, as ONNX's messages"
            )
        self._file = file
        raw = file.content() if file.has_more else file.buffer()  # the first one raises
        wire = WireReader(raw, file.limit)
        self._proto = TensorProto(wire, wire.whole)
        name = self._proto.name
        self.names = [name] if name else None

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Describe the tensor."""
        del declared  # the message has the type
        constant = self._constant(key)
        if constant.dtype is STRING:
            return Layout(STRING, constant.shape, constant.tensor().array.dtype)
        return Layout(constant.dtype, constant.shape)

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read the tensor: a view of the file, unless its elements are packed or converted."""
        del declared, empty
        constant = self._constant(key)
        constant.check_memory(self._file)
        return constant.tensor()

    def _constant(self, key: str | None) -> Constant:
        """Return the constant after a check of the number of its elements."""
        proto = self._proto
        if key is not None and key != proto.name:
            raise malformed(
                f"the file holds one tensor, `{clean(proto.name)}`, and no `{clean(key)}`", "no key"
            )
        if proto.entries is not None:
            raise malformed(
                "the tensor keeps its elements in another file, which is never opened",
                "elements in the file itself",
                conversion_hint("external", self._file.name) if proto.marked else None,
            )
        if proto.is_empty:
            raise malformed(
                "the file is truncated: it ends without elements", f"those of {list(proto.shape)}"
            )
        proto.check_count()
        return proto.constant()


def proto_file(results: Sequence[NamedResult], out: ByteTarget) -> None:
    """Write one tensor; raise LimitError if it exceeds the size of a message."""
    ((name, result),) = results
    if result.dtype not in TYPES:
        raise InputError(
            f"the format has no type {result.dtype}",
            rule="dtype",
            value=result.dtype.name,
            expected=listed(each.name for each in DTYPES if each in TYPES),
        )
    if result.nbytes > MAX_BYTES - 10_000:
        raise LimitError(
            f"the tensor takes {in_bytes(result.nbytes)}",
            rule="limit",
            value=result.nbytes,
            expected="less than 2^31, as much as a protobuf message holds",
            hint="npy and safetensors have no such limit",
        )
    if result.dtype.bits < 8:
        out.write(tensor_message(name, result.whole()))
    else:
        out.write(tensor_head(name, result.dtype, result.shape))
        raw_file(results, out)
