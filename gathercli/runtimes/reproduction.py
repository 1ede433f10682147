"""A call in a runtime by itself, without this package: its script, and the report as Markdown.

The types that numpy lacks are stored in .npy files as unsigned integers of the same bits. They
print and compare as numbers that numpy has.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.cli.slice_options import Absence, Runtime
from gathercli.compute.storage import AnyArray, byte_values
from gathercli.compute.tensor import Tensor
from gathercli.compute.verdicts import Verdict
from gathercli.errors import UsageError
from gathercli.io.formats.encode import json_text
from gathercli.report.header import header
from gathercli.report.verdicts import outcome
from gathercli.runtimes import client
from gathercli.runtimes.calls import CONSTANT, ONE_THREAD, RuntimeCall, integers
from gathercli.runtimes.declared import ONNX, OPENVINO, runtimes
from gathercli.runtimes.verdict import (
    MAX_SHOWN_ELEMENTS,
    RuntimeOutcome,
    RuntimeVerdict,
    outcome_text,
)
from gathercli.spec.dtypes import BFLOAT16, STRING, DType, Kind
from gathercli.text import clean, listed, table_beside


class ScriptRun(NamedTuple):
    """What a script printed, the last line of its errors, and how it ended; None for status 0."""

    output: str
    error: str
    ending: str | None


def run_script(
    runtime: Runtime, folder: str, name: str, seconds: float, *, fills: bool = False
) -> ScriptRun:
    """Run a script in a folder, with the limits of a call; `fills` memory by `FILLING`."""
    with client.temporary_folder() as home:
        out, err = (os.path.join(home, each) for each in ("out", "err"))
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = client.started_worker(
                runtime,
                ("--script", name),
                home,
                client.FILLING if fills else {},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
            )
        ending = None
        try:
            if status := process.wait(timeout=2 * seconds):
                ending = f"dies {client.ending_of(status)}"
        except subprocess.TimeoutExpired:
            ending = f"hangs: no end within {2 * seconds:g} s"
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed, errors = (_head(path) for path in (out, err))
    return ScriptRun(printed, errors.strip().rpartition("\n")[2], ending)


def _head(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(client.MAX_ANSWER_BYTES).decode(errors="backslashreplace")


class Reproduction(NamedTuple):
    """A call that is reproduced."""

    call: RuntimeCall
    verdict: Verdict  # of the version
    tensors: Mapping[str, Tensor]
    expected: Tensor | None  # None if the version refuses
    # the call and its other ways, the worst first; none without the runtime
    seen: Sequence[RuntimeVerdict]
    absence: Absence | None = None  # why the runtime cannot be called
    versions: client.Versions | None = None
    files: Mapping[str, str] = {}  # of the folder with a description; none if nothing was written
    run: ScriptRun | None = None  # what the script did; None if it was not run

    @property
    def agrees(self) -> bool:
        """Whether the runtime was called, and agrees in each of its ways."""
        return bool(self.seen) and not any(each.disagrees for each in self.seen)

    @property
    def is_unsteady(self) -> bool:
        """Whether the runtime was called, and its result changes from run to run."""
        return bool(self.seen) and self.seen[0].outcome is RuntimeOutcome.UNSTEADY


def report(each: Reproduction) -> str:
    """Return the text of report.md."""
    outcomes = ""
    if each.seen:
        rows = [
            f"| {it.call.text} | {_outcome(it).replace('|', chr(92) + '|')} |" for it in each.seen
        ]
        outcomes = "\n".join(["| call | outcome |", "| --- | --- |", *rows, "", ""])
    template = Path(__file__).with_name("reproduction.md").read_text(encoding="utf-8")
    return template.format(
        saw=saw(each),
        script=SCRIPT,
        shows="shows it" if each.run else "calls it where it is installed",
        op=each.verdict.op,
        call=_indented(_call(each)),
        expected=_expected(each),
        printed="\n\n".join(_printed(each)),
        outcomes=outcomes,
        files="\n".join(f"- `{name}`: {what}" for name, what in each.files.items()),
    )


def saw(each: Reproduction) -> str:
    """Describe in a line what the runtime did."""
    if not each.seen:
        why = "was not called" if each.absence is None else each.absence.why
        return f"{each.call.runtime} {why}"
    name = " ".join(filter(None, (each.call.runtime, each.seen[0].version)))
    if each.agrees:
        ways = listed((clean(verdict.call.text) for verdict in each.seen), "and")
        return f"{name} agrees, so nothing is written: {ways}"
    return f"{name}, {each.call.text}: {_outcome(each.seen[0])}"


def _outcome(verdict: RuntimeVerdict) -> str:
    return clean(outcome_text(verdict, "the specification"))


def _call(each: Reproduction) -> str:
    """Format the call: with its shapes, if the version accepts these."""
    verdict = each.verdict
    if verdict.call is not None and verdict.shape is not None:
        return header(verdict.call, verdict.shape, None).plain
    return "   ".join((verdict.op.full_name, *(f"{n} {t}" for n, t in each.tensors.items())))


def _expected(each: Reproduction) -> str:
    error = each.verdict.error
    if error is not None:
        return f"So the call is an error, by the rule `{error.rule}`: {clean(error.message)}."
    if each.expected is None:
        return ""
    note = outcome(each.verdict, "every index is legal")
    few = each.expected.array.size <= 8 * MAX_SHOWN_ELEMENTS
    shown = _indented(json_text(each.expected) if few else str(each.expected))
    return f"So the result is `expected.npy` ({note}):\n\n{shown}"


def _printed(each: Reproduction) -> Iterator[str]:
    """Yield the paragraphs on what the script printed."""
    if each.run is None or each.versions is None:
        why = "" if each.absence is None else f" {each.absence.why}"
        yield f"The script was not run, as here {each.call.runtime}{why or ' was not called'}."
        return
    output = client.shortened(each.run.error) if each.run.ending else ""
    text = "\n".join(filter(None, (each.run.output.rstrip("\n"), output, each.run.ending)))
    yield (
        f"The script, run with {each.call.runtime} {each.versions.runtime}, Python\n"
        f"{each.versions.python} and NumPy {each.versions.numpy} on {_machine()}:"
    )
    yield _indented("\n".join(map(clean, text.splitlines())))
    yield "The same versions:"
    yield _indented(_pip(each.call.runtime, each.versions))
    if each.is_unsteady:
        yield (
            "Other runs give other values, as those of memory that is read before it is written.\n"
            "In this run the C library of Linux filled memory:"
        )
        variables = " ".join(f"{name}={value}" for name, value in client.FILLING.items())
        yield _indented(f"{variables} python {SCRIPT}")


def _pip(runtime: str, versions: client.Versions) -> str:
    """Return the line that installs a runtime and NumPy; of a local version the public part."""
    packages = {runtimes()[runtime].module: versions.runtime, "numpy": versions.numpy}
    words = (f"{name}=={version.partition('+')[0]}" for name, version in packages.items())
    return f"pip install {clean(' '.join(words))}"


def _machine() -> str:
    processor = platform.processor()
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
        processor = next(names, processor)
    return clean(", ".join(filter(None, (platform.system(), platform.machine(), processor))))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").splitlines())


SCRIPT: Final = "reproduce.py"
PRINTED_ELEMENTS: Final = 20  # the number of elements that the script prints
# A file with the value of each byte, for the types of 8 bits or less.
VALUES_FILE: Final = "values.npy"

ONNXRUNTIME: Final = "onnxruntime"
_PARTS: Final = table_beside(__name__)  # of scripts

# The types of numpy that hold the values of those it lacks.
_WIDER_TYPES: Final = {Kind.FLOAT: "float32", Kind.INT: "int8", Kind.UINT: "uint8"}


class ReproductionFile(NamedTuple):
    """The content of a file, and what it is."""

    content: bytes
    doc: str


def files_of(
    call: RuntimeCall,
    tensors: Mapping[str, Tensor],
    attrs: Mapping[str, Any],
    expected: Tensor | None,
) -> dict[str, ReproductionFile]:
    """Return the files of a reproduction by name: the script, the tensors, the model.

    The attributes are as the user wrote them; nothing is expected of a version that refuses.
    """
    text = script(call, tensors, expected)
    files = {SCRIPT: ReproductionFile(text.encode(), "makes the call and prints the result")}
    for name, content in call.files(tensors, integers(attrs) or {}).items():
        doc = "the weights of the model" if name == "model.bin" else "a model with a single node"
        files[name] = ReproductionFile(content, doc)
    for name, tensor in tensors.items():
        files[f"{name}.npy"] = ReproductionFile(_npy(tensor), f"{name}, {tensor}")
    first = next(iter(tensors.values())).dtype
    values = byte_values(first) if runtimes()[call.runtime].dtype and first.narrow else None
    if values is not None:
        files[VALUES_FILE] = ReproductionFile(_saved(values), f"the value of each byte of {first}")
    if expected is not None:
        doc = f"the expected result, {expected}"
        files["expected.npy"] = ReproductionFile(_npy(expected), doc)
    return files


def _npy(tensor: Tensor) -> bytes:
    return _saved(tensor.array.astype(tensor.storage, copy=False))


def _saved(array: AnyArray) -> bytes:
    buffer = BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def script(call: RuntimeCall, tensors: Mapping[str, Tensor], expected: Tensor | None) -> str:
    """Return the script: it reads the inputs, makes the call, and prints the result.

    UsageError says that the runtime lacks the type of a tensor.
    """
    runtime, dtypes = call.runtime, [each.dtype for each in tensors.values()]
    for each in dtypes:
        if each not in (runtimes()[runtime].types or (each,)):
            raise UsageError(
                f"is `{runtime}`, which has no {each.name}",
                rule="dtype",
                subject="--for",
                value=each.name,
                expected="another runtime, or another type",
            )
    row, first = runtimes()[runtime], dtypes[0]
    opaque = [each for each in dtypes if each.opaque]
    own = "" if row.module == "numpy" else f'"{runtime}", {next(iter(row.imports))}.__version__, '
    lines = [f'"""{call.text}, called by itself: run `python {SCRIPT}` in this folder."""', ""]
    if opaque and runtime == ONNXRUNTIME:
        lines.append("import ctypes")
    if opaque and not row.dtype:
        lines.append("import ml_dtypes")
    lines += ["import numpy as np", *row.import_lines()]
    if runtime == OPENVINO and any(each.bits < 8 for each in opaque):
        lines += _PARTS["packing"].splitlines()
    if call.is_wide and row.prepare:
        lines += ["", row.prepare.format(wide=True)]
    lines += call.functions.splitlines()
    lines += [
        "",
        *(
            f"{name} = {_input(runtime, name, tensor, as_value=bool(opaque))}"
            for name, tensor in _fed(call, tensors).items()
        ),
        f'print({own}"numpy", np.__version__, flush=True)',
        *_expected_lines(runtime, first, expected),
        *_call_lines(call, list(_fed(call, tensors)), as_arrays=not opaque),
        *_result_lines(runtime, first),
        f'print("result  ", dtype, result.shape, result.ravel()[:{PRINTED_ELEMENTS}].tolist())',
    ]
    if expected is not None:
        nan = ", equal_nan=True" * (first.kind in (Kind.FLOAT, Kind.COMPLEX))
        lines.append(f'print("equal   ", np.array_equal(result, expected{nan}))')
    return "\n".join(lines) + "\n"


def _fed(call: RuntimeCall, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that the call gets; those of a constant are in the model."""
    return dict(list(tensors.items())[: 1 if call.way == CONSTANT else None])


