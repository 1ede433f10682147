"""Models as files: read from a path, found below a folder, and the tensors that they store.

::

    read(path, options)  ->  Model    every node of the family, its row, its inputs, the constants
"""

from __future__ import annotations

import os
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.compute.storage import storage_of
from gathercli.errors import GatherError, NoInputError
from gathercli.io.files import STDIN, File
from gathercli.io.folders import raise_unlisted
from gathercli.io.formats.content import Content, ElementTypes, Layout, check_pointer, malformed
from gathercli.io.formats.table import MODELS, sniff
from gathercli.io.source import open_file
from gathercli.slices import MODEL_SUFFIXES
from gathercli.text import clean, listed, short, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.io.graphs.graph import Constant
    from gathercli.models.graph import Model

_EXPECTED_MODEL: Final = "an ONNX model or an OpenVINO .xml"

# The formats of tensors with a magic number that may be taken for a model.
_TENSOR_FORMATS: Final = ("npy", "npz", "safetensors")

_SUFFIXES: Final = tuple(each.suffix for each in MODELS.values())

IR_ROOT: Final = "net"  # the element that an .xml has for its root if it is a model
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_ROOT: Final = re.compile(rb"<([^\s!?/>]+)[\s/>]")

_HEAD_BYTES: Final = 4096

# What stands for itself in the path of a URI.
_PLAIN_BYTES: Final = (string.ascii_letters + string.digits + "-._~/").encode()


class ReadOptions(NamedTuple):
    """How a model is read."""

    folder: str = ""  # of a relative name
    external: bool = False  # whether tensors in regular files beside the model are read
    infer: bool = False  # whether the `onnx` package, in its own process, infers unknown shapes
    limit: int | None = None  # the most bytes of memory; None for no limit
    tolerant: bool = False  # whether malformed tensors do not refuse the model
    guarded: bool = False  # whether the process survives the truncation of a mapped file


def read(path: str, options: ReadOptions = ReadOptions()) -> Model:  # noqa: B008  (a tuple)
    """Read an ONNX model, or an OpenVINO IR .xml whose .bin is beside it; the content decides.

    Raises NoInputError (``missing``, ``unreadable``), or InputError and LimitError (``format``,
    ``dtype``, ``limit``) if the file is no sound model.
    """
    if path == "-":
        file = File("-", STDIN, options.limit)
    else:
        try:
            file = open_file(path, options.folder, options.limit)
        except GatherError as error:
            if error.rule not in ("missing", "literal"):
                raise
            what = f"there is no file `{clean(short(path))}`"
            hint = error.advice if error.rule == "missing" else None
            expected = _EXPECTED_MODEL
            raise NoInputError(
                what, rule="missing", value=path, expected=expected, hint=hint
            ) from None
    file.guarded = options.guarded
    try:
        return _read_file(file, options)
    except GatherError as error:
        file.close()
        error.prefix("standard input" if path == "-" else clean(path))
        raise


def _read_file(file: File, options: ReadOptions) -> Model:
    start = file.start(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    check_pointer(start)
    if (fmt := sniff(start)) in _TENSOR_FORMATS:
        raise malformed(f"it is a file of tensors, .{fmt}", _EXPECTED_MODEL)
    if start[:1] == b"<":
        from gathercli.models.openvino_ir import read_ir

        model = read_ir(file, infer=options.infer)
    else:
        from gathercli.models.onnx_model import read_onnx

        model = read_onnx(file, external=options.external, infer=options.infer)
    if model.malformed and not options.tolerant:
        raise next(iter(model.malformed.values()))
    return model


def files_below(word: str) -> Iterator[str]:
    """Yield a file, or the models below a folder in order; links in a folder are not followed.

    Raise NoInputError, ``unreadable``, if a folder cannot be searched.
    """
    if not os.path.isdir(word):
        yield word
        return
    for folder, folders, names in os.walk(word, onerror=raise_unlisted):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            is_file = os.path.isfile(path) and not os.path.islink(path)
            if is_file and name.lower().endswith(_SUFFIXES):
                is_xml = name.lower().endswith(".xml")  # which may be no model
                yield from [path] if not is_xml or root_of(path) == IR_ROOT else []


def models_of(words: Sequence[str]) -> list[str]:
    """Return the models that words name, files or folders, each once."""
    return list(dict.fromkeys(path for word in words for path in files_below(word)))


def no_model(words: Sequence[str]) -> NoInputError:
    """Return the error for folders without a model."""
    what = f"there is no model in {some(f'`{clean(word)}`' for word in words)}"
    expected = f"files that end in {listed(MODEL_SUFFIXES)}"
    return NoInputError(what, rule="missing", expected=expected)


def root_of(path: str) -> str:
    """Return the root of an .xml; empty for other files, and if its first bytes have none."""
    if not path.lower().endswith(".xml") or not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES).replace(b"\0", b"")  # which leaves ASCII of UTF-16
    except OSError:  # which the reader of models reports
        return IR_ROOT
    root = _ROOT.search(_COMMENT.sub(b"", head))
    return root[1].decode(errors="backslashreplace") if root else ""


def repository_root() -> str:
    """Return the root of the git repository of the working folder; without one, that folder."""
    here = Path.cwd()
    roots = (each for each in (here, *here.parents) if os.path.exists(each / ".git"))
    return str(next(roots, here))


def path_in_repository(name: str) -> str:
    """Return the path of a file from the root of the repository; the absolute one outside it."""
    path, root = Path(os.path.realpath(name)), repository_root()
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def as_uri(path: str) -> str:
    """Return a path as a URI, or a relative one as a reference."""
    name = os.fsencode(path)
    text = "".join(chr(each) if each in _PLAIN_BYTES else f"%{each:02X}" for each in name)
    return f"file://{text}" if os.path.isabs(path) else text


class ModelContent(Content):
    """The tensors of a model as those of any file.

    A key is the name of a tensor, or ``NODE:INPUT`` for a constant input of a node.
    """

    has, none = "the model stores", "no tensor"

    def __init__(self, file: File) -> None:
        """Read the model."""
        super().__init__(file)
        self._model = _read_file(file, ReadOptions(external=file.external))
        self.format = self._model.format
        self.names = list(self._model.tensors)

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes of the family."""
        return [each.name for each in self._model.nodes]

    def layout(self, key: str | None, types: ElementTypes) -> Layout:
        """Describe a tensor."""
        del types  # the model has the type
        constant = self._constant(key)
        return Layout(constant.dtype, constant.shape, storage_of(constant.dtype))

    def tensor(self, key: str | None, types: ElementTypes) -> Tensor:
        """Read a tensor: a view of the file, unless its elements are packed or converted."""
        del types
        constant = self._constant(key)
        constant.check_memory(self._file)
        return constant.tensor()

    def _constant(self, key: str | None) -> Constant:
        tensors = self._model.tensors
        if key is not None and key not in tensors:
            if (constant := self._input(key)) is not None:
                return constant
            if key in self.nodes:
                call = "a call of the command line, and `--feed` gives its inputs"
                hint = f"a node alone is {call}; no function of Python takes one"
                raise malformed(f"`{clean(short(key))}` is a node", "a tensor", hint)
        return tensors[self.find(key, tensors)]

    def _input(self, key: str) -> Constant | None:
        """Return the constant input of a node; None if the key names none."""
        name, _, role = key.rpartition(":")
        node = next((each for each in self._model.nodes if each.name == name), None)
        value = node.named_inputs.get(role) if node else None
        return value.constant if value else None
