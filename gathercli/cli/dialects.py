"""Translate options and values of other programs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli.line import CommandLine
from gathercli.spec.op import OTHER_NAMES
from gathercli.text import beginning, closest

if TYPE_CHECKING:
    from gathercli.cli.command import Parameter

LAST: Final = "DEST"
"""The argument that is an option in other programs; it comes last."""

OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "--dim": ("--axis",),
    "--dimension": ("--axis",),
    "--fill": ("--out-of-range",),
    "--format": ("--to",),
    "--jobs": ("--workers", "--threads"),
    "--mode": ("--out-of-range",),
    "--opset": ("--version",),
    "--out": ("--output", "--save", LAST),
    "--output": ("--save", LAST),
    "--to": ("--format",),
    "-o": ("--save", LAST),
}
"""Options of other programs, with the options here in order of preference."""

VALUES: Final = {
    "--out-of-range": OTHER_NAMES,
    "--to": {"np": "numpy", "pytorch": "torch", "tf": "tensorflow"},
}
"""Values of other programs, by option."""

PICTURES: Final = ("svg", "html", "txt")
"""The formats of `--save`, which its suffix selects."""

_DASHES: Final = re.compile(r"[\u2010-\u2015\u2212]+(?=[a-zA-Z])")
_SETTING: Final = re.compile(r"([a-z][a-z_-]*)=(.*)", re.DOTALL)


def similar_option(line: CommandLine, option: str) -> str | None:
    """Return the visible option of a command most similar to an unknown one, or None."""
    names = [name for param in line.params if not param.hidden for name in param.names]
    has_last = any(str(param.metavar).endswith(LAST) for param in line.params)
    translations = OPTIONS.get(option, ())
    for name in (*translations, option.swapcase()):
        if name in names or (name == LAST and has_last):
            return name
    if translations:
        return None
    word = option.lower().replace("_", "-").lstrip("-")
    long = [name[2:] for name in names if name.startswith("--")]
    similar = closest(word, long, cutoff=0.7) or (word and beginning(word, long))
    return f"--{similar}" if similar else None


def translate(line: CommandLine) -> CommandLine | None:
    """Translate all options and values of a line; return None if the command lacks one."""
    texts: list[str] = []
    last: list[str] = []
    at = 0
    while at < len(line.words):
        option = _Option.read(line, at)
        if option is None:  # an argument, a value, or letters
            word = line.words[at]
            if word.option not in (None, "--") and line.param(str(word.option)) is None:
                return None
            texts.append(_with_dashes(line, word.text))
            at += 1
            continue
        words = option.translate(line)
        if words is None:
            return None
        (last if option.similar == LAST else texts).extend(words)
        at += option.words
    return CommandLine.read(line.command, line.params, [*texts, *last])


class _Option(NamedTuple):
    """An option with its value.

    Attributes
    ----------
    name
        The name on the command line.
    similar
        The name of the command's equivalent, or None.
    value
        The value, or None.
    attached
        Whether the value is part of the same word.
    words
        The number of words of the option and its value.
    """

    name: str
    similar: str | None
    value: str | None
    attached: bool
    words: int

    @classmethod
    def read(cls, line: CommandLine, at: int) -> _Option | None:
        """Read the option at a word; return None for other words and for letters."""
        word = line.words[at]
        text = _with_dashes(line, word.text)
        is_plain = word.is_value or text[:1] != "-" or text == "--"
        if is_plain or (word.option is None and text == word.text):
            return None
        if not text.startswith("--") and text[2:3] not in ("", "=") and line.param(text[:2]):
            return None
        name, mark, value = re.split(r"([=:])|\Z", text, maxsplit=1)
        similar = name if line.param(name) else similar_option(line, name)
        param = line.param(similar) if similar else None
        takes_one = similar == LAST if param is None else param.count == 1
        if mark or not takes_one:
            return cls(name, similar, value if mark else None, bool(mark), 1)
        following = line.words[at + 1 : at + 2]
        if not following or (following[0].option is not None and not following[0].is_value):
            return cls(name, None, None, attached=False, words=1)
        return cls(name, similar, following[0].text, attached=False, words=2)

    def translate(self, line: CommandLine) -> list[str] | None:
        """Return the words of the command's equivalent, or None."""
        if self.similar is None or self.value is None:
            return None if self.similar is None else [self.similar]
        if self.similar == LAST:
            return [self.value]
        value: str | None
        if self.name == "--opset" and re.fullmatch(r"\d+", self.value, re.ASCII):
            value = f"onnx-{self.value}"
        else:
            value = translate_value(line.param(self.similar), self.value)
        if value is None:
            return None
        if self.attached and self.similar.startswith("--"):
            return [f"{self.similar}={value}"]
        return [self.similar, value]


def _with_dashes(line: CommandLine, text: str) -> str:
    """Add ASCII dashes to ``axis=1``, or to an option with a longer dash."""
    if _DASHES.match(text):
        return _DASHES.sub("--", text, count=1)
    setting = _SETTING.fullmatch(text)
    if setting and not os.path.lexists(text):
        name = f"--{setting[1].replace('_', '-')}"
        param = line.param(name)
        return text if param is None or param.hidden else f"{name}={setting[2]}"
    return text


def translate_value(param: Parameter, value: str) -> str | None:
    """Return the value of a parameter equivalent to another program's value, or None."""
    value_here = VALUES.get(max(param.names, key=len, default=""), {}).get(value.lower(), value)
    choices = param.choices
    if not choices or value_here in choices:
        return value_here if choices else value
    return closest(value.lower(), choices)
