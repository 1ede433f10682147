"""The arguments and options that only `batch` has, each declared once."""

from typing import Annotated

import typer

from gathercli.cli.groups import NO_FILE, REPORT, RUNNING

Jobs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="JOBS...",
        help="Files of jobs (.jsonl with one a line, .json with a list or a single one), folders "
        "of such files, or - for standard input.",
        show_default=False,
    ),
]
Op = Annotated[
    str | None,
    typer.Option(
        "--op",
        metavar="OP",
        help="The operator, gather or gather-elements, of jobs that are made of --data and what is "
        "below.",
        show_default=False,
        rich_help_panel=NO_FILE,
    ),
]
DataPattern = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="PATTERN",
        help="The files that are the data, as 'in/*.npy' or 'in/**/*.npy'; or one tensor.",
        show_default=False,
        rich_help_panel=NO_FILE,
    ),
]
IndicesPattern = Annotated[
    str | None,
    typer.Option(
        "--indices",
        metavar="PATTERN",
        help="The indices of each: a tensor, or 'idx/{stem}.npy'; {name} has the suffix too, {dir} "
        "is the folder below the first *.",
        show_default=False,
        rich_help_panel=NO_FILE,
    ),
]
OutputPattern = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATTERN",
        help="The files to write, as 'out/{stem}.npy'; their folders are made.",
        show_default=False,
        rich_help_panel=NO_FILE,
    ),
]
ExpectPattern = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="PATTERN",
        help="What the results should equal, as 'want/{stem}.npy'.",
        show_default=False,
        rich_help_panel=NO_FILE,
    ),
]
Matrix = Annotated[
    list[str] | None,
    typer.Option(
        "--matrix",
        metavar="KEY=A,B...",
        help="Try every combination, as --matrix axis=0,1 version=openvino-8,onnx-13; {axis} and "
        "{version} then stand for the values.",
        show_default=False,
        rich_help_panel=NO_FILE,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Validate all jobs and infer their shapes from headers; run and write nothing.",
        rich_help_panel=RUNNING,
    ),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        help="Let jobs of a file write outside its folder.",
        rich_help_panel=RUNNING,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "-j",
        metavar="N",
        min=1,
        help="How many processes do jobs; default as many as there are cores.",
        show_default=False,
        rich_help_panel=RUNNING,
    ),
]
FailFast = Annotated[
    bool,
    typer.Option("--fail-fast", help="Begin no job after one has failed.", rich_help_panel=RUNNING),
]
MaxFailures = Annotated[
    str | None,
    typer.Option(
        "--max-failures",
        metavar="N|P%",
        help="Begin no job after more than N, or P percent of all, have failed.",
        show_default=False,
        rich_help_panel=RUNNING,
    ),
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries",
        metavar="N",
        min=0,
        max=100,
        help="Do a job up to N times again after a fault of reading or writing; default 0.",
        show_default=False,
        rich_help_panel=RUNNING,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="S",
        help="Seconds a job may take; after that it has failed.",
        show_default=False,
        rich_help_panel=RUNNING,
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write the lines of report here as jobs end, not to stdout; usable after a kill.",
        show_default=False,
        rich_help_panel=REPORT,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Do what the report does not have yet, or what has changed since.",
        rich_help_panel=REPORT,
    ),
]
ResumeFailed = Annotated[
    bool,
    typer.Option(
        "--resume-failed", help="Resume, and also do what has failed.", rich_help_panel=REPORT
    ),
]
Hash = Annotated[
    bool,
    typer.Option(
        "--hash",
        help="Note the content of files in the report and compare it, not their times.",
        rich_help_panel=REPORT,
    ),
]
Junit = Annotated[
    str | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Also write the report as JUnit XML.",
        show_default=False,
        rich_help_panel=REPORT,
    ),
]
