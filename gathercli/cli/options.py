"""Arguments and options that several commands or groups have, each declared once."""

from __future__ import annotations

from gathercli.cli.command import Options, flag, option
from gathercli.cli.groups import INPUT, OUTPUT, VIEW
from gathercli.errors import UsageError
from gathercli.io.formats.table import ARGUMENTS
from gathercli.spec.dtypes import DType, dtype

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Any, Final

    from gathercli.compute.compare import Tolerance

TENSOR_HELP = (
    f"A file ({', '.join(ARGUMENTS)}), a literal ('[[0,1],[2,3]]', 2x3xi32=0, 0,0,4), a generator "
    "(arange:2x5xf32), or - for standard input."
)

SOURCE_DTYPE: Final = option(
    INPUT,
    "--data-dtype",
    metavar="DTYPE",
    help="The type of untyped tensors: plain JSON, bare lists, bfloat16 or float8 in .npy.",
)
EXTERNAL_DATA: Final = flag(
    INPUT,
    "--external-data",
    help="Read tensors that an ONNX model keeps in regular files beside it.",
    rare=True,
)
TEXT_FORMAT: Final = option(
    OUTPUT,
    "--format",
    "-f",
    metavar="FORMAT",
    choices=("auto", "pretty", "json"),
    default="auto",
    help="auto (pretty on a terminal, plain text elsewhere), pretty or json.",
)
FORCE_FORMAT: Final = flag(
    OUTPUT,
    "--force-format",
    help="Write the format of --format even if the suffix of the file stands for another.",
    rare=True,
)
CHUNKS: Final = option(
    OUTPUT,
    "--chunks",
    metavar="SIZES",
    help="Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data.",
    rare=True,
)
NONFINITE: Final = option(
    OUTPUT,
    "--nonfinite",
    metavar="WAY",
    choices=("quoted", "bare", "null", "error"),
    default="quoted",
    help='NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error.',
    rare=True,
)
NO_CLOBBER: Final = flag(OUTPUT, "--no-clobber", help="Do not replace an existing file.", rare=True)
THREADS: Final = option(
    OUTPUT,
    "--threads",
    "-j",
    metavar="N",
    min=1,
    kind=int,
    help="How many threads work on large tensors; default as many as there are cores.",
    rare=True,
)
PRECISION: Final = option(
    VIEW,
    "--precision",
    metavar="N",
    min=1,
    max=17,
    kind=int,
    default=6,
    help="Significant digits of shown floats, 1 to 17; default 6.",
    rare=True,
)


def tolerance(name: str, meaning: str) -> Any:
    """Declare the option of a tolerance."""
    return option(
        OUTPUT,
        name,
        metavar="FLOAT",
        min=0,
        kind=float,
        default=0.0,
        help=f"{meaning}; default 0.",
        rare=True,
    )


class ToleranceOptions(Options):
    """The tolerances of `--expect`."""

    rtol: float = tolerance("--rtol", "Relative tolerance of --expect")
    atol: float = tolerance("--atol", "Absolute tolerance of --expect")

    def check(self) -> None:
        """Raise `UsageError` if a tolerance is not finite."""
        for name, tolerance in (("rtol", self.rtol), ("atol", self.atol)):
            if not tolerance < float("inf"):  # nor for NaN
                raise UsageError(
                    f"`--{name}` is {tolerance}",
                    rule="usage",
                    value=str(tolerance),
                    expected="a number from 0 on",
                )

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance."""
        from gathercli.compute.compare import Tolerance

        return Tolerance(self.rtol, self.atol)


def type_of(name: str | None) -> DType | None:
    """Return the type that an option names; None if it was not typed.

    Raises
    ------
    UsageError
        ``dtype``: no type has this name.
    """
    return None if name is None else dtype(name)
