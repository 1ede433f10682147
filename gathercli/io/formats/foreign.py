"""Files of other formats: their names, and Python that converts them."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.errors import Hint, InputError
from gathercli.io.formats.content import SNIFF_SIZE, sniff
from gathercli.io.formats.table import FORMATS
from gathercli.io.write import new_name
from gathercli.text import json_string, listed, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gathercli.io.files import File

READ: Final = listed([*(f.suffix for f in FORMATS.values() if f.binary and f.sniff), "JSON"])
"""The formats of files, for messages."""

SAMPLE: Final = 1 << 18
"""Bytes of a .csv file from which the types of its cells are inferred."""


class Conversion(NamedTuple):
    """Python that converts a file of another format.

    Attributes
    ----------
    modules, code
        The imports, and the statements that convert SOURCE to TARGET.
    suffix
        The suffix of TARGET: ``.npz`` if the format holds several tensors.
    more
        Another hint.
    """

    modules: str
    code: str
    suffix: str = ".npz"
    more: str = ""


_SAVE: Final = (
    "numpy.savez(TARGET, **{k: v.numpy(force=True) "
    'for k, v in getattr(d, "items", {"data": d}.items)()})'
)
"""Saves every tensor of a dictionary `d`, or a single one; the manual has more for other files."""

_CONVERSIONS: Final = {
    "pickle": Conversion(
        "numpy",
        "d = numpy.load(SOURCE, allow_pickle=True); "
        'd = d if isinstance(d, dict) else {"data": d}; '
        "numpy.savez(TARGET, **{str(k): v for k, v in d.items()})  # runs its code",
    ),
    "csv": Conversion("numpy", "numpy.save(TARGET, numpy.READER)", ".npy"),
    "torch": Conversion(
        "numpy, torch",
        f'd = torch.load(SOURCE, "cpu", weights_only=True); {_SAVE}',
        more="`gathercli man formats` has a script for nested or bfloat16 tensors",
    ),
    "torchscript": Conversion(
        "numpy, torch", f'd = torch.jit.load(SOURCE, "cpu").state_dict(); {_SAVE}'
    ),
    "parquet": Conversion(
        "numpy, pyarrow.parquet",
        "d = pyarrow.parquet.read_table(SOURCE).to_pydict(); "
        "numpy.savez(TARGET, **{k: numpy.array(v) for k, v in d.items()})",
    ),
    "yaml": Conversion(
        "json, yaml", 'json.dump(yaml.safe_load(open(SOURCE)), open(TARGET, "w"))', ".json"
    ),
    "hdf5": Conversion(
        "h5py, numpy",
        "d = {}; h5py.File(SOURCE).visititems("
        "lambda k, v: d.update({k: v[()]}) if isinstance(v, h5py.Dataset) else None); "
        "numpy.savez(TARGET, **d)",
    ),
    "onnx": Conversion(
        "numpy, onnx",
        "numpy.savez(TARGET, **{t.name: onnx.numpy_helper.to_array(t) "
        "for t in onnx.load(SOURCE).graph.initializer})",
    ),
    "external": Conversion(
        "numpy, onnx",
        "numpy.save(TARGET, onnx.numpy_helper.to_array(onnx.load_tensor(SOURCE), FOLDER))",
        ".npy",
    ),
}
_MARKS: Final = (
    (rb"\x80\x02\x8a\x0al\xfc\x9cF\xf9", "an old PyTorch file", "torch"),
    (
        rb"\x80[\x02-\x05]|c[\w.]+\n[\w.]+\n|\((?:lp|dp)|[\]}]q",
        "a pickle, which runs code when it is loaded",
        "pickle",
    ),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "hdf5"),
    (rb"PAR1", "a Parquet file", "parquet"),
    (rb"(?s)\x08[\x01-\x20](?:\x12|\x1a|\x3a|\x42)", "an ONNX model", "onnx"),
)
_TABLES: Final = {".csv": "a .csv file", ".tsv": "a .tsv file"}
_TEXTS: Final = {
    **_TABLES,
    **dict.fromkeys((".yaml", ".yml"), "a YAML file"),
    ".svg": "an SVG picture",
    ".xml": "an XML file",
}
"""Text formats by the suffix of the file."""

_TAGS: Final = (
    (rb"(?is)\s*<(?:!doctype\s+html|html)\b", "an HTML page"),
    (rb"(?s)\s*<(?:\?xml\b.*<)?svg\b", "an SVG picture"),
    (rb"\s*<\?xml\b", "an XML file"),
)
"""Text formats by the first tag."""

_BARE: Final = rb"(?=[-+.]?\d)[-+.\dEe]+(?:(?:[ \t,]+[-+.\dEe]+)*|(?:\s*\n[-+.\dEe]+)*),?\s*"
"""A list without brackets: on one line, or an element a line."""

_PACKED: Final = {
    b"\x1f\x8b": "zcat",
    b"BZh": "bzcat",
    b"\xfd7zXZ": "xzcat",
    b"\x28\xb5\x2f\xfd": "zstdcat",
}


def refuse(file: File, start: bytes) -> None:
    """Raise if a file is no text; name its format if it is known.

    Raises
    ------
    InputError
        ``format``.
    """
    for mark, what, kind in _MARKS:
        if re.match(mark, start):
            raise foreign(file.name, what, kind)
    for magic, program in _PACKED.items():
        if start.startswith(magic):
            raise InputError(
                f"the input is compressed: expected {READ}",
                rule="format",
                hint=_unpacking(program, file.name),
            )
    refuse_binary(file, start)


def _unpacking(program: str, name: str) -> Hint:
    if name == "-":
        return Hint(f"`{program} |` before it unpacks it")
    line = f"{program} {shell_word(name)}"
    hint = Hint(f"`<({line})` in its place, or `{line} |` before and `-` in its place, unpacks it")
    hint.python = f"`{line} > FILE` unpacks it"
    return hint


def known(name: str, start: bytes) -> str | None:
    """Describe the format of a file by its first bytes; return None for JSON and unknown ones."""
    if (fmt := sniff(start)) not in (None, "json"):
        return f"a .{fmt} file"
    matches = (what for mark, what, _ in _MARKS if re.match(mark, start))
    return next(matches, None) or text_kind(name, start)


def refuse_binary(file: File, part: bytes) -> None:
    """Raise for bytes that no text has."""
    start = file.start(8)
    if b"\0" in part or start[:1] > b"\xf4":
        raise InputError(
            f"the input starts with the bytes {start.hex(' ')}: expected {READ}",
            rule="format",
            hint=raw(file),
        )


def raw(file: File) -> Hint:
    """Suggest how to read a file as raw elements."""
    if not file.regular:
        return Hint("bare elements are read by their shape and type, as bin:4x3xf32@-")
    return Hint(
        "bare elements are read by their shape and type, single bytes by {source}",
        source=f"bin:{file.size}xu8@{file.name}",
    )


def foreign(name: str, what: str, kind: str) -> InputError:
    """Return the error for a file of a known other format, with Python that converts it."""
    return InputError(
        f"the input is {what}: expected {READ}", rule="format", hint=conversion(kind, name)
    )


def text_kind(name: str, start: bytes) -> str | None:
    """Describe the format of text by its first bytes or the name of the file."""
    matches = (what for mark, what in _TAGS if re.match(mark, start))
    return next(matches, None) or _TEXTS.get(os.path.splitext(name)[1].lower())


def text_conversion(file: File, kind: str) -> Hint | None:
    """Write Python that converts text, if there is such."""
    if kind in _TABLES.values():
        return table(file.name, file.start(SAMPLE), kind)
    return conversion("yaml", file.name) if kind == "a YAML file" else None


def is_bare(start: bytes) -> bool:
    """Tell whether the start of a text is a list without brackets."""
    lines = start.rpartition(b"\n")[0] if len(start) >= SNIFF_SIZE else start
    return re.fullmatch(_BARE, lines or start) is not None


def piped(name: str) -> Hint:
    """Suggest how to read a list without brackets: from a pipe."""
    hint = Hint(f"`- < {shell_word(name)}` in its place reads a list without brackets")
    hint.python = "in JSON a list has brackets"
    return hint


def table(name: str, start: bytes, kind: str = "a .csv file") -> Hint:
    """Write Python that converts a table.

    Parameters
    ----------
    start
        The first `SAMPLE` bytes: they show whether there is a heading, and the types of the cells.
    kind
        Its description.
    """
    return conversion("csv", name, f"converts {kind} and writes", reader=_reader(start))


def conversion(kind: str, name: str, does: str = "writes", *, reader: str = "") -> Hint:
    """Write Python that converts a file to a new one.

    Parameters
    ----------
    does
        The predicate of the hint, before the new file.
    reader
        The call that reads a table.
    """
    modules, code, suffix, more = _CONVERSIONS[kind]
    target, source = _new_file(name, suffix), json_string(name)
    message = f"{{code}} {does} {{source}}"
    if name == "-":
        modules, source = f"io, sys, {modules}", "io.BytesIO(sys.stdin.buffer.read())"
        message = f"run {{code}} instead, which {does} {{source}}"
    values = {
        "SOURCE": source,
        "TARGET": json_string(target),
        "FOLDER": json_string(os.path.dirname(name) or "."),
    }
    code = code.replace("READER", reader)
    code = re.sub("|".join(values), lambda match: values[match[0]], code)
    message += more and f"; {more}"
    return Hint(message, code=f"import {modules}; {code}", source=target)


def _new_file(name: str, suffix: str) -> str:
    """Name a new file after an input: beside it, or here if its folder is not writable."""
    folder, base = os.path.split("stdin" if name == "-" else name)
    if name.startswith(("/dev/", "/proc/")) or not os.access(folder or ".", os.W_OK):
        folder = ""
    return new_name(os.path.join(folder, os.path.splitext(base)[0]), suffix)


def _reader(start: bytes) -> str:
    """Write the call that reads a table, by its delimiter, heading and types of cells."""
    lines = start.decode("utf-8-sig", errors="replace").splitlines()
    lines = lines[:-1] if len(start) >= SAMPLE else lines  # the last may be incomplete
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    delimiter = next((each for each in ",;\t" if each in "".join(lines[first : first + 1])), ",")
    head, body = (set(_kinds(part, delimiter)) for part in (lines[: first + 1], lines[first + 1 :]))
    heading = "text" in head and bool(body) and "text" not in body
    kinds = body if heading else head | body
    arguments = ["SOURCE", f'delimiter="{delimiter}"'.replace("\t", "\\t")]
    reader = "loadtxt"
    if "text" in kinds:
        arguments += ["dtype=str", "comments=None"]
    elif "none" in kinds:  # only this one reads them, as NaN
        reader = "genfromtxt"
    elif kinds == {"int"}:
        arguments += ["dtype=int"]
    if heading:
        arguments += [f"{'skiprows' if reader == 'loadtxt' else 'skip_header'}={first + 1}"]
    if reader == "loadtxt" and any('"' in line for line in lines):
        arguments += ["quotechar=chr(34)"]
    if start.startswith(BOM_UTF8):
        arguments += ['encoding="utf-8-sig"']
    return f"{reader}({', '.join(arguments)})"


def _kinds(lines: list[str], delimiter: str) -> Iterator[str]:
    """Yield the type of every cell: int, float, text or none."""
    for line in filter(str.strip, lines):
        for cell in line.split(delimiter):
            word = cell.strip().strip('"')
            if re.fullmatch(r"[+-]?\d{1,18}", word, re.ASCII):
                yield "int"
            else:
                yield "float" if _is_number(word) else "text" if word else "none"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def missing(package: str) -> str:
    """Return the message that a package of a format is not installed."""
    return f"the format needs the package {package}: expected it to be installed"


def install(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    return f"`python -m pip install 'gathercli[{extra}]'`"
