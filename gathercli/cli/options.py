"""The arguments and options of the commands, each declared once."""

import re
from typing import Annotated, Literal

import typer

from gathercli.cli.groups import CLUSTER, INPUT, MESSAGES, OPERATOR, OUTPUT, VIEW
from gathercli.errors import UsageError
from gathercli.io.formats.table import ARGUMENTS, BY_SUFFIX
from gathercli.spec.dtypes import DType, dtype
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import clean, listed

TENSOR_HELP = (
    f"A file ({', '.join(ARGUMENTS)}), a literal ('[[0,1],[2,3]]', 2x3xi32=0, 0,0,4), a generator "
    "(arange:2x5xf32), or - for standard input."
)

OpName = Annotated[
    str, typer.Argument(metavar="OP", help="gather or gather-elements.", show_default=False)
]
Data = Annotated[str, typer.Argument(metavar="DATA", help=TENSOR_HELP, show_default=False)]
Indices = Annotated[
    str,
    typer.Argument(metavar="INDICES", help="Integers, given in the same ways.", show_default=False),
]

Axis = Annotated[
    str | None,
    typer.Option(
        "--axis",
        "-a",
        metavar="INT",
        help="The dimension of DATA to gather along; negative counts from the end. Default 0, "
        "but required by OpenVINO's GatherElements; in shape also unknown.",
        show_default=False,
        rich_help_panel=OPERATOR,
    ),
]
BatchDims = Annotated[
    str,
    typer.Option(
        "--batch-dims",
        "-b",
        metavar="INT",
        help="Leading dimensions that are batches (OpenVINO 7 and 8); default 0.",
        show_default=False,
        rich_help_panel=OPERATOR,
    ),
]
Version = Annotated[
    str | None,
    typer.Option(
        "--version",
        "-V",
        metavar="VERSION",
        help="The operator version, such as openvino-8, onnx-13, onnx (its newest), 'opset 17' or "
        "openvino.Gather-8; default GATHERCLI_VERSION, else OpenVINO's newest. `gathercli ops` "
        "lists them.",
        show_default=False,
        rich_help_panel=OPERATOR,
    ),
]
NegativeChoice = Annotated[
    Negative,
    typer.Option(
        "--negative",
        metavar="POLICY",
        help="A negative index: spec (as the version says), wrap (counted from the end, once) or "
        "error.",
        show_default=False,
        rich_help_panel=OPERATOR,
    ),
]
OutOfRangeChoice = Annotated[
    OutOfRange,
    typer.Option(
        "--out-of-range",
        metavar="POLICY",
        help="An index outside the axis: spec (as the version says), error, zero, clamp or wrap "
        "(modulo the size).",
        show_default=False,
        rich_help_panel=OPERATOR,
    ),
]