def _input(runtime: str, name: str, tensor: Tensor, *, as_value: bool) -> str:
    """Return the expression of an input, for onnxruntime possibly as one of its own values."""
    dtype, array = tensor.dtype, f'np.load("{name}.npy")'
    if runtime == ONNXRUNTIME and as_value:
        make = "onnxruntime.OrtValue.ortvalue_from_numpy"
        number = runtimes()[runtime].types[dtype]
        return f"{make}_with_onnx_type({array}, {number})" if dtype.opaque else f"{make}({array})"
    if dtype.opaque and runtime == OPENVINO:
        array = f"packed({array}, {dtype.bits})" if dtype.bits < 8 else array
        own = runtimes()[runtime].types[dtype]
        return f"openvino.Tensor({array}, {list(tensor.shape)}, openvino.Type.{own})"
    if dtype.opaque and runtime == "torch":
        array = f"{array}.view(np.int16)" if dtype.bits > 8 else array
        return f"torch.from_numpy({array}).view(torch.{dtype.name})"
    if dtype.opaque:
        array = f"{array}.view(ml_dtypes.{dtype.name})"
    elif dtype is STRING and runtime == ONNXRUNTIME:
        array = f"{array}.astype(object)"
    return runtimes()[runtime].tensor.format(array)


def _expected_lines(runtime: str, dtype: DType, expected: Tensor | None) -> list[str]:
    """Return the lines that print what is expected, flushed before a call that may crash."""
    if expected is None:
        return ['print("expected an error", flush=True)']
    array = 'np.load("expected.npy")'
    if dtype.opaque and runtimes()[runtime].dtype:
        array = _numbers(dtype, array)
    elif dtype.opaque:
        array = f"{array}.view(ml_dtypes.{dtype.name}).astype(np.{_WIDER_TYPES[dtype.kind]})"
    return [
        f"expected = {array}",
        f'print("expected", "{dtype}", expected.shape, '
        f"expected.ravel()[:{PRINTED_ELEMENTS}].tolist(), flush=True)",
    ]


