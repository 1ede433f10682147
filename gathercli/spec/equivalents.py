"""Operator versions equal to calls of other frameworks, and their differences.

The treatment of an index on an axis of size s is described in the terms of the versions, so that
differences follow from the rows. A test compares NumPy's calls; the others were run on a CPU with
PyTorch 2.13, JAX 0.10, TensorFlow 2.21 and TensorFlow Addons 0.23.
"""

from __future__ import annotations

import re

from gathercli.records import NamedTuple
from gathercli.spec.op import FROM_THE_END, REFUSED, Negative, OutOfRange

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

    from gathercli.spec.op import Op

MODULO: Final = "wrapped modulo s"
FILLED: Final = "filled with NaN or an extreme of the type"

_NEGATIVE: Final = {FROM_THE_END: Negative.WRAP, REFUSED: Negative.ERROR}
_OUTSIDE: Final = {
    REFUSED: OutOfRange.ERROR,
    MODULO: OutOfRange.WRAP,
    OutOfRange.CLAMP.done: OutOfRange.CLAMP,
    FILLED: OutOfRange.ZERO,  # the nearest
}
"""The option for each treatment of an index."""


class Equivalent(NamedTuple):
    """A call of another framework."""

    name: str  # the usual one: ``torch.gather``
    call: str  # the code, with the variables `data`, `indices`, `axis`
    rows: tuple[str, ...]  # the versions equal to it for legal indices, the nearest first
    negative: str  # the treatment of an index from -s to -1
    outside: str  # the treatment of an index beyond either end
    differs: tuple[str, ...] = ()  # other differences, a short line each
    fixes: tuple[tuple[str, str], ...] = ()  # a version and equal code, whose last line is the call
    aliases: tuple[str, ...] = ()  # other names

    def settings(self, op: Op) -> dict[str, str]:
        """Return the options with which a version treats indices like the call, or nearly so."""
        settings: dict[str, str] = {}
        if self.negative != op.negative and self.negative in _NEGATIVE:
            settings["negative"] = _NEGATIVE[self.negative].value
        policy = _OUTSIDE[self.outside]
        if policy is not op.out_of_range:
            settings["out_of_range"] = policy.value
        return settings

    @property
    def exception(self) -> str | None:
        """The main difference from a version with these settings, as a clause."""
        if self.outside == FILLED:
            return f"an index outside is {FILLED}, and here {OutOfRange.ZERO.done}"
        return next(iter(self.differs), None)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The positional arguments of the call, in order."""
        call = re.search(r"\((.*)\)$", self.call)
        return tuple(each for each in call[1].split(", ") if "=" not in each) if call else ()


_SIGNED: Final = ("onnx.Gather-13", "onnx.Gather-11", "openvino.Gather-8")
_UNSIGNED: Final = ("openvino.Gather-7", "openvino.Gather-1", "onnx.Gather-1")
_ELEMENTS: Final = ("onnx.GatherElements-13", "onnx.GatherElements-11")
_ND: Final = ("onnx.GatherND-13", "onnx.GatherND-12", "onnx.GatherND-11", "openvino.GatherND-8")
_FRONT: Final = "front = torch.where(indices < 0, indices + data.shape[axis], indices)\n"
_BROADCAST: Final = "a dimension of 1 beside the axis broadcasts, in data and in indices"
_NOT_SMALLER: Final = "beside the axis a size of indices between 1 and data's is refused"
_CUT: Final = """\
cut = [slice(n) for n in indices.shape]
cut[axis] = slice(None)
data = data[tuple(cut)]
"""

_EMBEDDING: Final = Equivalent(
    "torch.embedding",
    "torch.embedding(data, indices)",
    _UNSIGNED,
    REFUSED,
    REFUSED,
    ("the axis is 0 and data are 2-D",),
    ((_SIGNED[0], "data[indices]"),),
)

EQUIVALENTS: Final = (
    Equivalent(
        "numpy.take",
        "np.take(data, indices, axis)",
        _SIGNED,
        FROM_THE_END,
        REFUSED,
        (
            "without an axis, data is flattened first; in the version the axis defaults to 0",
            'with mode="wrap" any index is taken modulo s, with mode="clip" a negative one is 0',
            "0-D data are taken as 1-D",
        ),
        aliases=("take",),
    ),
    Equivalent(
        "numpy.take_along_axis",
        "np.take_along_axis(data, indices, axis)",
        _ELEMENTS,
        FROM_THE_END,
        REFUSED,
        (_BROADCAST, _NOT_SMALLER),
        ((_ELEMENTS[0], _CUT + "np.take_along_axis(data, indices, axis)"),),
        aliases=("take_along_axis",),
    ),
    Equivalent(
        "x[i]",
        "data[:, indices] for axis 1, in NumPy and PyTorch",
        _SIGNED,
        FROM_THE_END,
        REFUSED,
        (
            "several indices side by side are tuples, as of x[i, j]",
            "torch.onnx.export writes GatherND with indices[..., None], for another axis between "
            "two Transpose; with dynamo=False it writes Gather",
        ),
        aliases=("x[:, i]", "numpy.ndarray[i]", "torch.Tensor[i]", "torch.Tensor.__getitem__"),
    ),
    Equivalent(
        "x[i, j]",
        "data[i, j] for indices = np.stack([i, j], -1), in NumPy and PyTorch",
        _ND,
        FROM_THE_END,
        REFUSED,
        (
            "i and j broadcast together, where indices hold every tuple in full",
            "data[:, i, j] and data[i, :, j] are GatherND of data with the axes of i and j first; "
            "data[:, i, j] is then transposed back",
            "data[mask] is GatherND with the coordinates of the true cells, np.argwhere(mask)",
            "NumPy takes a uint64 index of 2^64-1 as -1; PyTorch takes uint8 as a mask and refuses "
            "int8 and int16",
            "PyTorch does not check indices where the result has no elements",
            "torch.onnx.export writes GatherND-13, and leaves int32 indices as they are, which it "
            "refuses",
            "with dynamo=False it writes Gather of i * data.shape[1] + j, where a negative j, or "
            "one outside, reads another row",
        ),
        (
            (
                "onnx.GatherND-13, in NumPy",
                "indices = np.stack(np.broadcast_arrays(i, j), -1)\n"
                "data[tuple(np.moveaxis(indices, -1, 0))]",
            ),
            (
                "onnx.GatherND-13, in PyTorch",
                "indices = torch.stack(torch.broadcast_tensors(i, j), -1)\n"
                "data[indices.long().unbind(-1)]",
            ),
        ),
        (
            "x[i,j]",
            "numpy.ndarray[i, j]",
            "torch.Tensor[i, j]",
        ),
    ),
    Equivalent(
        "torch.gather",
        "torch.gather(data, axis, indices)",
        _ELEMENTS,
        REFUSED,
        REFUSED,
        (
            "0-D data and indices are taken",
            "indices without elements are taken whatever their other dimensions",
        ),
        ((_ELEMENTS[0], _FRONT + "torch.gather(data, axis, front)"),),
        ("torch.Tensor.gather",),
    ),
    Equivalent(
        "torch.take_along_dim",
        "torch.take_along_dim(data, indices, axis)",
        _ELEMENTS,
        FROM_THE_END,
        MODULO,
        (_BROADCAST, _NOT_SMALLER),
        ((_ELEMENTS[0], _FRONT + "torch.gather(data, axis, front)"),),
        ("torch.Tensor.take_along_dim", "take_along_dim"),
    ),
    Equivalent(
        "torch.index_select",
        "torch.index_select(data, axis, indices)",
        _UNSIGNED,
        REFUSED,
        REFUSED,
        (
            "indices are 1-D; 0-D ones keep a dimension of 1, which the version drops",
            "0-D data are taken as 1-D",
        ),
        (
            (
                _UNSIGNED[0],
                "flat = torch.index_select(data, axis, indices.flatten())\n"
                "flat.unflatten(axis, indices.shape)",
            ),
            (_SIGNED[0], "data[(slice(None),) * axis + (indices,)]"),
        ),
        ("torch.Tensor.index_select", "index_select"),
    ),
    _EMBEDDING,
    _EMBEDDING._replace(
        name="torch.nn.functional.embedding",
        call="torch.nn.functional.embedding(indices, data)",
        aliases=(
            "torch.nn.Embedding",
            "nn.functional.embedding",
            "F.embedding",
            "embedding",
            "nn.Embedding",
        ),
    ),
    Equivalent(
        "jax.numpy.take",
        "jnp.take(data, indices, axis)",
        ("openvino.Gather-8",),
        FROM_THE_END,
        FILLED,
        (
            "without an axis, data is flattened first; in the version the axis defaults to 0",
            'with mode="wrap" any index is taken modulo s, with mode="clip" a negative one is 0',
            "there are no batch dimensions",
        ),
        (("openvino.Gather-8", 'jnp.take(data, indices, axis, mode="fill", fill_value=0)'),),
    ),
    Equivalent(
        "jax.numpy.take_along_axis",
        "jnp.take_along_axis(data, indices, axis)",
        _ELEMENTS,
        FROM_THE_END,
        FILLED,
        (
            'with mode="clip" an index is counted from the end, then clamped',
            _BROADCAST,
            _NOT_SMALLER,
        ),
        (
            (
                f"{_ELEMENTS[0]} --out-of-range zero",
                _CUT + 'jnp.take_along_axis(data, indices, axis, mode="fill", fill_value=0)',
            ),
        ),
    ),
    Equivalent(
        "jax.Array[i]",
        "data[:, indices] for axis 1, in JAX",
        _SIGNED,
        FROM_THE_END,
        OutOfRange.CLAMP.done,
        fixes=(
            (
                "openvino.Gather-8",
                'data.at[(slice(None),) * axis + (indices,)].get(mode="fill", fill_value=0)',
            ),
        ),
        aliases=("jax.numpy.ndarray[i]", "jax.Array.__getitem__"),
    ),
    Equivalent(
        "jax.Array[i, j]",
        "data[i, j] for indices = jnp.stack([i, j], -1), in JAX",
        _ND,
        FROM_THE_END,
        OutOfRange.CLAMP.done,
        (
            "i and j broadcast together, where indices hold every tuple in full",
            "each number of a tuple is clamped on its own axis",
        ),
        (
            (
                "onnx.GatherND-13 --out-of-range zero",
                "at = tuple(jnp.moveaxis(indices, -1, 0))\n"
                'data.at[at].get(mode="fill", fill_value=0)',
            ),
            (
                "onnx.GatherND-13 -b 1, for legal indices",
                "take = lambda data, indices: data[tuple(jnp.moveaxis(indices, -1, 0))]\n"
                "jax.vmap(take)(data, indices)",
            ),
        ),
        ("jax.Array[i,j]", "jax.numpy.ndarray[i, j]"),
    ),
    Equivalent(
        "jax.lax.gather",
        "jax.lax.gather(data, indices, dimension_numbers, slice_sizes)",
        ("openvino.GatherND-5",),
        OutOfRange.CLAMP.done,
        OutOfRange.CLAMP.done,
        (
            "it is GatherND only if slice_sizes are 1 on the axes that a tuple addresses, which "
            "are dropped, and whole on the others",
            'with mode="fill" an index outside gives NaN or an extreme of the type, a negative '
            "one too",
            "batching dimensions all stay; the version makes one of them",
        ),
        (
            (
                "openvino.GatherND-5 --out-of-range clamp",
                "k, q = indices.shape[-1], indices.ndim - 1\n"
                "numbers = jax.lax.GatherDimensionNumbers(\n"
                "    offset_dims=tuple(range(q, q + data.ndim - k)),\n"
                "    collapsed_slice_dims=tuple(range(k)),\n"
                "    start_index_map=tuple(range(k)),\n"
                ")\n"
                "jax.lax.gather(data, indices, numbers, (1,) * k + data.shape[k:])",
            ),
        ),
        ("lax.gather",),
    ),
    Equivalent(
        "tensorflow.gather",
        "tf.gather(data, indices, axis=axis, batch_dims=batch_dims)",
        ("openvino.Gather-7", "openvino.Gather-1"),
        REFUSED,
        REFUSED,
        (
            "the axis defaults to batch_dims; in the version it defaults to 0",
            "with axis 0, batch_dims is silently ignored; the version refuses it",
            "on a GPU an index outside gives zeros, under XLA it is clamped",
        ),
        (
            (
                "openvino.Gather-8, negative indices",
                "size = tf.shape(data, indices.dtype)[axis]\n"
                "front = tf.where(indices < 0, indices + size, indices)\n"
                "tf.gather(data, front, axis=axis, batch_dims=batch_dims)",
            ),
        ),
    ),
    Equivalent(
        "tensorflow.gather_nd",
        "tf.gather_nd(data, indices, batch_dims=batch_dims)",
        ("openvino.GatherND-8", "onnx.GatherND-13", "onnx.GatherND-12", "onnx.GatherND-11"),
        REFUSED,
        REFUSED,
        (
            "slices without elements are refused, even for legal indices",
            'with bad_indices_policy="IGNORE" an index outside gives zeros, a negative one too',
            "indices are int16, int32 or int64; ONNX's versions take int64 alone",
            "a tuple may have no numbers, which ONNX's versions refuse",
            "under XLA an index outside is clamped, a negative one to 0",
        ),
        (
            (
                "openvino.GatherND-8, negative indices",
                "sizes = tf.shape(data, indices.dtype)[batch_dims:][:indices.shape[-1]]\n"
                "front = tf.where(indices < 0, indices + sizes, indices)\n"
                "tf.gather_nd(data, front, batch_dims)",
            ),
        ),
    ),
    Equivalent(
        "tensorflow_addons.seq2seq.gather_tree",
        "tfa.seq2seq.gather_tree(step_ids, parent_ids, max_seq_len, end_token)",
        ("openvino.GatherTree-1",),
        REFUSED,
        REFUSED,
        (
            "parents within the length are checked even if they are not used, as those of step 0",
            "a negative length is refused, which the version takes as 0",
            "all inputs are int32",
        ),
    ),
)
"""The calls, by framework."""
