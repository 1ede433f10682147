"""Operator versions equal to calls of other frameworks, and their differences.

The treatment of an index on an axis of size s is described in the terms of the versions, so that
differences follow from the rows. A test compares NumPy's calls; the others were run on a CPU with
PyTorch 2.13, JAX 0.10, TensorFlow 2.21 and TensorFlow Addons 0.23.
"""

from __future__ import annotations

import re

from gathercli.errors import UsageError
from gathercli.records import NamedTuple
from gathercli.spec.op import FROM_THE_END, Negative, OutOfRange
from gathercli.text import closest, listed, shell_word

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

    from gathercli.spec.op import Op

REFUSED: Final = OutOfRange.ERROR.done
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
    """A call of another framework.

    Attributes
    ----------
    name
        Its usual name: ``torch.gather``.
    call
        The code, with the variables `data`, `indices`, `axis`.
    rows
        The full names of the versions equal to it for legal indices, the nearest first.
    negative, outside
        The treatment of an index from -s to -1, and of one beyond either end.
    differs
        Other differences, a short line each.
    fixes
        Pairs of a version and equal code; the last line of code is the call.
    aliases
        Its other names.
    """

    name: str
    call: str
    rows: tuple[str, ...]
    negative: str
    outside: str
    differs: tuple[str, ...] = ()
    fixes: tuple[tuple[str, str], ...] = ()
    aliases: tuple[str, ...] = ()

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
                "openvino.Gather-1",
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
                "openvino.GatherND-8 --out-of-range zero",
                "at = tuple(jnp.moveaxis(indices, -1, 0))\n"
                'data.at[at].get(mode="fill", fill_value=0)',
            ),
            (
                "openvino.GatherND-8 -b 1, for legal indices",
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

_SHORT: Final = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "tf": "tensorflow",
    "tfa": "tensorflow_addons",
    "pytorch": "torch",
}
_WRITES: Final = "it writes where a gather reads, and no operator here does"
_NOT_HERE: Final = {
    **dict.fromkeys(
        ("scatter", "scatteradd", "scatterelements", "scatternd", "scatterupdate", "indexput"),
        _WRITES,
    ),
    **dict.fromkeys(("indexadd", "indexcopy", "putalongaxis"), _WRITES),
}
_PARAMETERS: Final = {
    "a": "data",
    "arr": "data",
    "dim": "axis",
    "index": "indices",
    "input": "data",
    "max_sequence_lengths": "max_seq_len",
    "params": "data",
    "weight": "data",
}
"""Argument names of other frameworks and the names here."""

_TENSORS: Final = ("data", "indices", "step_ids", "parent_ids", "max_seq_len", "end_token")
_SUBSCRIPT: Final = re.compile(r"([A-Za-z_][\w.]*)\[(.*)\]", re.DOTALL)
_MASK: Final = re.compile(r"mask|[<>]|[=!]=", re.IGNORECASE)
"""What an index that is a mask is called, or computed with."""

_SUBSCRIPTS: Final = ("getitem", "index")
"""The last names, without underscores, of calls that are written ``x[i, j]``."""

_CALL: Final = re.compile(r"[A-Za-z_][\w.]*\((.*)\)", re.DOTALL)


def equivalent(call: str) -> Equivalent:
    """Return a call by name, ``np.take`` or ``torch.Tensor.gather()``, or raise `UsageError`.

    >>> equivalent("jnp.take").name
    'jax.numpy.take'
    """
    if each := find_equivalent(call):
        return each
    why = not_here(call)
    # Suggest a call of the same library only.
    library, _, name = _full_name(call).partition(".")
    names = [each[len(library) + 1 :] for each in _BY_NAME if each.startswith(f"{library}.")]
    near = None if why else closest(name, names, cutoff=0.75)
    near_names = [_BY_NAME[f"{library}.{near}"].name] if near else _of_last_name(call)
    suggestions = [] if why else [f"`gathercli ops --like {shell_word(n)}`" for n in near_names]
    raise UsageError(
        f"no call `{call[:40]}` is known{f' ({why})' if why else ''}: "
        f"expected {listed(each.name for each in EQUIVALENTS)}",
        rule="usage",
        value=call,
        hint=f"did you mean {listed(suggestions)}?" if suggestions else None,
    )


