"""Files of other formats: describe them, and suggest Python that converts them."""

from __future__ import annotations

import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Final

from gathercli.errors import GatherError, Hint, InputError
from gathercli.io.files import File, new_name
from gathercli.io.formats.table import FORMATS, MODELS, SNIFF_SIZE, sniff
from gathercli.text import json_string, listed, shell_word, table_beside

# The supported formats, for messages.
READ_FORMATS: Final = listed(
    [*(f.suffix for f in FORMATS.values() if f.binary and f.sniff), "JSON"]
)

SAMPLE_BYTES: Final = 1 << 18  # bytes of a .csv file used to infer the types of its cells

_FOREIGN_MARKS: Final = (
    (rb"\x80\x02\x8a\x0al\xfc\x9cF\xf9", "an old PyTorch file", "torch"),
    (
        rb"\x80[\x02-\x05]|c[\w.]+\n[\w.]+\n|\((?:lp|dp)|[\]}]q",
        "a pickle, which runs code when it is loaded",
        "pickle",
    ),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "hdf5"),
    (rb"PAR1", "a Parquet file", "parquet"),
)
_TABLE_KINDS: Final = ("a .csv file", "a .tsv file")

# A list without brackets: on one line, or an element a line.
_BARE_LIST: Final = rb"(?=[-+.]?\d)[-+.\dEe]+(?:(?:[ \t,]+[-+.\dEe]+)*|(?:\s*\n[-+.\dEe]+)*),?\s*"

_COMPRESSIONS: Final = {
    b"\x1f\x8b": "zcat",
    b"BZh": "bzcat",
    b"\xfd7zXZ": "xzcat",
    b"\x28\xb5\x2f\xfd": "zstdcat",
}


def refuse(file: File, start: bytes) -> None:
    """Raise if a file is not text; name its format if it is known."""
    for mark, what, kind in _FOREIGN_MARKS:
        if re.match(mark, start):
            raise foreign_error(file.name, what, kind)
    for magic, program in _COMPRESSIONS.items():
        if start.startswith(magic):
            what = "the input is compressed"
            raise InputError(what, expected=READ_FORMATS, hint=_unpacking(program, file.name))
    refuse_binary(file, start)


def _unpacking(program: str, name: str) -> Hint:
    if name == "-":
        return Hint(f"`{program} |` before it unpacks it")
    line = f"{program} {shell_word(name)}"
    return Hint(
        f"`<({line})` in its place, or `{line} |` before and `-` in its place, unpacks it",
        python=f"`{line} > FILE` unpacks it",
    )


def describe(name: str, start: bytes) -> str | None:
    """Describe the format of a file by its first bytes; return None for JSON or an unknown one."""
    if (fmt := sniff(start)) not in (None, "json"):
        return f"an {MODELS[fmt].title}" if fmt in MODELS else f"a .{fmt} file"
    matches = (what for mark, what, _ in _FOREIGN_MARKS if re.match(mark, start))
    return next(matches, None) or text_kind(name, start)


def refuse_binary(file: File, part: bytes) -> None:
    """Raise for bytes that text cannot contain."""
    start = file.start(8)
    if b"\0" in part or start[:1] > b"\xf4":
        what = f"the input starts with the bytes {start.hex(' ')}"
        raise InputError(what, expected=READ_FORMATS, hint=raw_hint(file))


def raw_hint(file: File) -> Hint:
    """Suggest an argument that reads a file as raw elements."""
    if not file.regular:
        return Hint("bare elements are read by their shape and type, as bin:4x3xf32@-")
    return Hint(
        "bare elements are read by their shape and type, single bytes by {source}",
        source=f"bin:{file.size}xu8@{file.name}",
    )


def foreign_error(name: str, what: str, kind: str) -> InputError:
    """Return the error for a file of another format, with Python that converts it."""
    hint = conversion_hint(kind, name)
    return InputError(f"the input is {what}", expected=READ_FORMATS, hint=hint)


def text_kind(name: str, start: bytes) -> str | None:
    """Describe the format of text by its first bytes or the name of the file."""
    known: dict[str, dict[str, str]] = table_beside(__name__)
    matches = (what for tag, what in known["tags"].items() if re.match(tag.encode(), start))
    return next(matches, None) or known["suffixes"].get(os.path.splitext(name)[1].lower())


