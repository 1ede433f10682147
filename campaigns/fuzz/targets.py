"""The targets: each takes any bytes, and fails only where the program would misbehave.

A reader gives a value or a `GatherError`; a value survives being written and read again, and is
what numpy makes of the same bytes; a refusal is short, clean and has a rule.
"""

from __future__ import annotations

import atexit
import json as standard_json
import os
import re
import shutil
import tempfile
import warnings
from contextlib import closing
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.io import jobs, source
from gathercli.io.formats import jsontext as json
from gathercli.io.formats import literal, npy, npz
from gathercli.io.formats.content import UNSAID, ElementTypes
from gathercli.io.formats.table import NPY
from gathercli.models.check_command import CheckedModel, line, sarif_log
from gathercli.models.files import read
from gathercli.models.lint import findings
from gathercli.models.targets import every_target
from gathercli.report.words import LONGEST_MESSAGE, error_json, error_text
from gathercli.spec import shapes as dims
from gathercli.spec.dtypes import FLOAT64, STRING, DType, Kind
from gathercli.spec.shapes import as_shape
from gathercli.text import UNSAFE
from tests.tensorfiles import encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    Target = Callable[[bytes], None]

MOST: Final = 1 << 20
"""Bytes that an input may ask for."""

MOST_ELEMENTS: Final = 5000
"""Elements, or pairs of brackets, that are written as text."""

_RULES: Final = frozenset(
    {"format", "npy", "npz", "json", "ragged", "literal", "dtype", "shape-text", "job", "limit"}
    | {"version"}
)


def attempt(call: Callable[..., Any], *args: Any, **rest: Any) -> Any:
    """Return what a call returns, or its refusal, which must be fit to be shown."""
    try:
        return call(*args, **rest)
    except GatherError as error:
        check_refusal(error)
        return error


def check_refusal(error: GatherError) -> None:
    """Check that a refusal is what the manual says a refusal is."""
    assert error.status == 65, error.status
    assert error.rule in _RULES, error.rule
    text = error_text(error, color=False)
    lines = text.removesuffix("\n").split("\n")
    assert not re.search(UNSAFE, "".join(lines)), text
    assert lines[0].startswith("error: "), text
    assert 2 <= len(lines) <= 4, text
    assert max(map(len, lines)) <= LONGEST_MESSAGE + 1, len(text)
    in_json = error_json(error)
    assert in_json.isascii(), in_json
    assert in_json.count("\n") == 1, in_json
    assert standard_json.loads(in_json)["rule"] == error.rule


def assert_same(got: Tensor, wanted: Tensor) -> None:
    """Compare type, shape and values; what a NaN carries is of no account."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), (str(got), str(wanted))
    ours, theirs = (each.values().reshape(-1) for each in (got, wanted))
    if wanted.dtype.kind in (Kind.STRING, Kind.BOOL):  # of any width; of any byte that is not 0
        assert ours.tolist() == theirs.tolist()
        return
    if wanted.dtype.kind is Kind.COMPLEX:
        ours, theirs = (each.view(each.real.dtype) for each in (ours, theirs))
    if wanted.dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
        absent = np.isnan(theirs)
        assert np.array_equal(np.isnan(ours), absent)
        ours, theirs = ours[~absent], theirs[~absent]
    assert ours.tobytes() == theirs.tobytes(), (ours, theirs)


def assert_numpys(ours: Tensor, theirs: np.ndarray[Any, Any]) -> None:
    """Compare with the array that numpy read from the same bytes."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    assert ours.array.dtype == theirs.dtype, (ours.array.dtype, theirs.dtype)
    assert ours.array.tobytes() == theirs.tobytes()