def _of_last_name(call: str) -> list[str]:
    """Return the calls with the last name of a call: ``gather_nd``, ``tf.raw_ops.GatherNd``."""
    module, _, last = _full_name(call).rpartition(".")
    if any(each.name.rpartition(".")[0] == module for each in EQUIVALENTS if module):
        return []  # a known library without this call
    last = re.sub("[-_]", "", last)
    if last in _SUBSCRIPTS:
        return ["x[i, j]"]
    return [
        each.name
        for each in EQUIVALENTS
        if last == each.name.rpartition(".")[2].replace("_", "").lower()
    ]


def arguments_of(call: str) -> list[str]:
    """Return the arguments in the code of a call as arguments and options of a command.

    >>> arguments_of("torch.gather(x, dim=1, index=idx)"), arguments_of("x[:, idx]")
    (['x', 'idx', '--axis=1'], ['x', 'idx', '--axis=1'])
    """
    call = call.strip()
    if call.lower() in _BY_NAME:
        return []
    if subscript := _SUBSCRIPT.fullmatch(call):
        return _subscript(subscript[1], [part.strip() for part in subscript[2].split(",")])
    each, code = find_equivalent(call), _CALL.fullmatch(call)
    if each is None or code is None:
        return []
    values: dict[str, str] = {}
    free = list(each.arguments)  # positional arguments without a value
    for part in _split(code[1]):
        keyword = re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", part, re.DOTALL)
        name = _PARAMETERS.get(keyword[1], keyword[1]) if keyword else free[0] if free else ""
        if name in free:
            free.remove(name)
        values[name] = (keyword[2] if keyword else part).strip("'\"")
    tensors = [name for name in each.arguments if name in _TENSORS]
    if "" in values or not set(tensors) <= values.keys():
        return []
    options = [f"--{name}={value}" for name, value in values.items() if name not in _TENSORS]
    return [values[name] for name in tensors] + options


def _split(text: str) -> list[str]:
    """Split arguments at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _subscript(data: str, parts: list[str]) -> list[str]:
    """Return the arguments of ``data[:, indices]``; an empty list unless it has one index.

    A mask is no index.
    """
    axes = [axis for axis, part in enumerate(parts) if part not in (":", "...", "")]
    if len(axes) != 1 or _MASK.search(parts[axes[0]]):
        return []
    (axis,) = axes
    indices = parts[axis]
    if "..." in parts[:axis]:
        axis -= len(parts)
    return [data, indices, f"--axis={axis}"]


def of_framework(word: str) -> list[Equivalent]:
    """Return the call with a name, or all calls of the framework with this name.

    >>> [each.name for each in of_framework("tf-2.21")]
    ['tensorflow.gather', 'tensorflow.gather_nd']
    """
    if each := find_equivalent(word):
        return [each]
    framework = re.sub(r"[\s:_-]*[\d.]*$", "", _full_name(word))
    framework = _SHORT.get(framework, framework).partition(".")[0]
    named = [each for each in EQUIVALENTS if each.name.partition(".")[0] == framework]
    aliases = (f"{framework}.ndarray[", f"{framework}.tensor[")
    others = [e for e in EQUIVALENTS if any(a.lower().startswith(aliases) for a in e.aliases)]
    return named + [each for each in others if each not in named]


def not_here(word: str) -> str | None:
    """Return why no version equals a known call such as ``tf.scatter_nd``, or None."""
    name = _full_name(word).rpartition(".")[2]
    return _NOT_HERE.get(re.sub(r"[-_]|\d+$", "", name))


def find_equivalent(word: str) -> Equivalent | None:
    """Return the call with a name, or None."""
    each = _BY_NAME.get(_full_name(word))
    if each is None and (subscript := _SUBSCRIPT.fullmatch(word.strip())):
        indices = [part for part in _split(subscript[2]) if part not in (":", "...")]
        are_tuples = len(indices) > 1 or any(map(_MASK.search, indices))
        return _BY_NAME["x[i, j]" if are_tuples else "x[i]"]
    return each


_BY_NAME: Final = {
    name.lower(): each for each in EQUIVALENTS for name in (each.name, *each.aliases)
}


def _full_name(call: str) -> str:
    """Return the name of a call in lower case, without arguments or abbreviated modules."""
    name = re.sub(r"\(.*\)$", "", call.strip(), flags=re.DOTALL).lower()
    head, dot, rest = name.partition(".")
    return _SHORT.get(head, head) + dot + rest