def _numbers(dtype: DType, bits: str) -> str:
    """Return the expression of numbers that numpy has, of the bits of elements."""
    if dtype is BFLOAT16:
        return f"({bits}.astype(np.uint32) << 16).view(np.float32)"
    return f'np.load("{VALUES_FILE}")[{bits}]'


def _call_lines(call: RuntimeCall, names: list[str], *, as_arrays: bool) -> list[str]:
    """Return the lines of the call, which set `result`: to an array, or to a runtime's tensor."""
    if call.op is None:
        return [f"result = {call.code}"]
    feeds = "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"
    usual: str = _PARTS["call"][call.runtime]
    text: str = usual if as_arrays else _PARTS["call"].get(f"tensors of {call.runtime}", usual)
    model = "model.onnx" if call.op.framework == ONNX else "model.xml"
    threads = ', {"INFERENCE_NUM_THREADS": 1}' * (call.way == ONE_THREAD)
    return text.format(feeds=feeds, model=model, threads=threads).splitlines()


def _result_lines(runtime: str, dtype: DType) -> Iterator[str]:
    """Yield the lines that make numbers of `result`, and set `dtype`, the type that it has."""
    row = runtimes()[runtime]
    if not dtype.opaque:
        if row.array:
            yield f"result = {row.array}"
        if dtype is STRING and runtime == "tensorflow":  # which gives bytes
            yield "texts = [each.decode() for each in result.ravel()]"
            yield "result = np.array(texts, str).reshape(result.shape)"
        elif dtype is STRING:
            yield "result = result.astype(str)"
        yield "dtype = result.dtype"
    elif row.dtype:
        yield f"dtype = {row.dtype}"
        yield from _bit_lines(runtime, dtype)
        yield f"result = {_numbers(dtype, 'bits')}"
    else:
        yield f"result = {row.array or 'np.asarray(result)'}"
        yield "dtype = result.dtype"
        yield f"result = result.astype(np.{_WIDER_TYPES[dtype.kind]})"


def _bit_lines(runtime: str, dtype: DType) -> list[str]:
    """Return the lines that set `bits` to those of `result`."""
    packed = f"{runtime} packed" if dtype.bits < 8 else runtime
    text: str = _PARTS["bits"].get(packed, _PARTS["bits"][runtime])
    signed = "int16" if dtype.bits > 8 else "uint8"
    fields = {"itemsize": dtype.itemsize, "width": dtype.bits, "signed": signed}
    return text.format(**fields, storage=f"np.uint{8 * dtype.itemsize}").splitlines()
