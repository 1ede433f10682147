"""Options and their values as other programs write them, and how this one does."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.cli.line import CommandLine
from gathercli.text import closest

if TYPE_CHECKING:
    from typing import Any

LAST: Final = "DEST"
"""What is no option here, but the last argument."""

OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "--dim": ("--axis",),
    "--dimension": ("--axis",),
    "--fill": ("--out-of-range",),
    "--format": ("--to",),
    "--mode": ("--out-of-range",),
    "--opset": ("--version",),
    "--out": ("--output", "--save", LAST),
    "--output": ("--save", LAST),
    "--to": ("--format",),
    "-o": ("--save", LAST),
}
"""What options are called elsewhere; the first that a command has is meant."""

VALUES: Final = {
    "--out-of-range": {
        "clip": "clamp",
        "raise": "error",
        "fill": "zero",
        **dict.fromkeys(("0", "0.0", "zeros"), "zero"),
    },
}
"""What values of options are called elsewhere."""

PICTURES: Final = ("svg", "html", "txt")
"""Formats that are asked for by the suffix of `--save`."""

_DASHES: Final = re.compile(r"[\u2010-\u2015\u2212]+(?=[a-zA-Z])")
_SETTING: Final = re.compile(r"([a-z][a-z_-]*)=(.*)", re.DOTALL)


def near(line: CommandLine, option: str) -> str | None:
    """Find the option of a command that is meant by one that it does not have."""
    names = [name for param in line.params for name in param.opts]
    has_last = any(str(param.metavar).endswith(LAST) for param in line.params)
    known = OPTIONS.get(option, ())
    for name in (*known, option.swapcase()):
        if name in names or (name == LAST and has_last):
            return name
    long = [name[2:] for name in names if name.startswith("--")]
    word = option.lower().replace("_", "-").lstrip("-")
    found = None if known else closest(word, long, cutoff=0.7)
    return f"--{found}" if found else None


def translated(line: CommandLine) -> CommandLine | None:
    """Write every option, and its value, as a command has them; None if one has no like."""
    texts: list[str] = []
    last: list[str] = []
    at = 0
    while at < len(line.words):
        option = _Option.read(line, at)
        if option is None:  # an argument, a value, or letters
            word = line.words[at]
            if word.option not in (None, "--") and line.param(str(word.option)) is None:
                return None
            texts.append(_dashed(line, word.text))
            at += 1
            continue
        written = option.written(line)
        if written is None:
            return None
        (last if option.own == LAST else texts).extend(written)
        at += option.words
    return CommandLine.read(line.command, line.params, [*texts, *last])


class _Option(NamedTuple):
    """An option as it was typed.

    Attributes
    ----------
    name, own
        How it is written, and what it is called here; None for what has no like.
    value
        None where there is none.
    attached
        Whether the value is part of the same word.
    words
        How many words it takes.
    """

    name: str
    own: str | None
    value: str | None
    attached: bool
    words: int

    @classmethod
    def read(cls, line: CommandLine, at: int) -> _Option | None:
        """Read an option at a word; None if there is none, or only its letters."""
        word = line.words[at]
        text = _dashed(line, word.text)
        is_plain = word.is_value or text[:1] != "-" or text == "--"
        if is_plain or (word.option is None and text == word.text):
            return None
        if not text.startswith("--") and text[2:3] not in ("", "=") and line.param(text[:2]):
            return None
        name, mark, value = re.split(r"([=:])|\Z", text, maxsplit=1)
        own = name if line.param(name) else near(line, name)
        param = line.param(own) if own else None
        if mark or (param is None and own != LAST) or (param is not None and not _takes_one(param)):
            return cls(name, own, value if mark else None, bool(mark), 1)
        follows = line.words[at + 1 : at + 2]
        if not follows or (follows[0].option is not None and not follows[0].is_value):
            return cls(name, None, None, attached=False, words=1)
        return cls(name, own, follows[0].text, attached=False, words=2)

    def written(self, line: CommandLine) -> list[str] | None:
        """Write the option as a command has it; None if it does not."""
        if self.own is None or self.value is None:
            return None if self.own is None else [self.own]
        value = _value(line, self.name, self.own, self.value)
        if value is None or self.own == LAST:
            return None if value is None else [value]
        if self.attached and self.own.startswith("--"):
            return [f"{self.own}={value}"]
        return [self.own, value]


def _takes_one(param: Any) -> bool:
    return not param.is_flag and param.nargs == 1


def _dashed(line: CommandLine, text: str) -> str:
    """Write ``axis=1``, or an option behind a longer dash, as an option."""
    if _DASHES.match(text):
        return _DASHES.sub("--", text, count=1)
    setting = _SETTING.fullmatch(text)
    if setting and not os.path.lexists(text):
        name = f"--{setting[1].replace('_', '-')}"
        return f"{name}={setting[2]}" if line.param(name) else text
    return text


def _value(line: CommandLine, option: str, own: str, value: str) -> str | None:
    """Write the value of an option as a command takes it; None for what it does not take."""
    if own == LAST:
        return value
    if option == "--opset" and re.fullmatch(r"\d+", value, re.ASCII):
        return f"onnx-{value}"
    return value_here(line.param(own), value)


def value_here(param: Any, value: str) -> str | None:
    """Write a value as a parameter takes it; None for what it does not take."""
    found = VALUES.get(max(param.opts, key=len), {}).get(value.lower(), value)
    choices = choices_of(param)
    return found if not choices or found in choices else closest(value.lower(), choices)


def choices_of(param: Any) -> list[str]:
    """List what a parameter takes, if those are few words."""
    return [getattr(each, "value", each) for each in getattr(param.type, "choices", ())]
