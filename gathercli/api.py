"""The functions of the Python interface: array-likes in, those of the same library out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gathercli import ops
from gathercli.compute.bound import BoundCall
from gathercli.compute.result import no_memory
from gathercli.compute.run import answer, repeat
from gathercli.errors import DtypeError, GatherError, UsageError
from gathercli.frameworks.versions import row_of
from gathercli.io import arraylike
from gathercli.io.arraylike import type_word, typed
from gathercli.io.files import cores
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.table import is_chunked
from gathercli.spec.call import CallContext, Operand
from gathercli.spec.dtypes import Kind
from gathercli.spec.dtypes import dtype as dtype_named
from gathercli.spec.shapes import Shape, as_shape
from gathercli.text import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


def gather(
    data: Any,
    indices: Any,
    *,
    axis: Any = None,
    batch_dims: Any = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any:
    """Gather slices of `data` along an axis.

    ``out[p, i, s] = data[p, indices[p[:b], i], s]`` with p the coordinates before the axis, i
    those of `indices` after the b = batch_dims batch dimensions, and s those after the axis.

    Parameters
    ----------
    data
        Shape (B.., P.., A, S..), rank 1 or more. An array of any library that shares its memory
        (`__array__`, the buffer protocol, DLPack), or nested lists typed as JSON is. It must be on
        the CPU, without gradients.
    indices
        Shape (B.., I..), integers; any rank, 0-D included.
    axis
        The position of A: an integer, or a 0-D or one-element tensor; negative from the end. None
        for the default of the version, usually 0.
    batch_dims
        How many leading dimensions B.. are batches; negative values count from the rank of
        `indices`. Of OpenVINO and ONNX only ``openvino-8`` and ``openvino-7`` have it.
    version
        ``openvino-8``, ``openvino-7``, ``openvino-1``, ``onnx-13``, ``onnx-11``, ``onnx-1``, or
        the call of a framework, such as ``torch.index_select``, ``np.take``, ``jax``.
    negative
        What k < 0 means: ``spec``, ``wrap``, ``error``.
    out_of_range
        What becomes of a k outside the axis: ``spec``, ``error``, ``zero``, ``nan``,
        ``extreme``, ``clamp``, ``wrap``.
    threads
        How many copy at most, where the output is large; None for as many as there are cores.
    out
        An array for the result: its shape and type, C-ordered, in native byte order, apart from
        the inputs; NumPy's or PyTorch's. A loop that gives the same one saves making new ones.
        After a refusal it may hold anything.
    like
        Whose tensor the result is: ``numpy``, ``torch``, ``jax``, ``tensorflow``; None for the
        library of `data`, NumPy for lists. It is on the CPU, and not copied if that can take it.

    Returns
    -------
        Shape (B.., P.., I.., S..), the type of `data`; bfloat16 and narrower types, in NumPy, as
        those of `ml_dtypes`.

    Raises
    ------
    OperatorError
        The version refuses; `.rule` names the rule.
    VersionError
        There is no such version.
    InputError
        `out` cannot take the result, or an input is on a device or requires gradients.

    Notes
    -----
    Sources: OpenVINO operation set, Gather-1, -7 and -8; ONNX operator schemas, Gather.

    Examples
    --------
    >>> gather([1, 2, 3, 4, 5], [3, 10, -20])
    array([4, 0, 0])
    >>> gather([1, 2, 3], 1)
    array(2)
    """
    attributes = {"axis": axis, "batch_dims": batch_dims, "negative": negative}
    attributes["out_of_range"] = out_of_range
    return _run("gather", version, (data, indices), attributes, (threads, out, like))


def gather_elements(
    data: Any,
    indices: Any,
    *,
    axis: Any = None,
    version: str | int = "openvino-6",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any:
    """Gather one element of `data` for every element of `indices`.

    ``out[c] = data[c with c[axis] := indices[c]]``

    Parameters
    ----------
    data
        Shape (P.., A, S..), rank 1 or more.
    indices
        Shape (P.., I, S..) for OpenVINO; P and S may be smaller for ONNX. int32 or int64.
    axis
        The position of A and I; required by OpenVINO, 0 by default for ONNX.
    version
        ``openvino-6``, ``onnx-13``, ``onnx-11``, or a call such as ``torch.gather``.
    negative, out_of_range, threads, out, like
        As for `gather`.

    Returns
    -------
        The shape of `indices`, the type of `data`.

    Raises
    ------
    OperatorError, VersionError, InputError
        As for `gather`.

    Notes
    -----
    Sources: OpenVINO operation set, GatherElements-6; ONNX operator schemas, GatherElements.

    Examples
    --------
    >>> gather_elements([[1, 2], [3, 4]], [[0, 1], [0, 0]], axis=0)
    array([[1, 4],
           [1, 2]])
    """
    attributes = {"axis": axis, "negative": negative, "out_of_range": out_of_range}
    return _run("gather-elements", version, (data, indices), attributes, (threads, out, like))


def gather_nd(
    data: Any,
    indices: Any,
    *,
    batch_dims: Any = 0,
    version: str | int = "openvino-8",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any:
    """Gather slices of `data` at the places that tuples of indices name.

    ``out[p, i, s] = data[p, t, s]`` with ``t = indices[p, i, :]``, whose component j counts along
    axis b + j of `data`; p are the coordinates of the b = batch_dims batch dimensions.

    Parameters
    ----------
    data
        Shape (B.., A.., S..), rank 1 or more.
    indices
        Shape (B.., I.., K), integers, with a component for each of the K dimensions A; int64 for
        ONNX, which also needs K >= 1.
    batch_dims
        How many leading dimensions B.. are batches, less than both ranks; ONNX's 11 has none.
    version
        ``openvino-8``, ``openvino-5``, ``onnx-13``, ``onnx-12``, ``onnx-11``, or a call such as
        ``tf.gather_nd``.
    negative, out_of_range, threads, out, like
        As for `gather`, for each component.

    Returns
    -------
        Shape (B.., I.., S..), the type of `data`; ``openvino-5`` makes B.. one dimension.

    Raises
    ------
    OperatorError, VersionError, InputError
        As for `gather`.

    Notes
    -----
    Sources: OpenVINO operation set, GatherND-5 and -8; ONNX operator schemas, GatherND.

    Examples
    --------
    >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, -1]])
    array([2, 4])
    """
    attributes = {"batch_dims": batch_dims, "negative": negative, "out_of_range": out_of_range}
    return _run("gather-nd", version, (data, indices), attributes, (threads, out, like))


def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_seq_len: Any,
    end_token: Any,
    *,
    version: str | int = "openvino-1",
    negative: str = "spec",
    out_of_range: str = "spec",
    threads: int | None = None,
    out: Any = None,
    like: str | None = None,
) -> Any:
    """Return the token sequences of a beam search, each beam followed back from its last step.

    ``out[t, b, w] = step_ids[t, b, beam(t)]`` with ``beam(m - 1) = w`` and
    ``beam(t - 1) = parent_ids[t, b, beam(t)]``, for m = max_seq_len[b]; what follows the first
    `end_token`, and everything from step m on, is `end_token`.

    Parameters
    ----------
    step_ids
        Shape (T, B, W): the token of each step, batch and beam. Numbers, all of them whole.
    parent_ids
        Shape (T, B, W): the beam of the step before that each beam continues.
    max_seq_len
        Shape (B,): the number of steps of each batch.
    end_token
        Shape (). All four have one type; lists have that of the arrays.
    version
        ``openvino-1``.
    negative, out_of_range
        As for `gather`, for parents that are used: with ``zero`` one outside [0, W-1] names no
        beam, and the cells of the column before it are zero. Those are not tokens: an `end_token`
        of 0 does not end the sequence there.
    threads, out, like
        As for `gather`.

    Returns
    -------
        Shape (T, B, W), the type of `step_ids`.

    Raises
    ------
    OperatorError, VersionError, InputError
        As for `gather`.

    Notes
    -----
    Source: OpenVINO operation set, GatherTree-1.

    Examples
    --------
    >>> gather_tree([[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]], [2], 9).tolist()
    [[[2, 1]], [[3, 4]]]
    """
    attributes = {"negative": negative, "out_of_range": out_of_range}
    inputs = step_ids, parent_ids, max_seq_len, end_token
    return _run("gather-tree", version, inputs, attributes, (threads, out, like))


@typed
def infer_shape(
    op: str,
    data_shape: str | Iterable[object],
    indices_shape: str | Iterable[object],
    *more_shapes: str | Iterable[object],
    axis: Any = None,
    batch_dims: Any = 0,
    version: str | int | None = None,
) -> Shape:
    """Infer the output shape from shapes alone.

    Parameters
    ----------
    op
        ``gather``, ``gather-elements``, ``gather-nd`` or ``gather-tree``.
    data_shape, indices_shape, *more_shapes
        Those of the inputs in their order: text (``[2,?,1..5,N]``, ``[...]``) or a sequence of
        sizes, -1 or None for unknown ones.
    axis
        An integer; ``"unknown"`` for OpenVINO's Gather, whose axis is an input; None for the
        version's default, 0, which OpenVINO's GatherElements lacks.
    batch_dims
        An integer.
    version
        None for the operator's default, the newest of OpenVINO.

    Returns
    -------
        The shape; its ``str`` is the text.

    Raises
    ------
    OperatorError
        What the run would refuse for its shapes.
    InputError
        ``shape-text``.
    UsageError
        The operator takes more or fewer shapes.

    Examples
    --------
    >>> str(infer_shape("gather", "[?,1..5,3]", "[?,2]", axis=1, batch_dims=1))
    '[?,2,3]'
    >>> infer_shape("gather", (2, 5), (2, 3), axis=1, batch_dims=1) == (2, 3)
    True
    """
    row = row_of(op, version)
    shapes = (data_shape, indices_shape, *more_shapes)
    with CallContext(row) as context:
        arraylike.check_number(row, len(shapes), "shapes")
        for each, shape in zip(row.inputs, shapes, strict=True):
            context.inputs[each.name] = Operand(as_shape(shape))
        operands = context.inputs.values()
        call = ops.bind(row, *operands, axis=axis, batch_dims=batch_dims, shapes_only=True)
    return call.shape


@typed
def load(
    source: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    max_bytes: int | None = None,
) -> npt.NDArray[Any]:
    """Read a tensor.

    Parameters
    ----------
    source
        A file (.npy, .npz, .json, .safetensors, ONNX .pb, .zarr; ``x.npz#member``), or any tensor
        argument of the command (``arange:2x5xf32``, ``[[0,1],[2,3]]``); a path object is always a
        file.
    dtype
        The type, where the source leaves it open.
    max_bytes
        How much memory may be used; None for no limit. Large .npy and .safetensors files are
        mapped, not copied.

    Returns
    -------
        The array; read-only where the file is mapped.

    Raises
    ------
    InputError, NoInputError, LimitError

    Examples
    --------
    >>> load("2x3xi32=[[0 0 4][4 0 0]]").dtype
    dtype('int32')
    """
    from gathercli.io.source import Inputs

    token = source if isinstance(source, str) else f"@{os.fspath(source)}"
    word = type_word(dtype)
    declared = None if word is None else dtype_named(word)
    with Inputs(max_bytes, guarded=False) as inputs:
        try:
            return arraylike.as_numpy(inputs.tensor(token, "source", ElementTypes(declared)))
        except MemoryError as error:
            if isinstance(error, GatherError):  # a limit
                raise
            raise no_memory(error) from None


def save(path: str | os.PathLike[str], array: Any, *, format: str | None = None) -> None:  # noqa: A002
    """Write a tensor to a file, which never holds part of it.

    Parameters
    ----------
    path
        The suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; where a file has
        names for its tensors, this one is ``output``. .npy does not name the types that NumPy
        lacks: ``load(path, dtype="bfloat16")``.
    array
        An array, or nested lists.
    format
        ``npy``, ``npz``, ``json``, ``oip``, ``literal``, ``safetensors``, ``pb``, ``bin`` or
        ``zarr``, whatever the suffix.

    Raises
    ------
    OutputError, TransferError
    UsageError
        The suffix names no format.
    InputError
        `array` is none.
    """
    from gathercli.io import save as formats
    from gathercli.io.write import Output

    if not isinstance(path, str | bytes | os.PathLike):
        what = f"is {kind_of(path)}"
        hint = "the name of the file comes first: `gathercli.save(path, array)`"
        raise UsageError(what, subject="path", expected="the name of a file", hint=hint)
    target = os.fspath(path)
    arraylike.refuse_text(array)
    tensor = arraylike.as_tensor(array)
    if tensor.dtype.kind is Kind.OTHER:
        what = f"the array is {tensor.dtype}, which no operator takes"
        raise DtypeError(what, rule="data-dtype", value=tensor.dtype.name, expected="a plain type")
    chosen = formats.format_of(target) if format is None else format
    if is_chunked(chosen):
        with formats.creator(chosen)(target) as chunks:
            chunks.write(tensor)
            chunks.commit()
        return
    with Output(target) as output:
        results = [("output", tensor)]
        output.open(formats.least_sum(chosen, results))
        formats.write(chosen, results, output.stream)
        output.commit()


def _run(
    command: str,
    version: str | int,
    inputs: tuple[Any, ...],
    attributes: dict[str, Any],
    options: tuple[int | None, Any, str | None],
) -> Any:
    """Answer a call, by the plan of one alike if there is one; with `threads`, `out` and `like`."""
    threads, out, like = options
    if like is not None:
        arraylike.check_like(like, out)
    arrays = [*map(arraylike.quick, inputs)]
    room = None if out is None else arraylike.room(out)
    output, key = repeat(command, (version, threads, *attributes.values()), arrays, room)
    if output is None:
        op = row_of(command, version)
        with CallContext(op) as context:
            tensors = arraylike.arguments(context, inputs)
            call = ops.bind(op, *context.inputs.values(), **attributes)
            most = cores() if threads is None else arraylike.check_threads(threads)
            if room is not None:
                arraylike.check_out(room, Shape(call.shape), *tensors)
            result = answer(BoundCall(call, *tensors), threads=most, out=room, key=key)
        output = arraylike.as_numpy(result)
    return arraylike.given_back(output, inputs[0], like) if out is None else out
