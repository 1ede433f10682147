"""Format text for messages: escape, quote, count and shorten it."""

from __future__ import annotations

from gathercli.records import Any, Callable, Final, Iterable, Self, lru_cache

UNSAFE = (
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: terminals act on them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # controls of direction
    "\xad\u180e\u200b-\u200d\u2060-\u2065\ufeff\ufff9-\ufffb"  # characters of no width
    "\u2028\u2029"  # line breaks that only some programs see
    "\ud800-\udfff"  # surrogates: bytes of a file name that are no text
    "\U000e0000-\U000e007f"  # tags: invisible text
    "]"
)


def clean(text: str) -> str:
    r"""Escape every character that controls a terminal or is invisible.

    >>> print(clean("a\x1b[31mb\u202e"))
    a\x1b[31mb\u202e
    """
    return _replace_unsafe(text, lambda character: _escape(ord(character)))


def _replace_unsafe(text: str, replacement: Callable[[str], str]) -> str:
    """Replace each character that is `UNSAFE`."""
    if text.isascii() and text.isprintable():
        return text
    import re

    return re.sub(UNSAFE, lambda match: replacement(match[0]), text)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_string(text: str | list[Any]) -> str:
    r"""Quote text, or nested lists of it, for JSON; letters stay, what `clean` escapes is escaped.

    >>> print(json_string('é"\x9b'))
    "é\"\u009b"
    """
    import json

    quoted = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
    return _replace_unsafe(quoted, lambda character: json.dumps(character)[1:-1])


def shell_word(text: str) -> str:
    r"""Quote `text` as one word of a shell.

    Characters that `clean` escapes, and bytes that are no text, are escaped in ``$'...'``, which
    bash, zsh and ksh read.

    >>> print(shell_word("a b"), shell_word("caf\udce9's"))
    'a b' $'caf\xe9\'s'
    """
    import shlex

    if clean(text) == text:
        return shlex.quote(text)
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{_replace_unsafe(text, _bytes_of)}'"


def can_be_argument(text: str) -> bool:
    r"""Tell whether a command gets `text` from a shell as it is.

    >>> [can_be_argument(text) for text in ("caf\udce9", "\0", "\ud800", "\udcc3\udca9")]
    [True, False, False, False]
    """
    try:
        return text.encode(errors="surrogateescape").decode(errors="surrogateescape") == text and (
            "\0" not in text
        )
    except UnicodeEncodeError:
        return False


