"""The .npy format, read with bounds that `numpy.load` lacks and written block by block.

`numpy.load` reads a header of any length before it looks at its limit, lets TypeError,
SyntaxError, TokenError and MemoryError escape, and accepts types that hang later. Here the header
is bounded before it is read, the type is one of ours, and the bytes declared are the bytes there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.arrays.tensor import Tensor, dtype_of
from gathercli.errors import Hint, InputError
from gathercli.io.formats.content import Layout, check_shape
from gathercli.io.formats.table import NPY as MAGIC
from gathercli.spec.dtypes import STRING, DType, described
from gathercli.spec.shapes import product
from gathercli.text import clean

if TYPE_CHECKING:
    import numpy as np

    from gathercli.arrays.tensor import AnyArray
    from gathercli.io.files import File

MAX_HEADER: Final = 10_000
"""Bytes of header accepted, as numpy itself limits them."""

PREAMBLE: Final = len(MAGIC) + 2 + 4 + MAX_HEADER
"""Bytes that hold every acceptable header."""

_SAVED: Final = {1: ("a byte", "float8_e4m3fn"), 2: ("two bytes", "bfloat16")}
"""What numpy saves as opaque bytes, by how many an element takes, and a type that it may be."""

_LENGTH_BYTES: Final[dict[tuple[int, ...], int]] = {(1, 0): 2, (2, 0): 4, (3, 0): 4}


class Header(NamedTuple):
    """What a .npy file declares.

    Attributes
    ----------
    shape, fortran_order, held
        Shape, memory order and numpy dtype, byte order included.
    offset
        Where the elements start.
    """

    shape: tuple[int, ...]
    fortran_order: bool
    held: np.dtype[Any]
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return product(self.shape) * self.held.itemsize

    def layout(self, declared: DType | None) -> Layout:
        """Name the element type; `declared` tells what one or two opaque bytes are.

        Raises
        ------
        InputError
            ``npy``: not a type a tensor can have.
        """
        import numpy as np

        held = self.held
        dtype = dtype_of(held)
        if held.kind == "V" and held.itemsize in _SAVED and held.names is None:
            if declared is None or not declared.opaque or declared.itemsize != held.itemsize:
                bytes_, name = _SAVED[held.itemsize]
                raise _refused(
                    f"the type is |V{held.itemsize}, {bytes_} of unknown meaning",
                    "a declared type",
                    Hint(f"{name} is saved like this: {{data_dtype}} reads it", data_dtype=name),
                )
            # `|V2` says no byte order: the machines that save bfloat16 are little-endian.
            dtype, held = declared, np.dtype(f"<u{held.itemsize}")
        if dtype is None or held.itemsize == 0 or held.subdtype:
            raise _refused(
                f"the type is {held!s}", "bool, an integer, a float, a complex or <U strings"
            )
        return Layout(dtype, self.shape, held, self.offset, self.fortran_order)


class Npy:
    """A .npy file; `format` and the members are those of `content.Content`."""

    format = "npy"
    names = None

    def __init__(self, file: File) -> None:
        self._file = file

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Read the header."""
        if key is not None:
            raise InputError(
                f"a .npy file holds one tensor and no member `{clean(key)}`: expected no key",
                rule="npy",
                value=key,
                hint=Hint("{source}", source=self._file.name),
            )
        found = header(self._file.start(PREAMBLE))
        length = self._file.length(found.offset + found.nbytes)
        check_length(found, length, goes_on=self._file.goes_on)
        return found.layout(declared)

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """View the elements; those of a large regular file are mapped."""
        del empty  # a header names the type
        found = self.layout(key, declared)
        buffer = self._file.buffer()
        return view(found, buffer)


