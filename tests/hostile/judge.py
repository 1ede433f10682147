"""What must be true of every run, whatever it was given."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any, Final

from gathercli.ops import OPERATORS

if TYPE_CHECKING:
    from tests.hostile.case import Case

FIELDS: Final = [
    "error",
    "status",
    "rule",
    "operator",
    "version_from",
    "data",
    "indices",
    "where",
    "value",
    "expected",
    "count",
    "hint",
]
"""The members of an error in JSON, in their order."""

INPUTS: Final = {each.name for op in OPERATORS for each in op.inputs}
"""The inputs of the call, which an error names too."""
LONGEST: Final = 2100
"""Characters of a line that are still read by people."""

UNSEEN: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What a terminal acts on, or a person does not see; a line break ends a line."""

COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
"""What the program itself sends to colour its words."""

NOTE: Final = r"(?:note: [^\n]+\n)*"
REFUSAL: Final = re.compile(
    rf"{NOTE}error: [^\n]+\n(?:  [^\n]+\n)?(?:hint: [^\n]+\n)?(?:rule: (?P<rule>[a-z-]+)\n)?"
)
INSIDE: Final = re.compile(r"object at 0x[0-9a-f]+|Traceback|a bug in gathercli|\.py\", line")
"""What only a programmer understands."""

SMALL: Final = 1 << 24


def snapshot() -> dict[str, tuple[Any, ...]]:
    """Describe everything in the working folder: kinds, sizes, times, bytes."""
    found: dict[str, tuple[Any, ...]] = {}
    for folder, folders, names in os.walk("."):
        for name in folders + names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            held: object = None
            if stat.S_ISLNK(status.st_mode):
                held = os.readlink(path)
            elif stat.S_ISREG(status.st_mode) and status.st_size < SMALL:
                with open(path, "rb") as file:
                    held = file.read()
            times = () if stat.S_ISDIR(status.st_mode) else (status.st_size, status.st_mtime_ns)
            found[path] = (status.st_mode, status.st_ino, times, held)
    return found


def assert_one_refusal(err: str, status: int, rule: str | None) -> None:
    """Check that stderr is one message in the form of its status, and fit to be shown."""
    found = REFUSAL.fullmatch(err)
    assert found, err[:1000]
    assert found["rule"] == (None if rule == "usage" else rule)
    assert err.startswith("error: ") or status == 1
    assert all(len(line) <= LONGEST for line in err.splitlines())
    assert_fit(err)


def assert_fit(text: str) -> None:
    """Check that a text holds nothing that a terminal acts on, nor the insides of the program."""
    unseen = UNSEEN.search(text)
    assert not unseen, f"{unseen[0]!r} goes to the terminal"
    inside = INSIDE.search(text)
    assert not inside, f"{inside[0]!r} is no message"


def assert_as_expected(case: Case, status: int, out: str, err: str) -> None:
    """Check a run in text."""
    assert status == case.status, err[:1000]
    assert out == case.out
    assert_fit(out)
    if case.rule is None:
        assert re.fullmatch(NOTE, err)
        assert_fit(err)
    else:
        assert_one_refusal(err, case.status, case.rule)
    for word in case.words:
        assert word in err
    for word in case.absent:
        assert word not in err


def assert_as_expected_in_json(case: Case, status: int, out: str, err: str) -> None:
    """Check a run with `--json-errors`."""
    assert status == case.status
    assert out == case.out
    if case.rule is None:
        return
    assert err.isascii()
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert len(err) < 10 * LONGEST
    fields = json.loads(err, parse_constant=no_json)
    assert fields.keys() - INPUTS == {*FIELDS} - INPUTS
    assert (fields["status"], fields["rule"]) == (case.status, case.rule)
    assert fields["error"]


def no_json(word: str) -> None:
    """Refuse NaN and Infinity, which are no JSON."""
    raise AssertionError(f"{word} is no JSON")
