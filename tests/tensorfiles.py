"""Tensors as the bytes of files, and back, for tests."""

from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gathercli.compute.storage import storage_of
from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.io import save
from gathercli.io.formats.content import ElementTypes
from gathercli.io.source import Inputs
from gathercli.io.stream import ByteTarget
from gathercli.spec.dtypes import DTYPES, DType, Kind
from gathercli.spec.shapes import product
from tests.cases import drawn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Array, Ran


amply = settings(
    drawn(24), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


every_type = pytest.mark.parametrize("held", DTYPES, ids=str)


CHARACTERS: Final = st.characters(exclude_categories=["Cs"])


class Collected(ByteTarget):
    """What was written, in memory."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, part: bytes | memoryview) -> None:
        self.parts.append(bytes(part))


def encoded(tensor: Tensor, fmt: str) -> bytes:
    """Write a tensor as the command does."""
    out = Collected()
    save.write(fmt, [("output", tensor)], out)
    return b"".join(out.parts)


def read(raw: bytes, folder: Path, *, declared: DType | None = None, name: str = "x") -> Tensor:
    """Read a tensor from a file, as the command does."""
    path = folder / name
    path.unlink(missing_ok=True)  # an earlier one may still be mapped
    path.write_bytes(raw)
    with Inputs(None) as inputs:
        found = inputs.tensor(f"@{path}", "data", ElementTypes(declared))
        return Tensor(found.dtype, found.array.copy(), found.typed)


def bits(tensor: Tensor) -> bytes:
    return tensor.array.astype(tensor.storage).tobytes()


@st.composite
def tensors(draw: st.DrawFn, held: DType) -> Tensor:
    """Make tensors of any shape and any bits."""
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=4)))
    count = product(shape)
    if held.kind is Kind.STRING:
        words = draw(st.lists(st.text(CHARACTERS, max_size=4), min_size=count, max_size=count))
        words = [word.rstrip("\0") for word in words]
        return Tensor(held, np.array(words, np.str_).reshape(shape))
    if held.kind is Kind.BOOL:
        flags = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return Tensor(held, np.array(flags, np.bool_).reshape(shape))
    size = count * held.itemsize
    raw = draw(st.binary(min_size=size, max_size=size))
    elements = np.frombuffer(raw, storage_of(held)).reshape(shape)
    return Tensor(held, elements & (2**held.bits - 1) if held.narrow else elements)


def assert_same_values(got: Tensor, expected: Tensor) -> None:
    """Compare all but the payloads of NaN, which no text carries."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    ours, theirs = got.values().reshape(-1), expected.values().reshape(-1)
    if expected.dtype.kind is Kind.COMPLEX:
        ours, theirs = ours.view(ours.real.dtype), theirs.view(theirs.real.dtype)
    if expected.dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        nan = np.isnan(theirs)
        assert np.array_equal(np.isnan(ours), nan)
        ours, theirs = ours[~nan], theirs[~nan]
    assert ours.tobytes() == theirs.tobytes()


def npy(
    descr: str = "'<i8'",
    shape: str = "(3,)",
    body: bytes = b"\1" + b"\0" * 23,
    *,
    version: tuple[int, int] = (1, 0),
    order: str = "False",
    text: str | None = None,
    length: int | None = None,
) -> bytes:
    """Make a .npy file by hand."""
    if text is None:
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    header = text.encode()
    width = 2 if version == (1, 0) else 4
    header += b" " * (-(9 + width + len(header)) % 64) + b"\n"
    declared = len(header) if length is None else length
    return b"\x93NUMPY" + bytes(version) + declared.to_bytes(width, "little") + header + body


def assert_refused(ran: Ran, rule: str, status: int = 65) -> str:
    """Check that there was one clear error, and return its message."""
    assert (ran.status, ran.out) == (status, "")
    lines = ran.err.splitlines()
    assert lines[0].startswith("error: `data`: ")
    assert lines[-1] == f"rule: {rule}"
    assert 2 <= len(lines) <= 4
    assert len(ran.err) < 2000
    assert "Traceback" not in ran.err
    return lines[0]


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, method)
    return raw.getvalue()


def saved(array: Array) -> bytes:
    raw = io.BytesIO()
    np.save(raw, array)
    return raw.getvalue()


def patched(raw: bytes, offset: int, value: int, width: int, *, member: int = 0) -> bytes:
    """Overwrite a field of a member's entry in the directory at the end."""
    at = -1
    for _ in range(member + 1):
        at = raw.index(b"PK\1\2", at + 1)
    at += offset
    return raw[:at] + value.to_bytes(width, "little") + raw[at + width :]


ONE: Final = archive({"a.npy": saved(np.arange(3))})


STORED: Final = archive(
    {"a.npy": saved(np.arange(3)), "b.npy": saved(np.arange(5))}, zipfile.ZIP_STORED
)


often = drawn(150, amply)


def outcome(token: str) -> Tensor | GatherError:
    """Read a token; whatever is no tensor must be one of our errors."""
    try:
        with Inputs(1 << 20) as inputs:
            return inputs.tensor(token, "data")
    except GatherError as error:
        return error


def assert_tensor_or_error(raw: bytes) -> None:
    reader, writer = os.pipe()
    with open(writer, "wb") as pipe:
        pipe.write(raw)
    try:
        found = outcome(f"/dev/fd/{reader}")
    finally:
        os.close(reader)
    if isinstance(found, GatherError):
        assert found.status == 65
        assert found.message.startswith("`data`: ")
