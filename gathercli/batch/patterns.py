"""`batch` without a job file: a job for each file of a pattern and each combination of settings."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from gathercli.cli.options import integer, option_name
from gathercli.errors import GatherError, InputError, NoInputError, UsageError
from gathercli.frameworks.versions import find
from gathercli.io.folders import is_plain_folder, raise_unlisted, tensor_files
from gathercli.io.jobfile import JobEntry
from gathercli.io.jobs import keys_of
from gathercli.io.source import reference_of
from gathercli.ops import FAMILIES
from gathercli.slices import given, given_names
from gathercli.spec.dtypes import dtype
from gathercli.text import clean, closest, counted, listed, shell_word, short

# Reads a word that stands for a call and its feeds, with a limit of memory in bytes.
FedReader: TypeAlias = "Callable[[str, Sequence[str], int | None], PatternCall]"
# The names in braces for each file: its name without suffix, its name, its folder.
BRACE_NAMES: Final = ("stem", "name", "dir")
FEED_OPTION: Final = "--feed"  # the option of the inputs of a node

_BRACES: Final = re.compile(r"\{([a-z_-]+)\}")
_WILDCARD: Final = re.compile(r"[*?[]")
# A token of raw elements: type and shape, and the file.
_RAW_TOKEN: Final = re.compile(r"(bin:[^@]*@)(.+)", re.DOTALL)


def settings_of(op: str) -> tuple[str, ...]:
    """Return the keys of an operator's jobs that `--matrix` may set."""
    keys = keys_of(op)
    return (*keys.attrs, "version", "negative", "out_of_range", *keys.types)


class FilePattern(NamedTuple):
    """An input that makes a job for each of its files."""

    name: str  # ``data``
    option: str  # that gives it: ``--data``
    text: str  # a token, or a pattern of files such as ``in/*.npy``


class Patterns(NamedTuple):
    """Jobs that differ in the file of one input and in some settings."""

    op: str  # the command
    files: FilePattern  # the input that differs: the first one, unless a node of a model has it
    # keys with names in braces, such as ``{stem}``: other inputs, output, expect
    templates: Mapping[str, str]
    fixed: Mapping[str, Any]  # keys with the same value in all jobs
    matrix: Mapping[str, Sequence[str]]  # keys with several values; each combination makes a job

    def entries(self) -> Iterator[JobEntry]:
        """Yield the jobs, sorted by file name.

        NoInputError (``missing``) says that no file matches; UsageError that a name in braces is
        unknown, or that several jobs would write the same file.
        """
        matches = _matches(self.files.text, self.files.option)
        first, second = next(matches), next(matches, None)
        self._check_output(several=second is not None)
        for match in itertools.chain([first], [second] if second else [], matches):
            for values in itertools.product(*self.matrix.values()):
                yield self._job(match, dict(zip(self.matrix, values, strict=True)))

    def _check_output(self, *, several: bool) -> None:
        """Raise if several jobs would write one output; `several` is True for several files."""
        output = self.templates.get("output")
        if output is None:
            return
        names_used = {name.replace("-", "_") for name in _BRACES.findall(output)}
        reasons: list[tuple[str, Sequence[str]]] = [
            (f"`--matrix` has {counted(len(values), 'value', exact=True)} of {key}", [key])
            for key, values in self.matrix.items()
            if len(values) > 1
        ]
        if several:
            reasons.insert(0, (f"`{self.files.option}` finds several files", BRACE_NAMES))
        for why, names in reasons:
            if names_used.isdisjoint(names):
                expected = listed("{" + name + "}" for name in names)
                what = f"is `{clean(output)}`, but {why}"
                raise UsageError(
                    what, subject="--output", value=output, expected=expected, remark=" in it"
                )

    def _job(self, match: _Match, settings: dict[str, str]) -> JobEntry:
        names = dict(match.names)
        for key, value in settings.items():
            names[key] = names[key.replace("_", "-")] = value
        job: dict[str, Any] = {
            "id": " ".join([match.name, *(f"{key}={value}" for key, value in settings.items())]),
            "op": self.op,
            self.files.name: match.token,
            **{key: _fill(text, names, self._option(key)) for key, text in self.templates.items()},
            **self.fixed,
            **values_of(self.op, settings),
        }
        return JobEntry(f"the job of `{short(clean(job['id']))}`", "", json.dumps(job).encode())

    def _option(self, key: str) -> str:
        """Return the option that gives a template."""
        is_fed = self.files.option == FEED_OPTION and key in keys_of(self.op).inputs
        return FEED_OPTION if is_fed else option_name(key)


