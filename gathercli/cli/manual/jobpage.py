"""gathercli-jobs(5): jobs, the files that hold them, and the report of a batch."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Final

from gathercli.jobs.job import INLINE, REQUIRED, SHAPE, Job
from gathercli.jobs.jobfile import LINES, LONGEST, SUFFIXES
from gathercli.jobs.mistakes import WHOLE
from gathercli.ops import FAMILIES
from gathercli.report.manual import Console, Page, Terms
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = "jobs"

_INPUT: Final = (
    "a tensor argument as text (gathercli-formats(5), but not -), a nested list, a number, or a "
    'typed tensor {"dtype":"int32","shape":[2],"data":[1,2]}; "datatype" is read too'
)
_NOT_OF_FILE: Final = "folder"
"""The field of a job that no key gives."""

MEANINGS: Final[dict[str, str]] = {
    "id": "A name, which no other job of the batch has; it leads the line of the report. Default "
    "where the job stands, as jobs.jsonl:3 for line 3, jobs.json[0] for the first of a list, "
    "job.json for a single one, with the path as it is given; explain --job takes such a name as "
    "it is.",
    "title": "What the job shows.",
    "source": "Where it is from: a specification and its section, a bug.",
    "op": f"{listed([*FAMILIES, SHAPE])}.",
    "of": f"In a shape job the operator, {listed(FAMILIES)}; only there.",
    "version": "As --version takes it, also as a bare integer; GATHERCLI_VERSION has no effect.",
    "data": f"DATA: {_INPUT}. In a shape job a shape, as text or as a list.",
    "indices": "INDICES, written likewise.",
    "axis": "An integer, or a list of one; in a shape job also unknown.",
    "batch_dims": "An integer.",
    "negative": f"{listed(each.value for each in Negative)}, as --negative.",
    "out_of_range": f"{listed(each.value for each in OutOfRange)}, as --out-of-range.",
    "data_dtype": "The type of DATA, as --data-dtype.",
    "indices_dtype": "The type of INDICES, as --indices-dtype.",
    "expect": "What the result should equal, written like DATA and compared as --expect does: the "
    "shape, and every element; the type only where it is written. In a shape job a shape.",
    "expect_error": "The name of the rule that should refuse, or true for any, even for a file "
    "that is missing; not beside expect.",
    "rtol": "The relative tolerance of expect; a shape is compared exactly.",
    "atol": "The absolute tolerance of expect, likewise.",
    "output": "The file to write; its suffix names the format, and its folder is made. Not in a "
    "shape job. Without it the result is in the report.",
}

_FILES: Final = Terms(
    (
        (", ".join(LINES), "One job a line; empty lines are passed over."),
        (".json", "A list of jobs, or a single one."),
        (
            "a folder",
            f"Its files with the suffix {listed(SUFFIXES)}, and those of the folders below, by "
            "name, but for names that start with a dot. All of them are jobs: tensors in JSON, and "
            "the report, lie elsewhere.",
        ),
        ("anything else, and -", "Told by its content."),
    )
)

_PLACES: Final = (
    "Relative paths start at the folder of the file; those of jobs from standard input or --op at "
    "the working folder. Inputs may lie anywhere. An output lies in the folder of its file or "
    "below, links resolved, unless --allow-outside is given; one of --op may lie anywhere.",
)

_WRONG: Final = Terms(
    (
        (
            "a job alone",
            "It is no JSON object; a key is unknown, repeated or missing, or holds what it cannot; "
            "both expect and expect_error are there; the suffix of output names no format that is "
            f"written, or output is a device or a pipe; it has more than {LONGEST >> 20} MiB.",
        ),
        (
            "a version",
            "Nothing answers to it, and expect_error is neither version nor true. The rule is "
            "version; that of all other mistakes is job.",
        ),
        (
            "two jobs",
            "They have one id, or one output; an output is an input of any job, even its own.",
        ),
        (
            "a place",
            "An output lies outside the folder, or is a file of jobs, the report or the JUnit "
            "file.",
        ),
        ("none", "There is no job."),
    )
)

LINE: Final = Terms(
    (
        ("id", "That of the job."),
        ("status", "ok, mismatch or error."),
        ("rule, message", "What refused, and how; null when nothing did."),
        ("operator", "The version that ran, such as openvino.Gather-8."),
        (
            "shape, dtype",
            "Of the result, null where there is none. In a shape job, and with --dry-run, shape "
            "may hold text: unknown dimensions, intervals, symbols.",
        ),
        ("output", "The file, as the job names it."),
        (
            "result",
            'In place of output: {"shape","datatype","data"}, null where nothing ran. At most '
            f"{INLINE >> 20} MiB, or --max-bytes.",
        ),
        ("seconds", "How long it took."),
        (
            "stamp",
            "In a report that is a file: what --resume compares. job is a digest of the text of "
            "the job; inputs gives every file that was read its size and the nanoseconds of its "
            "last writing (of a .zarr folder a number that changes with any of its files), null "
            "for one that was not there; output is the size of the output; --hash adds a digest "
            "of each content.",
        ),
    )
)

STATUSES: Final = Terms(
    (
        (
            "ok",
            "The result, which equals expect if that is there; or the refusal that expect_error "
            "names, whose rule and message are then in the line.",
        ),
        (
            "mismatch",
            "The result differs from expect (the rule is expect), the call is legal although "
            "expect_error is there, or another rule refuses than it names.",
        ),
        ("error", "Anything else; the rule says what, as in gathercli(1)."),
    )
)

_RULES: Final = Terms(
    (
        ("died", "The process that did the job ended, as one does that the system kills."),
        ("timeout", "The job took longer than --timeout."),
    )
)

_RESUME: Final = (
    "--resume does the jobs that are not done. A job is done when the report has a whole line with "
    "its id, whatever the status; the text of the job is the same; each of its inputs has the size "
    "and the time of writing that it had, and what was not there is still not there; and the "
    "output has its size. With --hash contents are compared, not times, which needs a report "
    "written with --hash. --resume-failed also does those that are not ok.",
    "An id that a job has by default changes with the lines before it, and with the path that is "
    "given; a job whose text is no longer that of its id is done again. So jobs that move have ids "
    "of their own.",
    "A line that was cut by the end of a run is no line. Options are not compared: who changes "
    "--max-bytes or --retries and wants all of it again begins a new report. When a run comes to "
    "its end the report has one line for each job, in their order.",
)

EXAMPLES: Final = """\
$ echo '{"id":"a","op":"gather","data":[5],"indices":[0]}' | gathercli batch - -q | cut -d, -f 1-2
{"id":"a","status":"ok"
$ echo '{"id":"b","op":"gather","data":[5],"indices":[0],"expect":[6]}' | \
gathercli batch - -q | cut -d, -f 1-3
{"id":"b","status":"mismatch","rule":"expect"
$ echo '{"id":"c","op":"gather","version":7,"data":[1],"indices":[5],"axis":0,\
"expect_error":"index-range"}' | gathercli batch - -q | cut -d, -f 1-3
{"id":"c","status":"ok","rule":"index-range"
$ echo '{"id":"d","op":"shape","of":"gather","data":"[N,3]","indices":"[K]","axis":1}' | \
gathercli batch - -q | grep -o '"shape.*]'
"shape":["N","K"]"""


def page() -> Page:
    """Make the page."""
    return Page(
        f"gathercli-{NAME}",
        "jobs, the files that hold them, and the report of a batch",
        (
            (
                "DESCRIPTION",
                (
                    "A job is a call written down as a JSON object, with the answer or the refusal "
                    "it should give. gathercli batch does jobs and reports on each, explain --job "
                    "draws one.",
                ),
            ),
            (
                "KEYS OF A JOB",
                (f"{listed(_required(), 'and')} must be there.", Terms(tuple(_keys()))),
            ),
            ("FILES OF JOBS", (_FILES, *_PLACES)),
            (
                "WHAT IS WRONG AS A WHOLE",
                (
                    "All jobs are looked at before the first is done. If something is wrong "
                    "nothing is done, the message names the file, the place in it and the key, and "
                    f"the status is 65. The first {WHOLE} mistakes are said whole, the others by "
                    "rule and place; --json-errors has them as others and rest.",
                    _WRONG,
                ),
            ),
            (
                "REPORT",
                ("A JSON object for each job, a line each, in the order of the jobs.", LINE),
            ),
            ("STATUSES OF A JOB", (STATUSES, "Two rules are of a batch alone:", _RULES)),
            ("WHAT IS DONE", _RESUME),
            ("EXAMPLES", (Console(EXAMPLES),)),
            ("SEE ALSO", ("gathercli-batch(1), gathercli-explain(1), gathercli-formats(5)",)),
        ),
        number=5,
    )


def _required() -> list[str]:
    return [key for key in REQUIRED if key != "of"]


def _keys() -> Iterator[tuple[str, str]]:
    """Describe the keys in the order of a job's fields, each with its default."""
    for each in fields(Job):
        if each.name == _NOT_OF_FILE:
            continue
        known = f" Default {each.default}." if each.default not in (MISSING, None, "") else ""
        yield each.name, MEANINGS[each.name] + known
