"""The formats of files, a row each: what is read, written, offered and described follows it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Format(NamedTuple):
    """A format that is written.

    Attributes
    ----------
    suffix
        What the name of a file of this format ends with.
    binary
        Whether it is no text.
    several
        Whether it holds several tensors.
    named
        Whether it keeps the names of tensors.
    argument
        How a command line names a tensor of such a file; blank where another row says so, or it
        is no file.
    """

    suffix: str
    binary: bool
    several: bool
    named: bool
    argument: str = ""


FORMATS: Final = {
    "npy": Format(".npy", True, False, False, ".npy"),
    "npz": Format(".npz", True, True, True, ".npz#name"),
    "json": Format(".json", False, True, True, ".json#name"),
    "oip": Format(".json", False, True, True),
    "literal": Format(".txt", False, False, False),
    "safetensors": Format(".safetensors", True, True, True, ".safetensors#name"),
    "pb": Format(".pb", True, False, True, ".pb"),
    "bin": Format(".bin", True, False, False, "bin:2x3xf32@x.bin"),
    "zarr": Format(".zarr", True, False, False, ".zarr#name"),
}

BY_SUFFIX: Final = {f.suffix: name for name, f in FORMATS.items() if f.argument}
"""The format that a suffix names, in the order of the rows."""

ARGUMENTS: Final = tuple(f.argument for f in FORMATS.values() if f.argument)
