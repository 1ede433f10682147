"""What readers of models need: the files beside them, opened through no link, and fast nodes."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from gathercli.errors import Hint, NoInputError
from gathercli.io.files import File, new_name, unreadable
from gathercli.io.graphs.onnx import NodeFields, node_fields
from gathercli.io.graphs.wire import MOST_FIELDS, SPAN_BYTES, Span, WireReader
from gathercli.text import clean, shell_word

# How they are opened: without waiting for the writer of a pipe.
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def open_beside(path: str, location: str, limit: int | None) -> File:
    """Open a regular file, `location` relative to the model's folder, through no link."""
    *folders, name = location.split("/")
    descriptors: list[int] = []
    try:
        descriptors.append(os.open(os.path.dirname(path) or ".", _FOLDER_FLAGS & ~os.O_NOFOLLOW))
        for folder in folders:
            descriptors.append(os.open(folder, _FOLDER_FLAGS, dir_fd=descriptors[-1]))
        # Opening a link, a device or a pipe may have effects.
        mode = os.stat(name, dir_fd=descriptors[-1], follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            raise _irregular(location, "a link" if stat.S_ISLNK(mode) else "no regular file")
        fd = os.open(name, _FILE_FLAGS, dir_fd=descriptors[-1])
    except NoInputError as error:
        error.hint = _copying(path, location)
        raise
    except FileNotFoundError:
        what = f"`{clean(location)}` is missing"
        expected = "a file beside the model"
        raise NoInputError(what, rule="missing", value=location, expected=expected) from None
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


def _irregular(location: str, kind: str) -> NoInputError:
    what = f"`{clean(location)}` is {kind}"
    return NoInputError(what, value=location, expected="a regular file beside the model")


def _copying(path: str, location: str) -> Hint | None:
    """Suggest a copy of a model and of the file that a link beside it leads to, if it is one."""
    folder, name = os.path.split(path)
    source = os.path.join(folder, location)
    if not os.path.isfile(source):
        return None
    copy = new_name("copy", "")
    target = os.path.join(copy, os.path.dirname(location))
    steps = " && ".join(
        (
            f"mkdir -p {shell_word(target)}",
            f"cp -L {shell_word(_as_path(path))} {shell_word(copy)}",
            f"cp -L {shell_word(_as_path(source))} {shell_word(target)}",
        )
    )
    steps = steps.replace("{", "{{").replace("}", "}}")  # which `Hint` fills in
    text = f"`{steps}` copies what the link leads to; {{source}} is the model then"
    return Hint(text, source=os.path.join(copy, name))


def _as_path(path: str) -> str:
    """Return a path that is no option."""
    return f"./{path}" if path.startswith("-") else path


def node_texts(wire: WireReader, message: Span) -> NodeFields:  # noqa: C901  (a field each)
    """Read a NodeProto as `node_fields` does, in one loop if its encoding is the usual one."""
    start, stop = message
    size = stop - start
    is_usual = size < 1 << 14 and (wire.limit is None or SPAN_BYTES * size <= wire.limit)
    raw = bytes(wire.buffer[start:stop]) if is_usual else b""
    inputs, outputs, attributes = list[str](), list[str](), list[Span]()
    name = operator = domain = ""
    at = count = 0
    while at < len(raw) - 1:
        tag, nbytes = raw[at], raw[at + 1]
        at += 2
        if nbytes > 0x7F and at < size and raw[at] < 0x80:
            nbytes, at = nbytes & 0x7F | raw[at] << 7, at + 1
        elif nbytes > 0x7F:
            break
        end = at + nbytes
        if tag == 0x0A:
            inputs.append(raw[at:end].decode(errors="surrogateescape"))
        elif tag == 0x12:
            outputs.append(raw[at:end].decode(errors="surrogateescape"))
        elif tag == 0x22:
            operator = raw[at:end].decode(errors="surrogateescape")
        elif tag == 0x1A:
            name = raw[at:end].decode(errors="surrogateescape")
        elif tag == 0x2A:
            attributes.append(Span(start + at, start + end))
        elif tag == 0x3A:
            domain = raw[at:end].decode(errors="surrogateescape")
        else:
            break
        at, count = end, count + 1
    if is_usual and at == size and wire.count + count <= MOST_FIELDS:
        wire.count += count
        return NodeFields(name, operator, domain, inputs, outputs, attributes)
    return node_fields(wire, message)