def advise(error: InputError, file: File, *, is_utf8: bool) -> None:
    """Add the format of a text that is no JSON to an error, with a hint that reads it."""
    start = file.start(SNIFF_SIZE)
    if file.name == "-" and (name := _file_name(start)):
        error.hint = Hint("did you mean {source} in the place of `-`?", source=name)
        return
    kind = text_kind(file.name, start)
    if start.lstrip()[:1] in (b"[", b"{") and kind is None:
        return
    if not is_utf8:
        error.hint = raw_hint(file)
    if kind is not None:
        error.problem, error.expected = f"the input is {kind}", READ_FORMATS
        error.rule, error.hint = "format", None
        if kind in _TABLE_KINDS:
            error.hint = table_hint(file.name, file.start(SAMPLE_BYTES), kind)
        elif kind == "a YAML file":
            error.hint = conversion_hint("yaml", file.name)
    elif error.rule == "json" and file.regular and _is_bare(start):
        error.hint = Hint(
            f"`- < {shell_word(file.name)}` in its place reads a list without brackets",
            python="in JSON a list has brackets",
        )
    elif error.rule == "json" and b"," in start.split(b"\n")[0]:
        error.hint = table_hint(file.name, file.start(SAMPLE_BYTES))


def _file_name(start: bytes) -> str | None:
    """Return a text that is the name of a file."""
    name = os.fsdecode(start.strip())
    exists = os.path.isfile(name) or os.path.isfile(name.rpartition("#")[0])
    return name if exists and "\n" not in name else None


def _is_bare(start: bytes) -> bool:
    """Tell whether the start of a text is a list without brackets."""
    lines = start.rpartition(b"\n")[0] if len(start) >= SNIFF_SIZE else start
    return re.fullmatch(_BARE_LIST, lines or start) is not None


def table_hint(name: str, start: bytes, kind: str = "a .csv file") -> Hint:
    """Write Python that converts a table.

    `start`, of `SAMPLE_BYTES`, tells its heading and the types of its cells; `kind` describes it.
    """
    return conversion_hint("csv", name, f"converts {kind} and writes", reader=_reader(start))


def conversion_hint(kind: str, name: str, does: str = "writes", *, reader: str = "") -> Hint:
    """Write Python that converts a file to a new one.

    `does` is the verb before the name of the new file, `reader` the numpy call that reads a table.
    """
    conversion = table_beside(__name__, "conversions")[kind]
    modules, code = conversion["modules"], conversion["code"]
    target, source = _new_file(name, conversion["suffix"]), json_string(name)
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
    message += "; " + conversion["more"] if "more" in conversion else ""
    return Hint(message, code=f"import {modules}; {code}", source=target)


def _new_file(name: str, suffix: str) -> str:
    """Name a new file after an input: beside it, or in the working folder if that is read-only."""
    folder, base = os.path.split("stdin" if name == "-" else name)
    if name.startswith(("/dev/", "/proc/")) or not os.access(folder or ".", os.W_OK):
        folder = ""
    return new_name(os.path.join(folder, os.path.splitext(base)[0]), suffix)


def _reader(start: bytes) -> str:
    """Write the numpy call for the delimiter, heading and cell types of a table."""
    lines = start.decode("utf-8-sig", errors="replace").splitlines()
    lines = lines[:-1] if len(start) >= SAMPLE_BYTES else lines  # the last may be incomplete
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    delimiter = next((each for each in ",;\t" if each in "".join(lines[first : first + 1])), ",")
    head, body = (set(_kinds(part, delimiter)) for part in (lines[: first + 1], lines[first + 1 :]))
    heading = "text" in head and bool(body) and "text" not in body
    kinds = body if heading else head | body
    arguments = ["SOURCE", f'delimiter="{delimiter}"'.replace("\t", "\\t")]
    reader = "loadtxt"
    if "text" in kinds:
        arguments += ["dtype=str", "comments=None"]
    elif "none" in kinds:  # only genfromtxt reads empty cells, as NaN
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
    """Yield the type of each cell: int, float, text or none."""
    for line in filter(str.strip, lines):
        for cell in line.split(delimiter):
            word = cell.strip().strip('"')
            try:
                float(word)
            except ValueError:
                yield "text" if word else "none"
                continue
            is_int = re.fullmatch(r"[+-]?\d{1,18}", word, re.ASCII)
            yield "int" if is_int else "text" if "_" in word else "float"


def not_installed(
    package: str, extra: str, error: type[GatherError] = InputError, rule: str = "format"
) -> GatherError:
    """Return the error for a missing package, with the command that installs its extra."""
    what, hint = f"the format needs the package {package}", f"`{install_line(package, extra)}`"
    return error(what, rule=rule, expected="it to be installed", hint=hint)


def install_line(package: str, extra: str) -> str:
    """Return the command that installs a package of an extra beside this program."""
    for file, command in table_beside(__name__)["installers"].items():
        if os.path.exists(os.path.join(sys.prefix, file)):
            return f"{command} {package}"
    return f"python -m pip install 'gathercli[{extra}]'"