DataDtype = Annotated[
    str | None,
    typer.Option(
        "--data-dtype",
        metavar="DTYPE",
        help="The type of untyped DATA (float32, bf16…); typed DATA must convert without loss.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
IndicesDtype = Annotated[
    str | None,
    typer.Option(
        "--indices-dtype",
        metavar="DTYPE",
        help="The type of untyped INDICES; typed INDICES must convert without loss.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
SourceDtype = Annotated[
    str | None,
    typer.Option(
        "--data-dtype",
        metavar="DTYPE",
        help="The type of untyped tensors: plain JSON, bare lists, bfloat16 or float8 in .npy.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
MaxBytes = Annotated[
    str | None,
    typer.Option(
        "--max-bytes",
        metavar="SIZE",
        help="Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, "
        "Ki, Mi or Gi; 0 lifts it. Default half of the free memory, 16 GiB for the result.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        "-j",
        metavar="N",
        min=1,
        help="How many threads work on large tensors; default as many as there are cores.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]

OutputPath = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help=f"Write the result here; the suffix picks {listed(BY_SUFFIX)}; - is stdout.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Format = Annotated[
    Literal["auto", "pretty", "json", "oip", "npy", "literal"],
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
ForceFormat = Annotated[
    bool,
    typer.Option(
        "--force-format",
        help="Write the format of --format even if the suffix of the file stands for another.",
        rich_help_panel=OUTPUT,
    ),
]
TextFormat = Annotated[
    Literal["auto", "pretty", "json"],
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="auto (pretty on a terminal, plain text elsewhere), pretty or json.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
EveryIndex = Annotated[
    bool,
    typer.Option("--all", help="List every illegal index.", rich_help_panel=OUTPUT),
]
AllowFill = Annotated[
    bool,
    typer.Option(
        "--allow-fill",
        help="Exit 0 where indices are filled with zeros, 1 only where they are refused.",
        rich_help_panel=OUTPUT,
    ),
]
Versions = Annotated[
    str | None,
    typer.Option(
        "--ops",
        metavar="LIST",
        help="Only these, with commas between: commands (gather), versions (onnx-13), full names "
        "(openvino.Gather-8).",
        show_default=False,
        rich_help_panel=OPERATOR,
    ),
]
NoClobber = Annotated[
    bool,
    typer.Option("--no-clobber", help="Do not replace an existing file.", rich_help_panel=OUTPUT),
]
Chunks = Annotated[
    str | None,
    typer.Option(
        "--chunks",
        metavar="SIZES",
        help="Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="URL",
        help="Let the workers of this dask scheduler do it, as tcp://host:8786; they must see the "
        "same files. Its protocol loads pickles: use only a scheduler you trust.",
        show_default=False,
        rich_help_panel=CLUSTER,
    ),
]
SchedulerFile = Annotated[
    str | None,
    typer.Option(
        "--scheduler-file",
        metavar="FILE",
        help="The file that the scheduler writes, in place of its URL.",
        show_default=False,
        rich_help_panel=CLUSTER,
    ),
]
CaFile = Annotated[
    str | None,
    typer.Option(
        "--tls-ca-file",
        metavar="FILE",
        help="Speak TLS with the scheduler; the authority that signs it.",
        show_default=False,
        rich_help_panel=CLUSTER,
    ),
]
Certificate = Annotated[
    str | None,
    typer.Option(
        "--tls-cert",
        metavar="FILE",
        help="The certificate to show the scheduler.",
        show_default=False,
        rich_help_panel=CLUSTER,
    ),
]
CertificateKey = Annotated[
    str | None,
    typer.Option(
        "--tls-key",
        metavar="FILE",
        help="The key of the certificate.",
        show_default=False,
        rich_help_panel=CLUSTER,
    ),
]
Fsync = Annotated[
    bool,
    typer.Option(
        "--fsync",
        help="Return once the file and its name are on the disk.",
        rich_help_panel=OUTPUT,
    ),
]
Nonfinite = Annotated[
    Literal["quoted", "bare", "null", "error"],
    typer.Option(
        "--nonfinite",
        metavar="WAY",
        help='NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error.',
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="TENSOR",
        help="Compare the result with this tensor; exit 1 where they differ.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Rtol = Annotated[
    float,
    typer.Option(
        "--rtol",
        metavar="FLOAT",
        min=0,
        help="Relative tolerance of --expect; default 0.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Atol = Annotated[
    float,
    typer.Option(
        "--atol",
        metavar="FLOAT",
        min=0,
        help="Absolute tolerance of --expect; default 0.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]

Full = Annotated[bool, typer.Option("--full", help="Show every element.", rich_help_panel=VIEW)]
Precision = Annotated[
    int,
    typer.Option(
        "--precision",
        metavar="N",
        min=1,
        max=17,
        help="Significant digits of shown floats, 1 to 17; default 6.",
        show_default=False,
        rich_help_panel=VIEW,
    ),
]
Color = Annotated[
    Literal["auto", "always", "never"],
    typer.Option(
        "--color",
        metavar="WHEN",
        help="auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never.",
        show_default=False,
        rich_help_panel=VIEW,
    ),
]

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no notes.", rich_help_panel=MESSAGES)
]
JsonErrors = Annotated[
    bool,
    typer.Option(
        "--json-errors",
        help="Print a refusal as one line of JSON.",
        rich_help_panel=MESSAGES,
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of a failure.", rich_help_panel=MESSAGES),
]


def chunks_of(text: str | None, output: str | None, fmt: str) -> tuple[int, ...] | None:
    """Read the sizes of chunks, if they were given.

    Parameters
    ----------
    output, fmt
        The name of the output, and its format; ``auto`` where the name tells it.

    Raises
    ------
    UsageError
        ``usage``: they are no sizes, or `output` is not stored in chunks.
    """
    if text is None:
        return None
    from gathercli.io.save import is_zarr

    if fmt not in ("auto", "zarr") or (fmt == "auto" and not is_zarr(output or "")):
        raise UsageError(
            "`--chunks` is given, and the output is "
            f"{clean(output or 'stdout') if fmt == 'auto' else fmt}: expected a .zarr output",
            rule="usage",
            value=text,
        )
    if not re.fullmatch(r"[1-9]\d{0,17}(,[1-9]\d{0,17}){0,63},?|", text, re.ASCII):
        raise UsageError(
            f"`--chunks` is `{clean(text)}`: expected sizes from 1 on",
            rule="usage",
            value=text,
            hint="`--chunks 64,1024`, one for each dimension of the output",
        )
    return tuple(int(size) for size in text.split(",") if size)


def type_of(name: str | None) -> DType | None:
    """Find the type that an option names, if it was given.

    Raises
    ------
    UsageError
        ``dtype``: no type has this name.
    """
    return None if name is None else dtype(name)