def check_encoded(tensor: Tensor) -> None:
    """Check that what was read can be written in every form, and read again."""
    if tensor.array.size > MOST_ELEMENTS or tensor.array.nbytes > MOST:
        return
    try:
        typed = json.parse(encoded(tensor, "oip"))["outputs"][0]
        assert_same(json.typed_tensor(typed, "$", max_bytes=None), tensor)
        raw = encoded(tensor, "npy")
        assert_same(_npy(raw, tensor.dtype), tensor)
        if dims.product(tensor.shape[: [*tensor.shape, 0].index(0)]) > MOST_ELEMENTS:
            return  # nothing but brackets, without end
        text = encoded(tensor, "literal").decode().removesuffix("\n")
        back = literal.parse(text)
        assert back is not None, text
        assert_same(back, tensor)
        if 0 not in tensor.shape:  # plain JSON does not carry such a shape
            document = json.parse(encoded(tensor, "json"))
            plain = _of_json(document, None, declared=tensor.dtype)
            assert_same(plain, tensor)
    except GatherError as error:  # what was accepted once must be accepted again
        raise AssertionError(f"{tensor} was not read back: {error}") from error


def _numpys(raw: bytes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of headers that Python 2 wrote
        return np.load(BytesIO(raw), allow_pickle=False)


def _npy(raw: bytes, declared: DType | None = None) -> Tensor:
    layout = npy.read_header(raw[: npy.PREAMBLE], declared)
    npy.check_length(layout, len(raw))
    npy.check_type(layout)
    return npy.view(layout, raw)


def read_npy(raw: bytes) -> None:
    """Read a .npy file, with the magic that let it be taken for one."""
    raw = NPY + raw[len(NPY) :]
    found = attempt(_npy, raw)
    if isinstance(found, Tensor):
        assert_numpys(found, _numpys(raw))
        if found.dtype is not STRING or not _ends_in_nul(found):
            check_encoded(found)


def _ends_in_nul(tensor: Tensor) -> bool:
    """Tell whether a string ends in a NUL in the middle of its element, which text refuses."""
    return any(word.endswith("\0") for word in tensor.array.reshape(-1).tolist())


class _Held:
    """An archive in memory, with what a reader asks of a file."""

    name, limit = "x.npz", MOST

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def stream(self) -> BytesIO:
        return BytesIO(self._raw)

    def check_stream(self) -> None:
        """Do nothing: memory does not fail."""


def read_npz(raw: bytes) -> None:
    """Read an archive, each of its members, and none."""
    archive = attempt(npz.Archive, _Held(raw))
    if isinstance(archive, GatherError):
        return
    names: list[str] = list(archive._members)[:8]
    for name in [None, "nosuch", *names]:
        header = attempt(archive.layout, name, UNSAID)
        found = attempt(archive.tensor, name, UNSAID)
        if name in names and isinstance(header, GatherError):
            assert "the archive has" not in header.message, header.message
        if not isinstance(found, Tensor):
            continue
        assert not isinstance(header, GatherError), header
        assert header.shape == found.shape
        if name in names and raw.startswith((b"PK\3\4", b"PK\5\6")):
            with _numpys(raw) as theirs, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                assert_numpys(found, theirs[name])


def _of_json(document: Any, key: str | None, declared: DType | None = None) -> Tensor:
    return json.tensor(document, key, ElementTypes(declared), max_bytes=MOST, name="x.json")


def read_json(raw: bytes) -> None:
    """Read a JSON document, and every tensor that it holds."""
    document = attempt(json.parse, raw)
    if isinstance(document, GatherError):
        return
    keys: list[str] = []
    for group in ("inputs", "outputs"):
        if isinstance(document, dict) and isinstance(document.get(group), list):
            each = (one.get("name") for one in document[group] if isinstance(one, dict))
            keys += [name for name in each if isinstance(name, str)]
    keys += list(document) if isinstance(document, dict) else ["nosuch"]
    for key in [None, *keys[:8]]:
        found = attempt(_of_json, document, key)
        if isinstance(found, Tensor):
            check_encoded(found)


def read_literal(raw: bytes) -> None:
    """Read a word of the command line as a literal."""
    token = raw.decode(errors="surrogateescape")
    if "\0" in token:  # no word holds one
        return
    literal.looks_literal(token)
    for declared in (None, FLOAT64, STRING):
        found = attempt(literal.parse, token, ElementTypes(declared), max_bytes=MOST >> 4)
        if isinstance(found, Tensor) and declared is None:
            check_encoded(found)


def read_shape(raw: bytes) -> None:
    """Read a shape as text."""
    text = raw.decode(errors="surrogateescape")
    shape = attempt(dims.parse, text)
    if isinstance(shape, GatherError):
        return
    assert dims.parse(str(shape)) == shape, str(shape)
    assert dims.as_shape(shape.to_json()) == shape, shape.to_json()
    in_text = standard_json.dumps(shape.to_json())
    assert dims.parse(in_text) == shape, in_text
    assert not re.search(UNSAFE, str(shape)), str(shape)


@cache
def folder() -> Path:
    """Make the folder of this process, for readers that want a file's name."""
    made = Path(tempfile.mkdtemp(prefix="gathercli-fuzz-"))
    atexit.register(shutil.rmtree, made)
    return made


def read_job(raw: bytes) -> None:
    """Read a file of jobs, as one document and line by line, and what they hold."""
    for name in ("x.json", "x.jsonl"):
        path = folder() / name
        path.write_bytes(raw)
        found = attempt(jobs.jobs, str(path))
        if isinstance(found, GatherError):
            continue
        for each in found[:8]:
            _read_tensors(each)


def _read_tensors(each: jobs.Job) -> None:
    with source.Inputs(MOST, folder=each.folder) as inputs:
        for key, value in {**each.inputs, jobs.EXPECT: each.expect}.items():
            if value is None:
                continue
            if each.op == jobs.SHAPE:
                attempt(as_shape, value)
            elif not isinstance(value, str):  # a word may name any file of this machine
                attempt(each.tensor, key, inputs)


def read_file(raw: bytes) -> None:
    """Read a file and a pipe, whose format their content tells: both must give the same.

    What is no JSON a pipe takes as an argument, and a file does not.
    """
    path = folder() / "x"
    path.write_bytes(raw)
    by_name = attempt(_read, f"@{path}")
    if len(raw) > 1 << 15:  # a pipe holds little more
        return
    reader, writer = os.pipe()
    with open(writer, "wb") as pipe:
        pipe.write(raw)
    try:
        piped = attempt(_read, f"@/dev/fd/{reader}")
    finally:
        os.close(reader)
    if isinstance(by_name, Tensor) and isinstance(piped, Tensor):
        assert_same(piped, by_name)
    elif getattr(by_name, "rule", None) != "json" or raw.lstrip()[:1] in (b"[", b"{"):
        assert str(getattr(by_name, "rule", None)) == getattr(piped, "rule", "None"), (
            by_name,
            piped,
        )


def read_zarr(raw: bytes) -> None:
    """Read a folder of chunks: its metadata, a NUL, and what is in its first chunk."""
    metadata, _, chunk = raw.partition(b"\0")
    made = folder() / "x.zarr"
    shutil.rmtree(made, ignore_errors=True)
    (made / "c" / "0").mkdir(parents=True)
    (made / (".zarray" if b'"zarr_format":2' in metadata else "zarr.json")).write_bytes(metadata)
    for key in ("0", "0.0", "c/0/0"):
        (made / key).write_bytes(chunk)
    found = attempt(_read, f"@{made}")
    if isinstance(found, Tensor):
        check_encoded(found)


def _read(token: str) -> Tensor:
    with source.Inputs(MOST) as inputs:
        found = inputs.tensor(token, "data")
        return Tensor(found.dtype, found.array.copy(), found.typed)


def read_model(raw: bytes) -> None:
    """Read a model, and format its findings for every target."""
    path = folder() / "x.model"
    path.write_bytes(raw)
    path.with_suffix(".bin").write_bytes(bytes(range(64)))
    model = attempt(read, str(path))
    if isinstance(model, GatherError):
        return
    with closing(model):
        results = attempt(lambda: list(findings(model, every_target())))
    if not isinstance(results, GatherError):
        for each in results:
            text = str(line("x", each))
            assert not re.search(UNSAFE, text.rstrip("\n")), text
        standard_json.loads(sarif_log([CheckedModel("x", findings=tuple(results))], ""))


TARGETS: Final[dict[str, Target]] = {
    "npy": read_npy,
    "npz": read_npz,
    "json": read_json,
    "literal": read_literal,
    "shape": read_shape,
    "job": read_job,
    "file": read_file,
    "zarr": read_zarr,
    "model": read_model,
}