def values_of(op: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """Convert settings to values of a job: attributes to integers."""
    attrs = keys_of(op).attrs
    return {key: integer(text) if key in attrs else text for key, text in settings.items()}


def options_of(keys: Iterable[str]) -> str:
    """List the options of `keys` for a message."""
    return listed((f"`{option_name(key)}`" for key in keys), "and")


def literal_note(files: FilePattern) -> str | None:
    """Return a note if a pattern that other files match is the name of a file, which is taken."""
    try:
        _, path, _ = _parts(files.text)
    except GatherError:  # which the jobs report
        return None
    if path is None or not _WILDCARD.search(path) or not os.path.lexists(path):
        return None
    others = [each for each in _files(path) if os.path.normpath(each) != os.path.normpath(path)]
    if not others:
        return None
    match = "matches it as a pattern" if len(others) == 1 else "match it as a pattern"
    number = counted(len(others), "other file")
    what = f"`{files.option} {clean(files.text)}` names a file"
    return f"{what}, the only one that is read; {number} {match}"


class _Match(NamedTuple):
    """A match of the pattern: its name in ids, the token, and the values of `BRACE_NAMES`."""

    name: str
    token: str
    names: dict[str, str]


def _matches(pattern: str, option: str) -> Iterator[_Match]:
    """Yield the files of a pattern; any other token matches itself."""
    before, path, key = _parts(pattern)
    if path is None:
        yield _Match(pattern, pattern, {})
        return
    if is_plain_folder(path) and key is None:
        raise _no_pattern(pattern, path, option)
    whole = path if key is None else f"{path}#{key}"
    wild = _WILDCARD.search(whole)
    # A file name may contain `#`, so try the whole token first.
    paths = _files(whole) if wild and key else []
    if paths:
        key = None
    elif not _WILDCARD.search(path) or os.path.lexists(path):
        yield _Match(pattern, pattern, _names(path, os.path.dirname(path)))
        return
    else:
        paths = _files(path)
    if not paths:
        what = f"is `{clean(pattern)}`, and no file has such a name"
        raise NoInputError(what, rule="missing", subject=option, value=pattern, expected="some")
    root = os.path.dirname(whole[: wild.start() if wild else None])
    for each in paths:
        token = each if key is None else f"{each}#{key}"
        yield _Match(token, f"{before}{token}", _names(each, root))


def _no_pattern(token: str, path: str, option: str) -> NoInputError:
    """Return the error for a folder in place of a pattern."""
    suffixes = [os.path.splitext(name)[1] for name in tensor_files(path)]
    files = os.path.join(path, "*" + max(suffixes, key=suffixes.count, default=".npy"))
    what, expected = f"is `{clean(token)}`, a directory", "a file, or a pattern of files"
    hint = f"`{option} {shell_word(files)}`" if suffixes else None
    return NoInputError(what, subject=option, value=token, expected=expected, hint=hint)


def _files(pattern: str) -> list[str]:
    """Return the files of a pattern, sorted; raise NoInputError if a folder cannot be searched."""
    paths = glob.glob(pattern, recursive=True)
    _check_searched(pattern)
    return sorted(path for path in paths if not is_plain_folder(path))


def _check_searched(pattern: str) -> None:
    """Raise for a folder of a pattern that cannot be read, as `glob` passes over it."""
    while _WILDCARD.search(pattern):
        folder, name = os.path.split(pattern.rstrip("/"))
        folders = glob.glob(f"{folder}/", recursive=True) if _WILDCARD.search(folder) else [folder]
        for each in folders:
            try:
                if _WILDCARD.search(name):
                    os.scandir(each or ".").close()
                else:
                    os.lstat(os.path.join(each, name))
            except PermissionError as error:
                place = each.rstrip("/") or each or "."
                raise_unlisted(OSError(error.errno, error.strerror, place))
            except OSError:  # no such name
                continue
        pattern = folder


def _parts(pattern: str) -> tuple[str, str | None, str | None]:
    """Split a pattern into a prefix, the path (None if it is no file) and the key of a member."""
    if match := _RAW_TOKEN.fullmatch(pattern):
        return match[1], match[2], None
    try:
        path, key, *_ = reference_of(pattern)
    except InputError:  # `[ab]/*.npy` starts like a list
        if not _files(pattern) and not _files(pattern.rpartition("#")[0]):
            raise
        path, key, *_ = reference_of(f"@{pattern}")
    return "@", path, key


def _names(path: str, root: str) -> dict[str, str]:
    folder, name = os.path.split(path)
    inner = os.path.relpath(folder or ".", root or ".")
    return dict(zip(BRACE_NAMES, (os.path.splitext(name)[0], name, inner), strict=True))


def _fill(template: str, names: Mapping[str, str], option: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] in names:
            return names[match[1]]
        expected = listed("{" + name + "}" for name in names) if names else "none"
        is_setting = any(match[1].replace("-", "_") in settings_of(op) for op in FAMILIES)
        hint = "`--matrix` makes names for the settings it tries" if is_setting else None
        what = f"has `{match[0]}`"
        raise UsageError(what, subject=option, value=match[0], expected=expected, hint=hint)

    return _BRACES.sub(value, template)


def check_taken(op: str, keys: Iterable[str], taken: Iterable[str]) -> None:
    """Raise if the option of a key is none of those `taken` by an operator."""
    if foreign := [key for key in keys if key not in taken]:
        what = f"`{option_name(foreign[0])}` is given, which {op} does not take"
        raise UsageError(what, expected=options_of(taken))


def check_settings(
    op: str, settings: Mapping[str, str], matrix: Mapping[str, Sequence[str]]
) -> None:
    """Raise for an invalid value of one of `settings_of` an operator."""
    version = settings.get("version", "")
    if "," in version:
        hint = f"`--matrix version={shell_word(version)}` tries each of them"
        what, name, one = f"is `{clean(version)}`", "--version", "one version"
        raise UsageError(what, rule="version", subject=name, value=version, expected=one, hint=hint)
    tried = ((key, value) for key, values in matrix.items() for value in values)
    keys = keys_of(op)
    for key, value in (*settings.items(), *tried):
        fits, expected = keys.checks[key]
        if key == "version":
            find(value, op)
        elif key in keys.types:
            dtype(value)
        elif not (isinstance(integer(value), int) if key in keys.attrs else fits(value)):
            what = f"`{option_name(key)}` is `{clean(value)}`"
            raise UsageError(what, value=value, expected=expected)


def check_templates(templates: Mapping[str, str], words: str, finder: str) -> None:
    """Raise if an input beside that of the option `finder` is a pattern such as ``idx/*.npy``.

    The `words` before an input have braces for its name: ``--{} `` or ``--feed {}=``.
    """
    for name, text in templates.items():
        if "*" in text and not os.path.lexists(text):
            start = words.format(name if "=" in words else name.replace("_", "-"))
            template = re.sub(r"\*\*/\*|\*+", "{stem}", text, count=1)
            what = f"`{start.rstrip(' =')}` is `{clean(text)}`, but only `{finder}` takes a pattern"
            expected = "one tensor, or a name with {stem}"
            hint = f"`{start}{shell_word(template)}` is a file for each file of `{finder}`"
            raise UsageError(what, value=text, expected=expected, hint=hint)


class PatternCall(NamedTuple):
    """The call of the jobs of a pattern."""

    op: str
    files: FilePattern  # the input that makes the jobs
    feeds: Mapping[str, str]  # tokens and patterns of the inputs, by name
    keys: Callable[[Collection[str]], dict[str, Any]]  # of each job, but for those of options


def fed_reader(word: str, feeds: Sequence[str] | None) -> FedReader | None:
    """Return what reads a word, ``FILE#NAME``, that stands for a call; FILE alone does if fed."""
    path, mark, _ = word.rpartition("#")
    if mark and os.path.lexists(word):
        return None
    for suffix in given_names("patterns"):
        if (mark and path.lower().endswith(suffix)) or (
            feeds is not None and word.lower().endswith(suffix)
        ):
            return cast("FedReader", given("patterns", suffix))
    return None


def matrix_of(op: str, words: Iterable[str], given: Iterable[str] = ()) -> dict[str, list[str]]:
    """Parse the values of `--matrix`; raise UsageError for a wrong or repeated key or value.

    The keys `given` are those of other options.

    >>> matrix_of("gather", ["axis=0,1", "version=openvino-8"])
    {'axis': ['0', '1'], 'version': ['openvino-8']}
    """
    settings = settings_of(op)
    matrix: dict[str, list[str]] = {}
    for word in words:
        name, mark, text = word.partition("=")
        key, values = name.replace("-", "_"), text.split(",")
        twice = key in matrix or len(set(values)) < len(values)
        if not mark or key not in settings or twice or not all(values):
            again = " again" if key in matrix else ""
            near = closest(key, settings)
            what = f"has `{clean(word)}`{again}"
            expected = f"{listed(settings)}, once, with different values, as in `axis=0,1`"
            hint = f"did you mean `{near}`?" if near and near != key else None
            raise UsageError(what, subject="--matrix", value=word, expected=expected, hint=hint)
        matrix[key] = values
    if both := matrix.keys() & {*given}:
        raise UsageError(
            f"`{option_name(min(both))}` is given, and in `--matrix` too", expected="it once"
        )
    return matrix