def _refused(what: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(f"{what}: expected {expected}", rule="npy", expected=expected, hint=hint)


def header(start: bytes) -> Header:
    """Read a header.

    Parameters
    ----------
    start
        The first `PREAMBLE` bytes of the file, or all of a shorter one.

    Raises
    ------
    InputError
        ``npy``.
    LimitError
        ``limit``: more elements than can be addressed.
    """
    fixed = len(MAGIC) + 2
    version = tuple(start[len(MAGIC) : fixed])
    width = _LENGTH_BYTES.get((version[0], version[1])) if len(version) == 2 else None
    if len(start) < fixed:
        raise _refused(f"the file ends at byte {len(start)}", "a header")
    if width is None:
        raise _refused(f"the format version is {version}", "1.0, 2.0 or 3.0")
    length = int.from_bytes(start[fixed : fixed + width], "little")
    offset = fixed + width + length
    if length > MAX_HEADER:
        raise _refused(f"the header declares {length} bytes", f"at most {MAX_HEADER}")
    if len(start) < offset:
        raise _refused(
            f"the file ends at byte {len(start)}, inside its header", f"{offset} bytes of header"
        )
    text = start[fixed:offset]
    if not text[width:].isascii():
        at = next(at for at, byte in enumerate(text[width:], fixed + width) if byte > 0x7F)
        raise _refused(f"byte {at} is 0x{start[at]:02x}", "a header of ASCII")
    shape, fortran_order, held = _parsed(text, version)
    return Header(shape, fortran_order, held, offset)


@lru_cache(maxsize=64)
def _parsed(text: bytes, version: tuple[int, ...]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the text of a header, with its length before it; those of many files are equal."""
    import io
    import warnings

    import numpy.lib.format as numpy_format

    read = (
        numpy_format.read_array_header_1_0
        if version == (1, 0)
        else numpy_format.read_array_header_2_0
    )
    # numpy writes what it cannot read: float8_e5m2, which calls itself a float of one byte.
    text = text.replace(b"'<f1'", b"'<V1'")
    try:
        with warnings.catch_warnings():  # numpy warns of headers that Python 2 wrote
            warnings.simplefilter("ignore")
            shape, fortran_order, held = read(io.BytesIO(text), MAX_HEADER)
    except Exception as error:  # noqa: BLE001  (numpy's reader lets many kinds escape)
        words = str(error.args[0] if error.args else "").splitlines()
        reason = words[0] if words else type(error).__name__
        reason = re.sub(r"<(?:\w+\.)*(\w+) object at 0x\w+>", r"\1", reason)[:120]
        raise _refused(
            f"numpy cannot read the header ({reason})", "a dictionary of descr, order and shape"
        ) from None
    _check_keys(text[_LENGTH_BYTES[version] :])
    _check_declared(shape, held)
    return shape, fortran_order, held


def _check_keys(text: bytes) -> None:
    """Refuse a header that names a key twice, of which numpy takes the last."""
    import ast

    plain = re.sub(rb"(?<=\d)L\b", b"", text)  # as Python 2 wrote sizes
    tree = ast.parse(plain.strip(), mode="eval").body
    keys = [ast.literal_eval(key) for key in getattr(tree, "keys", ()) if key is not None]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise _refused(f"the header names `{twice}` twice", "every key once")


def _check_declared(shape: tuple[int, ...], held: np.dtype[Any]) -> None:
    """Refuse types that only pickle can load, and shapes that nothing can hold."""
    if held.hasobject:
        raise _refused(
            "the type is object, which only pickle can load, and pickle runs code",
            "a plain type",
            "Python, which made it, can save it with a plain type: array.astype(str) has one",
        )
    if any(type(size) is not int or size < 0 for size in shape):
        raise _refused(f"the shape is {shape}", "sizes of 0 or more")
    check_shape("the file declares", shape, held.itemsize)


def check_length(found: Header, length: int, *, goes_on: bool = False) -> None:
    """Refuse a file whose bytes are not those its header declares.

    Parameters
    ----------
    goes_on
        Whether more may follow what was read.
    """
    if length != found.offset + found.nbytes:
        at_hand = length - found.offset
        word = "truncated" if at_hand < found.nbytes else "longer than it says"
        raise _refused(
            f"the file is {word}: it has {at_hand} bytes of elements{' or more' * goes_on}",
            f"{found.nbytes}, for {_described(found)}",
        )


def _described(found: Header) -> str:
    """Write type and shape as one word, ``f32[5,4]``; of bytes that have no type numpy's word."""
    sizes, dtype = ",".join(map(str, found.shape)), dtype_of(found.held)
    return described(dtype, sizes) if dtype else f"{found.held.str}[{sizes}]"


def view(found: Layout, buffer: Any) -> Tensor:
    """View the elements in the bytes of a whole file (`buffer`, mapped or in memory)."""
    tensor = found.view(buffer, rule="npy")
    if found.dtype is STRING:
        check_strings(tensor.array)
    return tensor


def check_strings(array: AnyArray, *, rule: str = "npy") -> None:
    """Refuse code points that are no characters, on which numpy fails only when they are read."""
    import numpy as np

    width = array.dtype.itemsize // 4
    points = (
        np.ascontiguousarray(array)
        .reshape(-1)
        .view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    )
    wrong = (points > 0x10FFFF) | ((points >= 0xD800) & (points <= 0xDFFF))
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"element {at // width} holds the code point 0x{int(points[at]):x}: "
            "expected characters",
            rule=rule,
            expected="characters",
        )


@lru_cache(maxsize=64)
def encode_header(dtype: DType, storage: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Write the header for C-ordered elements; what numpy lacks becomes ``<V2`` or ``<V1``."""
    import io

    import numpy.lib.format as numpy_format

    out = io.BytesIO()
    descr = f"<V{dtype.itemsize}" if dtype.opaque else numpy_format.dtype_to_descr(storage)
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    numpy_format.write_array_header_1_0(out, fields)  # 64 dimensions fit its 64 KiB
    return out.getvalue()
