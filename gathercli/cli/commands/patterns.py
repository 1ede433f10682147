"""`batch` without a job file: a job for every file that a pattern finds, and every setting."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.cli.operator import integer
from gathercli.errors import InputError, NoInputError, UsageError
from gathercli.io.folders import is_plain_folder, tensor_files
from gathercli.io.source import Inputs
from gathercli.jobs.jobfile import WrittenJob
from gathercli.ops import find
from gathercli.spec.dtypes import dtype
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import clean, closest, listed, shell_word, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SETTINGS: Final = (
    *("axis", "batch_dims", "version", "negative", "out_of_range"),
    *("data_dtype", "indices_dtype"),
)
"""What `--matrix` may set; also keys of a job."""

NAMES: Final = ("stem", "name", "dir")
"""What a pattern may say of the file of the data: its name without suffix, with it, its folder."""

INTEGERS: Final = ("axis", "batch_dims")
_PLACE: Final = re.compile(r"\{([a-z_-]+)\}")
_WILD: Final = re.compile(r"[*?[]")
_RAW: Final = re.compile(r"(bin:[^@]*@)(.+)", re.DOTALL)
"""Raw elements: what they are, and their file."""


class Patterns(NamedTuple):
    """Jobs in one piece: what differs between them is in braces.

    Attributes
    ----------
    op
        The command.
    data
        A token, or a pattern of files such as ``in/*.npy``.
    filled
        Keys of a job whose tokens may hold ``{stem}`` and the like: indices, output, expect.
    fixed
        Keys of a job that are the same in all.
    matrix
        Keys of a job and the values each may take, all of which are combined.
    """

    op: str
    data: str
    filled: Mapping[str, str]
    fixed: Mapping[str, Any]
    matrix: Mapping[str, Sequence[str]]

    def written(self) -> Iterator[WrittenJob]:
        """Write the jobs down, in the order of the files' names.

        Raises
        ------
        NoInputError
            ``missing``: no file is found.
        UsageError
            Braces hold what is not known, or all jobs would write the same file.
        """
        matches = _matches(self.data)
        first, second = next(matches), next(matches, None)
        self._check_output(several=second is not None)
        for found in itertools.chain([first], [second] if second else [], matches):
            for values in itertools.product(*self.matrix.values()):
                yield self._job(found, dict(zip(self.matrix, values, strict=True)))

    def _check_output(self, *, several: bool) -> None:
        """Refuse one name for the outputs of several jobs; `several` says there are such files."""
        output = self.filled.get("output")
        if output is None:
            return
        used = {name.replace("-", "_") for name in _PLACE.findall(output)}
        many: list[tuple[str, Sequence[str]]] = [
            (f"`--matrix` has {len(values)} values of {key}", [key])
            for key, values in self.matrix.items()
            if len(values) > 1
        ]
        if several:
            many.insert(0, ("`--data` finds several files", NAMES))
        for why, names in many:
            if used.isdisjoint(names):
                expected = listed("{" + name + "}" for name in names)
                raise UsageError(
                    f"`--output` is `{clean(output)}`, but {why}: expected {expected} in it",
                    rule="usage",
                    value=output,
                    expected=expected,
                )

    def _job(self, found: _Match, chosen: dict[str, str]) -> WrittenJob:
        known = found.names | {name: value for key, value in chosen.items() for name in _both(key)}
        job: dict[str, Any] = {
            "id": " ".join([found.name, *(f"{key}={value}" for key, value in chosen.items())]),
            "op": self.op,
            "data": found.token,
            **{key: _fill(text, known, key) for key, text in self.filled.items()},
            **self.fixed,
            **{key: integer(v) if key in INTEGERS else v for key, v in chosen.items()},
        }
        return WrittenJob(f"the job of `{short(clean(job['id']))}`", "", json.dumps(job).encode())


class _Match(NamedTuple):
    """A token for the data: what it is called, and what braces stand for."""

    name: str
    token: str
    names: dict[str, str]


def _matches(pattern: str) -> Iterator[_Match]:
    """Find the files of a pattern; a token that is none stands for itself."""
    before, path, key = _parts(pattern)
    if path is None:
        yield _Match(pattern, pattern, {})
        return
    if is_plain_folder(path) and key is None:
        raise _no_pattern(pattern, path)
    whole = path if key is None else f"{path}#{key}"
    wild = _WILD.search(whole)
    # The name of a file may hold `#`: a whole name comes first, as in any token.
    paths = _found(whole) if wild and key else []
    if paths:
        key = None
    elif not _WILD.search(path) or os.path.lexists(path):
        yield _Match(pattern, pattern, _names(path, os.path.dirname(path)))
        return
    else:
        paths = _found(path)
    if not paths:
        raise NoInputError(
            f"`--data` is `{clean(pattern)}`, and no file has such a name: expected some",
            rule="missing",
            value=pattern,
        )
    root = os.path.dirname(whole[: wild.start() if wild else None])
    for each in paths:
        token = each if key is None else f"{each}#{key}"
        yield _Match(token, f"{before}{token}", _names(each, root))


def _no_pattern(token: str, path: str) -> NoInputError:
    """Refuse a folder in the place of a pattern, which says which of its files are meant."""
    suffixes = [os.path.splitext(name)[1] for name in tensor_files(path)]
    files = os.path.join(path, "*" + max(suffixes, key=suffixes.count, default=".npy"))
    return NoInputError(
        f"`--data` is `{clean(token)}`, a directory: expected a file, or a pattern of files",
        rule="unreadable",
        value=token,
        hint=f"`--data {shell_word(files)}`" if suffixes else None,
    )


def _found(pattern: str) -> list[str]:
    found = glob.glob(pattern, recursive=True)
    return sorted(each for each in found if not is_plain_folder(each))


def _parts(pattern: str) -> tuple[str, str | None, str | None]:
    """Split a pattern into what is before the name of a file, the name, and the key behind it.

    The name is None in a token that is no file.
    """
    if declared := _RAW.fullmatch(pattern):
        return declared[1], declared[2], None
    try:
        path, key = Inputs(None).file_of(pattern)
    except InputError:  # such as `[ab]/*.npy`, which starts as a list does
        if not _found(pattern) and not _found(pattern.rpartition("#")[0]):
            raise
        path, key = Inputs(None).file_of(f"@{pattern}")
    return "@", path, key


def _names(path: str, root: str) -> dict[str, str]:
    folder, name = os.path.split(path)
    inner = os.path.relpath(folder or ".", root or ".")
    return dict(zip(NAMES, (os.path.splitext(name)[0], name, inner), strict=True))


def _fill(text: str, known: Mapping[str, str], key: str) -> str:
    """Put values in the place of braces."""

    def value(found: re.Match[str]) -> str:
        if found[1] in known:
            return known[found[1]]
        expected = listed("{" + name + "}" for name in known) if known else "none"
        raise UsageError(
            f"`--{key}` has `{found[0]}`: expected {expected}",
            rule="usage",
            value=found[0],
            expected=expected,
            hint="`--matrix` makes names for the settings it tries"
            if found[1].replace("-", "_") in SETTINGS
            else None,
        )

    return _PLACE.sub(value, text)


def _both(key: str) -> tuple[str, str]:
    """Return a key as jobs spell it, and as options do."""
    return key, key.replace("_", "-")


def check_setting(op: str, key: str, value: str) -> None:
    """Refuse, before there are jobs, a value that no job could have.

    Parameters
    ----------
    op, key
        The command, and one of `SETTINGS`.

    Raises
    ------
    UsageError
        ``version``, ``dtype`` or ``usage``.
    """
    choices = {"negative": Negative, "out_of_range": OutOfRange}.get(key)
    if key == "version":
        find(value, op)
    elif key.endswith("_dtype"):
        dtype(value)
    elif key in INTEGERS and not isinstance(integer(value), int):
        expected = "an integer"
    elif choices is not None and value not in [each.value for each in choices]:
        expected = listed(each.value for each in choices)
    else:
        return
    if key in INTEGERS or choices is not None:
        raise UsageError(
            f"`--{key.replace('_', '-')}` is `{clean(value)}`: expected {expected}",
            rule="usage",
            value=value,
            expected=expected,
        )


def is_matrix(word: str) -> bool:
    """Tell whether a word would set something for `--matrix`: ``axis=0,1``."""
    return "=" in word


def matrix_of(words: Iterable[str]) -> dict[str, list[str]]:
    """Read the words of `--matrix`.

    Raises
    ------
    UsageError
        One sets nothing, or what cannot be set, or the same again.

    >>> matrix_of(["axis=0,1", "version=openvino-8"])
    {'axis': ['0', '1'], 'version': ['openvino-8']}
    """
    found: dict[str, list[str]] = {}
    for word in words:
        name, mark, values = word.partition("=")
        key = name.replace("-", "_")
        chosen = values.split(",")
        twice = key in found or len(set(chosen)) < len(chosen)
        if not mark or key not in SETTINGS or twice or not all(chosen):
            again = " again" if key in found else ""
            near = closest(key, SETTINGS)
            raise UsageError(
                f"`--matrix` has `{clean(word)}`{again}: "
                f"expected {listed(SETTINGS)}, once, with different values, as in `axis=0,1`",
                rule="usage",
                value=word,
                hint=f"did you mean `{near}`?" if near and near != key else None,
            )
        found[key] = chosen
    return found
