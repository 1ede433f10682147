"""Files that are not read: named where they are known, with the line that converts them."""

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
"""What is read, in the words of the messages."""


SAMPLE: Final = 1 << 18
"""Bytes of a .csv file that tell what its cells are."""


class Conversion(NamedTuple):
    """Python that converts a file of another format.

    Attributes
    ----------
    modules, code
        What it imports, and what it does from SOURCE to TARGET.
    suffix
        That of the file it writes: ``.npz`` where the format holds several tensors.
    more
        What else helps.
    """

    modules: str
    code: str
    suffix: str = ".npz"
    more: str = ""


_SAVED: Final = (
    "numpy.savez(TARGET, **{k: v.numpy(force=True) "
    'for k, v in getattr(d, "items", {"data": d}.items)()})'
)
"""Every tensor of a dictionary `d`, or the only one; the manual has what other files need."""

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
        f'd = torch.load(SOURCE, "cpu", weights_only=True); {_SAVED}',
        more="`gathercli man formats` has a script for nested or bfloat16 tensors",
    ),
    "torchscript": Conversion(
        "numpy, torch", f'd = torch.jit.load(SOURCE, "cpu").state_dict(); {_SAVED}'
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
"""What text is that is no JSON, by the suffix of its file."""

_TAGS: Final = (
    (rb"(?is)\s*<(?:!doctype\s+html|html)\b", "an HTML page"),
    (rb"(?s)\s*<(?:\?xml\b.*<)?svg\b", "an SVG picture"),
    (rb"\s*<\?xml\b", "an XML file"),
)
"""What text is, by its first tag."""

_BARE: Final = rb"(?=[-+.]?\d)[-+.\dEe]+(?:(?:[ \t,]+[-+.\dEe]+)*|(?:\s*\n[-+.\dEe]+)*),?\s*"
"""A list without brackets: all on one line, or an element a line."""

_PACKED: Final = {
    b"\x1f\x8b": "zcat",
    b"BZh": "bzcat",
    b"\xfd7zXZ": "xzcat",
    b"\x28\xb5\x2f\xfd": "zstdcat",
}


def refuse(file: File, start: bytes) -> None:
    """Refuse what is no text, saying what it is where we know.

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
    """Tell in words what a file is by its first bytes, if it is a tensor or known and not read."""
    if (kind := sniff(start)) not in (None, "json"):
        return f"a .{kind} file"
    marked = (what for mark, what, _ in _MARKS if re.match(mark, start))
    return next(marked, None) or text_kind(name, start)


def refuse_binary(file: File, part: bytes) -> None:
    """Refuse bytes that no text holds."""
    start = file.start(8)
    if b"\0" in part or start[:1] > b"\xf4":
        raise InputError(
            f"the input starts with the bytes {start.hex(' ')}: expected {READ}",
            rule="format",
            hint=raw(file),
        )


def raw(file: File) -> Hint:
    """Say how bare elements are read; what is known of them are their bytes."""
    if not file.regular:
        return Hint("bare elements are read by their shape and type, as bin:4x3xf32@-")
    return Hint(
        "bare elements are read by their shape and type, single bytes by {source}",
        source=f"bin:{file.size}xu8@{file.name}",
    )


def foreign(name: str, what: str, kind: str) -> InputError:
    """Refuse a format that is known but not read, with the line that converts it."""
    return InputError(
        f"the input is {what}: expected {READ}", rule="format", hint=conversion(kind, name)
    )


def text_kind(name: str, start: bytes) -> str | None:
    """Tell what text is that is no JSON, by the name of its file or its first bytes."""
    marked = (what for mark, what in _TAGS if re.match(mark, start))
    return next(marked, None) or _TEXTS.get(os.path.splitext(name)[1].lower())


def text_conversion(file: File, kind: str) -> Hint | None:
    """Write the line that converts text, if there is one."""
    if kind in _TABLES.values():
        return table(file.name, file.start(SAMPLE), kind)
    return conversion("yaml", file.name) if kind == "a YAML file" else None


def is_bare(start: bytes) -> bool:
    """Tell whether the start of a text is a list without brackets, as a pipe may hold it."""
    lines = start.rpartition(b"\n")[0] if len(start) >= SNIFF_SIZE else start
    return re.fullmatch(_BARE, lines or start) is not None


def piped(name: str) -> Hint:
    """Say how a list without brackets is read, which no file of JSON is."""
    hint = Hint(f"`- < {shell_word(name)}` in its place reads a list without brackets")
    hint.python = "in JSON a list has brackets"
    return hint


def table(name: str, start: bytes, kind: str = "a .csv file") -> Hint:
    """Write the line that converts a file if it is a .csv file.

    Parameters
    ----------
    start
        Enough of it to see whether it has a heading, and what its cells are.
    kind
        What it is said to be.
    """
    does = f"converts {kind} and writes"
    return conversion("csv", name, does, reader=_reader(start))


def conversion(kind: str, name: str, does: str = "writes", *, reader: str = "") -> Hint:
    """Write the line that converts a file, into one that is not there yet.

    Parameters
    ----------
    does
        What the line does to that file.
    reader
        The call that reads a table.
    """
    modules, code, suffix, more = _CONVERSIONS[kind]
    target, source = _free(name, suffix), json_string(name)
    said = f"{{code}} {does} {{source}}"
    if name == "-":
        modules, source = f"io, sys, {modules}", "io.BytesIO(sys.stdin.buffer.read())"
        said = f"run {{code}} instead, which {does} {{source}}"
    words = {
        "SOURCE": source,
        "TARGET": json_string(target),
        "FOLDER": json_string(os.path.dirname(name) or "."),
    }
    code = code.replace("READER", reader)
    code = re.sub("|".join(words), lambda word: words[word[0]], code)
    said += more and f"; {more}"
    return Hint(said, code=f"import {modules}; {code}", source=target)


def _free(name: str, suffix: str) -> str:
    """Name a new file after an input: beside it, or here where nothing can be put there."""
    folder, base = os.path.split("stdin" if name == "-" else name)
    if name.startswith(("/dev/", "/proc/")) or not os.access(folder or ".", os.W_OK):
        folder = ""
    return new_name(os.path.join(folder, os.path.splitext(base)[0]), suffix)


def _reader(start: bytes) -> str:
    """Write the call that reads a table: its delimiter, its type, whether it has a heading."""
    lines = start.decode("utf-8-sig", errors="replace").splitlines()
    lines = lines[:-1] if len(start) >= SAMPLE else lines  # the last may be cut
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    delimiter = next((each for each in ",;\t" if each in "".join(lines[first : first + 1])), ",")
    head, body = (set(_kinds(part, delimiter)) for part in (lines[: first + 1], lines[first + 1 :]))
    heading = "text" in head and bool(body) and "text" not in body
    kinds = body if heading else head | body
    words = ["SOURCE", f'delimiter="{delimiter}"'.replace("\t", "\\t")]
    reader = "loadtxt"
    if "text" in kinds:
        words += ["dtype=str", "comments=None"]
    elif "none" in kinds:  # which only this one takes, as NaN
        reader = "genfromtxt"
    elif kinds == {"int"}:
        words += ["dtype=int"]
    if heading:
        words += [f"{'skiprows' if reader == 'loadtxt' else 'skip_header'}={first + 1}"]
    if reader == "loadtxt" and any('"' in line for line in lines):
        words += ["quotechar=chr(34)"]
    if start.startswith(BOM_UTF8):
        words += ['encoding="utf-8-sig"']
    return f"{reader}({', '.join(words)})"


def _kinds(lines: list[str], delimiter: str) -> Iterator[str]:
    """Tell of every cell whether it is an int, a float, text or none."""
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
    """Say that a package that a format needs is not installed."""
    return f"the format needs the package {package}: expected it to be installed"


def install(extra: str) -> str:
    """Write the line that installs the packages of a format, by the name of the extra."""
    return f"`python -m pip install 'gathercli[{extra}]'`"