def _bytes_of(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogatepass"))


def literal(value: Any) -> str:
    """Format nested lists of numbers as an argument; a flat list of integers has no brackets.

    >>> literal([0, 2]), literal([0]), literal([[0.5, 2]]), literal([])
    ('0,2', '0,', '[[0.5,2]]', '[]')
    """
    if isinstance(value, list) and value and all(type(each) is int for each in value):
        return ",".join(map(str, value)) + ("," if len(value) == 1 else "")
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def as_option(name: str, value: str | int) -> str:
    """Format a setting for the command: ``--axis 1``."""
    if name in ("source", "code", "literal"):
        import json

        word = shell_word(literal(json.loads(str(value))) if name == "literal" else str(value))
        return f"python -c {word}" if name == "code" else word
    if name == "command":
        return f"gathercli {value}"
    option = {"version": "-V", "format": "-f"}.get(name) or f"--{name.replace('_', '-')}"
    return f"{option} {value}"


def as_argument(name: str, value: str | int) -> str:
    """Format a setting for Python: ``axis=1``."""
    import json

    if name == "command":
        return str(value).replace("-", "_")
    word = json.dumps(value, ensure_ascii=False)
    return _PYTHON_SETTINGS.get(name, f"{name}={{1}}").format(value, word)


_PYTHON_SETTINGS: Final = {
    "code": "{0}",
    "data_dtype": "dtype={1}",
    "indices_dtype": "numpy.asarray(indices, {1})",
    "literal": "{0}",
    "max_bytes": "max_bytes=None",  # the command's 0
    "source": "{1}",
}
"""The settings that are not ``name=value`` in Python: {0} is the value, {1} the quoted value."""


def as_key(name: str, value: str | int) -> str:
    """Format a setting for a job: ``"axis":1``."""
    import json

    return f'"{"op" if name == "command" else name}":{json.dumps(value)}'


@lru_cache(maxsize=None)
def table_beside(module: str, name: str | None = None) -> dict[str, Any]:
    """Read the table of text beside a module, by the name of that: its own, or ``name.toml``."""
    _, *package, own = module.split(".")
    path = "/".join([__file__.rpartition("/")[0], *package, name or own])
    loader: Any = __spec__.loader  # `pkgutil` asks it too, and takes 1 ms to import
    try:
        text = loader.get_data(f"{path}.toml.json")  # of a wheel; TOML takes five times as long
    except OSError:
        import tomllib

        return tomllib.loads(loader.get_data(f"{path}.toml").decode())
    import json

    return dict(json.loads(text))


def listed(words: Iterable[str], joint: str = "or") -> str:
    """Join words with commas and `joint`.

    >>> listed(["int32", "int64"])
    'int32 or int64'
    """
    *head, last = words
    return f"{', '.join(head)} {joint} {last}" if head else last


def some(words: Iterable[str], most: int = 10) -> str:
    """Join the first words and the count of the others.

    >>> some(["a", "b"]), some("abcd", most=2), some([])
    ('a and b', 'a, b and 2 more', 'nothing')
    """
    cut = list(map(short, words))
    if not cut:
        return "nothing"
    if len(cut) > most:
        return listed([*cut[:most], f"{grouped(len(cut) - most)} more"], "and")
    return listed(cut, "and")


def short(text: str, most: int = 100) -> str:
    """Cut a text to `most` characters.

    >>> short("abcdef", most=3)
    'abc...'
    """
    return text if len(text) <= most else f"{text[:most]}..."


def shown(name: str) -> str:
    """Escape and cut a name from a file, in which it may have millions of characters.

    >>> shown("/decoder/Gather"), len(shown("x" * 10**7))
    ('/decoder/Gather', 203)
    """
    return clean(short(name, MOST_NAME))


MOST_NAME: Final = 200  # the most characters of a name from a file


def counted(number: int, noun: str, plural: str | None = None, *, exact: bool = False) -> str:
    """Format a number with its noun, and the verb if that follows; `exact` numbers have no blanks.

    >>> counted(1, "index", "indices"), counted(1997, "row"), counted(1997, "byte", exact=True)
    ('1 index', '1 997 rows', '1997 bytes')
    >>> counted(1, "cell differs", "cells differ"), counted(0, "cell differs", "cells differ")
    ('1 cell differs', '0 cells differ')
    """
    word = noun if number == 1 else plural or noun + "s"
    return f"{number if exact else grouped(number)} {word}"


def in_bytes(size: int) -> str:
    """Format a size in bytes, to the last digit.

    >>> in_bytes(1), in_bytes(1997)
    ('1 byte', '1997 bytes')
    """
    return counted(size, "byte", exact=True)


def grouped(number: int) -> str:
    """Format a number with blanks between the thousands.

    >>> grouped(1997)
    '1 997'
    """
    return f"{number:,}".replace(",", " ")


def interval(bottom: int, top: int) -> str:
    """Format an interval of integers.

    >>> interval(-2, 1), interval(0, 0)
    ('-2 to 1', '0')
    """
    return f"{bottom} to {top}" if bottom < top else str(bottom)


def is_integer(text: str) -> bool:
    """Return whether a text is an integer of at most as many digits as Python reads.

    >>> is_integer("-12"), is_integer("1.0"), is_integer("")
    (True, False, False)
    """
    digits = text[1:] if text.startswith(("+", "-")) else text
    return digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS


_MOST_DIGITS: Final = 4300


def closest_member(key: str | None, names: Iterable[str]) -> str | None:
    """Return the name closest to `key`; without a key, the first name.

    >>> closest_member("wieght", ["", "weight"]), closest_member(None, ["", "weight"])
    ('weight', 'weight')
    """
    names = list(names)
    return beginning(key, names) or closest(key, names) if key else next(filter(None, names), None)


def beginning(word: str, known: Iterable[str]) -> str | None:
    """Return the only known word that begins with `word`, or None.

    >>> beginning("emb", ["bias", "embedding"])
    'embedding'
    """
    words = [each for each in known if each.startswith(word)]
    return words[0] if len(words) == 1 else None


def closest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known word closest to `word`, or None if none is close.

    A comparison costs the product of the lengths: long words, and words beyond 1,000, are skipped.
    """
    from difflib import get_close_matches
    from itertools import islice

    if len(word) > 100:
        return None
    words = [each for each in islice(known, 1000) if abs(len(each) - len(word)) <= len(word)]
    return next(iter(get_close_matches(word, words, n=1, cutoff=cutoff)), None)


class Overflow(float):
    """Infinity for a number that overflows float64, with its digits in `text`."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Return infinity with the digits `text`."""
        self = super().__new__(cls, text)
        self.text = text
        return self


def value_text(value: object) -> str:
    """Format a value for a message as JSON, cut to a length."""
    if isinstance(value, Overflow):
        text = value.text
    elif value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, dict):
        text = "an object"
    elif isinstance(value, list):
        inner = ["[...]" if isinstance(each, list) else value_text(each) for each in value[:20]]
        text = f"[{', '.join(inner)}{', ...' if value[20:] else ''}]"
    elif isinstance(value, int) and abs(value) >= 10**40:
        text = f"an integer of more than {40} digits"
    elif isinstance(value, str):
        return f"`{json_string(short(value, 55))}`"
    elif isinstance(value, int | float | complex):
        text = repr(value)
    else:
        text = kind_of(value)
    return text if len(text) <= 60 else text[:57] + "..."


def as_written(value: object, depth: int = 60) -> str:
    """Format a value of any type for a message, strings in backquotes.

    Lists nested deeper than `depth` are omitted.

    >>> as_written("one"), as_written(1.5), as_written([0, "x"]), as_written({1})
    ('`one`', '1.5', '[0, `x`]', 'of type `set`')
    """
    if isinstance(value, str):
        return f"`{short(value, 55)}`"
    if isinstance(value, int):
        bits = value.bit_length()  # Python refuses to write large ones in digits
        return str(value) if bits <= 256 else f"an integer of {bits} bits"
    if shape := getattr(value, "shape", ()):
        return f"a tensor of shape {list(shape)}"
    if isinstance(value, list | tuple):
        inner = (as_written(each, depth - 1) for each in value[:20]) if depth else ("...",)
        text = f"[{', '.join(inner)}{', ...' if value[20:] else ''}]"
    elif value is None or isinstance(value, float | complex) or hasattr(value, "tolist"):
        text = str(value)
    else:
        text = kind_of(value)
    return text if len(text) <= 60 else text[:57] + "..."


def plain_value(value: object) -> object:
    """Return a wrong value for JSON: small integers and text as they are, the rest as written."""
    is_small = type(value) is int and value.bit_length() <= 256
    return value if is_small or isinstance(value, str) else as_written(value)


def kind_of(value: object) -> str:
    """Format the type of a value.

    >>> kind_of({1}), kind_of(None)
    ('of type `set`', 'None')
    """
    return "None" if value is None else f"of type `{type(value).__name__}`"


# The words for numbers that JSON lacks.
NON_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
