"""The capabilities of a terminal: colour, width, height."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

    from rich.text import Text

Depth: TypeAlias = 'Literal["standard", "256", "truecolor"]'
Styled: TypeAlias = "Text"  # text with styles; `report` and the slices create it

STDOUT: Final = 1

DEFAULT_WIDTH: Final = 80
DEFAULT_HEIGHT: Final = 24  # the columns and lines of a terminal that does not report them
PICTURE_WIDTH: Final = 100  # the columns of a picture or a preview without a terminal

_HALF: Final = "▀"  # a cell of two colours, whose ground is none
ERROR_STYLE: Final = "red"  # of words on what is refused or wrong


def is_terminal(fd: int) -> bool:
    """Return whether a file descriptor is a terminal; False for a closed one."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def wants_color(choice: str, fd: int) -> bool:
    """Return whether to write colour by `--color`, the environment and the stream."""
    environ = os.environ
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return is_terminal(fd)


def width_of(fd: int) -> int | None:
    """Return the columns of a terminal; None for no limit.

    COLUMNS takes precedence, and applies even to a stdout that is no terminal.
    """
    columns = _number("COLUMNS")
    if not is_terminal(fd):
        return columns if fd == STDOUT else None
    return columns or _size_of(fd).columns or DEFAULT_WIDTH


def height_of(fd: int) -> int:
    """Return the lines of a terminal."""
    return _number("LINES") or _size_of(fd).lines or DEFAULT_HEIGHT


def _size_of(fd: int) -> os.terminal_size:
    try:
        return os.get_terminal_size(fd)
    except OSError:
        return os.terminal_size((0, 0))


def _number(name: str) -> int | None:
    """Return the value of an environment variable if it is a positive number, else None."""
    word = os.environ.get(name, "")
    return (int(word) or None) if word.isdecimal() and len(word) < 6 else None


def depth(environ: Mapping[str, str] = os.environ) -> Depth:
    """Return how many colours a terminal has, by the environment.

    >>> depth({"COLORTERM": "truecolor"}), depth({"TERM": "tmux-256color"}), depth({})
    ('truecolor', '256', 'standard')
    """
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "truecolor"
    return "256" if "256" in environ.get("TERM", "") else "standard"


def assembled(parts: Iterable[tuple[str, str]]) -> Text:
    """Return texts with their styles as one."""
    from rich.text import Text

    return Text.assemble(*parts)


def highlighted(text: str, styles: Iterable[tuple[str, str]]) -> Text:
    """Return text in which what a pattern matches has its style."""
    from rich.text import Text

    styled = Text(text)
    for pattern, style in styles:
        styled.highlight_regex(pattern, style)
    return styled


def rendered(text: Text, *, color: bool) -> str:
    """Return styled text as a string, with escape sequences if `color`.

    With colour, a fill at the end of a line goes on for a blank, as it begins with one.
    """
    if not color:
        return text.plain
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(
        file=out,
        force_terminal=True,
        color_system=depth(),
        no_color=False,
        width=1 << 20,
        markup=False,
        highlight=False,
        soft_wrap=True,
    ).print(_with_edges(text), end="")
    return out.getvalue()


def _with_edges(text: Text) -> Text:
    """Add a blank to each line that ends with a fill, if the terminal has room for it."""
    room = width_of(STDOUT)
    lines = text.split("\n", allow_blank=True)
    for line in lines:
        ends = [str(span.style) for span in line.spans if span.end == len(line) > span.start]
        fills = any(" on " in style for style in ends) and line.plain[-1] != _HALF
        if fills and (room is None or line.cell_len < room):
            line.append(" ", ends[-1])
    return text.blank_copy("\n").join(lines)


class Report:
    """What a command prints and a function of Python returns: a text, and fields for JSON.

    A subclass is a frozen dataclass. Its fields are the keys of the JSON of the command; those in
    `spread` are mappings whose keys stand beside the others. A field whose name begins with ``_``
    is none: it has what the text is made of.
    """

    spread: ClassVar[tuple[str, ...]] = ()

    def styled(self, width: int | None) -> Styled:
        """Return the text that the command prints, wrapped to a width; None does not wrap."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the object that the command prints with ``-f json``."""
        fields: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name in self.spread:
                fields |= plain(value)
            elif not name.startswith("_"):
                fields[name] = plain(value)
        return fields

    def line(self) -> str:
        """Return that object as a line."""
        import json

        return json.dumps(self.to_json(), separators=(",", ":")) + "\n"

    def __eq__(self, other: object) -> bool:
        """Return whether another report says the same."""
        return type(other) is type(self) and other.to_json() == self.to_json()

    def __hash__(self) -> int:
        return hash(self.line())

    def __copy__(self, memo: object = None) -> Self:
        """Return the report itself: nothing changes it."""
        return self

    __deepcopy__ = __copy__

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle keeps: the fields, the JSON, and the text in 80 columns.

        What they were made of, such as a model, stays behind.
        """
        from functools import partial

        fields = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        as_json, text = partial(_kept, self.to_json()), partial(_kept, self.styled(DEFAULT_WIDTH))
        return fields | {"to_json": as_json, "styled": text}

    def plain(self, width: int | None) -> str:
        """Return the text without colour."""
        return self.styled(width).plain

    def __repr__(self) -> str:
        """Show the text, as wide as the terminal; else 80 columns wide."""
        return self.plain(width_of(STDOUT) or DEFAULT_WIDTH).rstrip("\n")

    def _repr_html_(self) -> str:
        """Show the text in a notebook, with its styles."""
        from io import StringIO

        from rich.console import Console

        console = Console(file=StringIO(), record=True, width=1 << 20, highlight=False)
        console.print(self.styled(PICTURE_WIDTH), soft_wrap=True, end="")
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _kept(value: Any, width: int | None = None) -> Any:
    """Return what a pickled report has, of one width."""
    del width
    return value


def plain(value: Any) -> Any:
    """Return a value as JSON has it: records, and what has a `to_json`, as objects."""
    if hasattr(value, "to_json"):
        value = value.to_json()
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


def escaped(text: str) -> str:
    """Escape rich markup."""
    from rich.markup import escape

    return escape(text)


def print_text(text: str) -> None:
    """Write text to stdout."""
    from gathercli.io.descriptors import write_all

    write_all(STDOUT, text.encode(errors="backslashreplace"))
