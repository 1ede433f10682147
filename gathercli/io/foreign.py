"""Files that are not read: named where they are known, with the line that converts them."""

from __future__ import annotations

import json
import re
from typing import Final

from gathercli.core.text import clean, shell_word
from gathercli.errors import Hint, InputError

READ: Final = ".npy, .npz, .safetensors, .pb or JSON"
"""What is read, in the words of the messages."""

RAW: Final = "bare elements are read by their shape and type: `bin:4x3xf32@FILE`"

_CONVERSIONS: Final = {
    "pickle": 'numpy.save("x.npy", numpy.load({name}, allow_pickle=True))  # runs its code',
    "csv": 'numpy.save("x.npy", numpy.loadtxt({name}, delimiter=","))',
    "torch": 'numpy.save("x.npy", torch.load({name}, weights_only=True).numpy())',
    "hdf5": 'numpy.save("x.npy", h5py.File({name})["NAME"][()])',
    "onnx": 'numpy.save("x.npy", onnx.numpy_helper.to_array('
    'next(t for t in onnx.load({name}).graph.initializer if t.name == "NAME")))',
}
_MODULES: Final = {"hdf5": "h5py, numpy", "torch": "numpy, torch", "onnx": "numpy, onnx"}
_MARKS: Final = (
    (
        rb"\x80[\x02-\x05]|c[\w.]+\n[\w.]+\n|\((?:lp|dp)|[\]}]q",
        "a pickle, which runs code when it is loaded",
        "pickle",
    ),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "hdf5"),
    (rb"(?s)\x08[\x01-\x20](?:\x12|\x1a|\x3a|\x42)", "an ONNX model", "onnx"),
)
_PACKED: Final = {
    b"\x1f\x8b": "zcat",
    b"BZh": "bzcat",
    b"\xfd7zXZ": "xzcat",
    b"\x28\xb5\x2f\xfd": "zstdcat",
}


def refuse(start: bytes, name: str) -> None:
    """Refuse what is no text, saying what it is where we know.

    Raises
    ------
    InputError
        ``format``.
    """
    for mark, what, kind in _MARKS:
        if re.match(mark, start):
            raise foreign(name, what, kind)
    for magic, program in _PACKED.items():
        if start.startswith(magic):
            line = f"{program} {shell_word(name)}"
            hint = Hint(
                f"`<({line})` in its place, or `{line} |` before and `-` in its place, unpacks it"
            )
            hint.python = f"`{line} > FILE` unpacks it"
            raise InputError(f"the input is compressed: expected {READ}", rule="format", hint=hint)
    refuse_binary(start, start)


def refuse_binary(part: bytes, start: bytes) -> None:
    """Refuse bytes that no text holds; `start` is the file's own, for the message."""
    if b"\0" in part or start[:1] > b"\xf4":
        raise InputError(
            f"the input starts with the bytes {start[:8].hex(' ')}: expected {READ}",
            rule="format",
            hint=RAW,
        )


def foreign(name: str, what: str, kind: str) -> InputError:
    """Refuse a format that is known but not read, with the line that converts it."""
    return InputError(
        f"the input is {what}: expected {READ}",
        rule="format",
        hint=conversion(kind, name, "convert it"),
    )


def conversion(kind: str, name: str, what: str) -> Hint:
    """Write the line that converts a file; `what` says so."""
    path = "/dev/stdin" if name == "-" else clean(name)
    line = (
        f"import {_MODULES.get(kind, 'numpy')}; {_CONVERSIONS[kind].format(name=json.dumps(path))}"
    )
    return Hint(f"{what}: {{code}}", code=line)


def missing(package: str) -> str:
    """Say that the package of a format is not installed; it is also the name of the extra."""
    return f"the format needs the package {package}: expected it to be installed"


def install(package: str) -> str:
    """Write the line that installs the package of a format."""
    return f"`python -m pip install 'gathercli[{package}]'`"
