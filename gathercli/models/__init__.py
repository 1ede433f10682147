"""The Gather nodes of models: ONNX and OpenVINO IR, read without their frameworks.

::

    read(path, options)  ->  Model    every node of the family, its row, its inputs, the constants
    judge(node)          ->  NodeVerdict
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gathercli.errors import GatherError, NoInputError
    from gathercli.io.files import File
    from gathercli.models.graph import Model


_TENSORS: Final = ("npy", "npz", "safetensors")
"""The formats of tensors with a magic number that may be taken for a model."""


class ReadOptions(NamedTuple):
    """How a model is read.

    Attributes
    ----------
    folder
        The folder of a relative name.
    external
        Whether tensors in other files are read: regular files beside the model.
    infer
        Whether unknown shapes are inferred by the `onnx` package, in a process of its own.
    limit
        The most bytes of a stream in memory; None for no limit.
    guarded
        Whether the process survives the truncation of a mapped file.
    """

    folder: str = ""
    external: bool = False
    infer: bool = False
    limit: int | None = None
    guarded: bool = False


def read(path: str, options: ReadOptions = ReadOptions()) -> Model:  # noqa: B008  (a tuple)
    """Read a model file.

    Parameters
    ----------
    path
        An ONNX model, or an OpenVINO IR .xml whose .bin is beside it; the content decides.

    Raises
    ------
    NoInputError
        ``missing``, ``unreadable``.
    InputError, LimitError
        ``format``, ``dtype``, ``limit``: the file is no sound model.
    """
    from gathercli.errors import GatherError
    from gathercli.io.files import STDIN, File
    from gathercli.io.opening import open_file
    from gathercli.text import clean, shell_word

    if path == "-":
        file = File("-", STDIN, options.limit)
    else:
        try:
            file = open_file(path, options.folder, options.limit)
        except GatherError as error:
            if error.rule == "unreadable" and _has_models(os.path.join(options.folder, path)):
                error.hint = f"`gathercli check {shell_word(path)}` checks the models of a folder"
            if error.rule not in ("missing", "literal"):
                raise
            raise _no_model(path, error) from None
    file.guarded = options.guarded
    try:
        return read_file(file, options)
    except GatherError as error:
        file.close()
        error.prefix("standard input" if path == "-" else clean(path))
        raise


def _has_models(path: str) -> bool:
    """Tell whether a path is a folder with models, as far as it can be searched."""
    from gathercli.errors import NoInputError
    from gathercli.models.files import files_below

    try:
        return os.path.isdir(path) and any(files_below(path))
    except NoInputError:
        return False


def _no_model(path: str, error: GatherError) -> NoInputError:
    """Return the error for a model that is absent, with the hint of `error`."""
    from gathercli.errors import NoInputError
    from gathercli.text import clean, short

    expected = "an ONNX model or an OpenVINO .xml"
    return NoInputError(
        f"there is no file `{clean(short(path))}`",
        rule="missing",
        value=path,
        expected=expected,
        hint=error.advice if error.rule == "missing" else None,
    )


def read_file(file: File, options: ReadOptions) -> Model:
    """Read a model from an open file, as `read` does."""
    from gathercli.io.formats.content import check_pointer, malformed
    from gathercli.io.formats.table import sniff

    start = file.start(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    check_pointer(start)
    if (fmt := sniff(start)) in _TENSORS:
        raise malformed(f"it is a file of tensors, .{fmt}", "an ONNX model or an OpenVINO .xml")
    if start[:1] == b"<":
        from gathercli.models.openvino_ir import read_ir

        return read_ir(file)
    from gathercli.models.onnx_model import read_onnx

    return read_onnx(file, external=options.external, infer=options.infer, limit=options.limit)
