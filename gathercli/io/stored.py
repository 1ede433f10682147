"""Elements stored as raw bytes: in a model, in the file of its weights, or in one beside it."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any, Final

from gathercli.compute.tensor import Tensor
from gathercli.errors import Hint, InputError, NoInputError
from gathercli.io.files import File, unreadable
from gathercli.io.formats.content import Layout, check_shape, malformed
from gathercli.io.graph import Constant
from gathercli.io.write import new_name
from gathercli.spec.shapes import product
from gathercli.text import clean, in_bytes, shell_word

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.spec.dtypes import DType


def stored(  # noqa: PLR0917  (a range of a file, and what it stores)
    buffer: Callable[[], Any],
    dtype: DType,
    shape: tuple[int, ...],
    start: int,
    size: int,
    limit: int | None = None,
) -> Constant:
    """Return the constant whose elements are `size` bytes of a buffer, little-endian.

    Parameters
    ----------
    buffer
        A function that returns the bytes of a file, mapped if they are many.
    start
        The offset of the first element.
    limit
        The most bytes of memory of elements that are unpacked; None for no limit.

    Raises
    ------
    InputError
        ``format``: the size is not that of the shape.
    """
    check_shape("the tensor has", shape, dtype.itemsize)
    expected = -(-product(shape) * dtype.bits // 8)
    if size != expected:
        raise malformed(
            f"the tensor has {in_bytes(size)} of elements",
            f"{expected}, for {list(shape)} of {dtype}",
        )

    def load() -> Tensor:
        if dtype.bits >= 8:
            return Layout(dtype, shape, offset=start).view(buffer())
        import numpy as np

        from gathercli.compute.narrow import unpacked

        raw = np.frombuffer(buffer(), np.uint8, size, start)
        return Tensor(dtype, unpacked(raw, product(shape), dtype.bits).reshape(shape))

    return Constant(dtype, shape, load, mapped=dtype.bits >= 8, limit=limit)


def decoded(raw: bytes, where: str) -> str:
    """Decode the string at a place; raise InputError if it is no UTF-8 text."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start} of the string at `{where}` is 0x{raw[error.start]:02x}",
            rule="format",
            where=where,
            expected="UTF-8 text",
        ) from None


def raw_elements(tensor: Tensor) -> bytes:
    """Return elements as `stored` reads them; those of less than a byte are packed."""
    from gathercli.compute.narrow import packed

    if tensor.dtype.bits < 8:
        return packed(tensor.array.reshape(-1), tensor.dtype.bits)
    return tensor.array.astype(tensor.storage.newbyteorder("<")).tobytes()


def check_location(location: str) -> None:
    """Raise InputError, ``format``, if a name that a model has leads out of its folder."""
    if "\0" in location or "\\" in location or not _ELSEWHERE.isdisjoint(location.split("/")):
        raise InputError(
            f"the elements are in `{clean(location)}`",
            rule="format",
            value=location,
            expected="a file beside the model",
        )


def open_beside(path: str, location: str, limit: int | None) -> File:
    """Open a regular file beside a model, through no link.

    Parameters
    ----------
    path
        The model.
    location
        The name of the file, relative to the folder of the model.

    Raises
    ------
    NoInputError
        ``missing``, ``unreadable``.
    """
    *folders, name = location.split("/")
    descriptors: list[int] = []
    try:
        descriptors.append(os.open(os.path.dirname(path) or ".", _FOLDER & ~os.O_NOFOLLOW))
        for folder in folders:
            descriptors.append(os.open(folder, _FOLDER, dir_fd=descriptors[-1]))
        _check_regular(name, descriptors[-1], location)
        fd = os.open(name, _FILE, dir_fd=descriptors[-1])
    except NoInputError as error:
        error.hint = _copying(path, location)
        raise
    except FileNotFoundError:
        raise NoInputError(
            f"`{clean(location)}` is missing",
            rule="missing",
            value=location,
            expected="a file beside the model",
        ) from None
    except OSError as error:
        refusal = unreadable(location, error)
        if error.errno in (errno.ELOOP, errno.ENOTDIR):  # a folder in the name is a link
            refusal.hint = _copying(path, location)
        raise refusal from None
    finally:
        for each in descriptors:
            os.close(each)
    file = File(location, fd, limit)
    if not file.regular:  # it was replaced after the check
        file.close()
        raise _irregular(location, "no regular file")
    file.path = os.path.join(os.path.dirname(path), location)
    return file


def _check_regular(name: str, folder: int, location: str) -> None:
    """Raise for a link, a device or a pipe: opening one may have effects."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise _irregular(location, "a link" if stat.S_ISLNK(mode) else "no regular file")


def _irregular(location: str, kind: str) -> NoInputError:
    return NoInputError(
        f"`{clean(location)}` is {kind}",
        rule="unreadable",
        value=location,
        expected="a regular file beside the model",
    )


def _copying(path: str, location: str) -> Hint | None:
    """Suggest a copy of a model and of the file that a link beside it leads to, if it is one."""
    folder, name = os.path.split(path)
    source = os.path.join(folder, location)
    if not os.path.isfile(source):
        return None
    copy = new_name("copy", "")
    target = os.path.join(copy, os.path.dirname(location))
    steps = (
        f"mkdir -p {shell_word(target)}",
        f"cp -L {shell_word(_as_path(path))} {shell_word(copy)}",
        f"cp -L {shell_word(_as_path(source))} {shell_word(target)}",
    )
    text = "`{steps}` copies what the link leads to; {{source}} is the model then"
    return Hint(text.format(steps=_braced(" && ".join(steps))), source=os.path.join(copy, name))


def _as_path(path: str) -> str:
    """Return a path that is no option."""
    return f"./{path}" if path.startswith("-") else path


def _braced(text: str) -> str:
    """Double the braces of a text, which `Hint` fills in."""
    return text.replace("{", "{{").replace("}", "}}")


_ELSEWHERE: Final = frozenset(("", ".", ".."))
"""Parts of a name that lead out of a folder, or do nothing."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a file beside a model is opened: without waiting for the writer of a pipe."""
