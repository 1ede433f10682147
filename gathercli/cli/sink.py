"""Where a result goes and how it looks there."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from gathercli.cli.command import Options, option
from gathercli.cli.groups import OUTPUT, VIEW
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.options import Chunks, ForceFormat, NoClobber, Nonfinite, Precision
from gathercli.errors import UsageError
from gathercli.io import save
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, is_chunked, names_chunks
from gathercli.io.write import STDOUT, CheckedStream, Output, Stream, is_stream, new_name
from gathercli.report.terminal import is_terminal, rendered, wants_color, width_of
from gathercli.spec.call import as_integer
from gathercli.spec.dtypes import Kind
from gathercli.text import clean, listed, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.arrays.check import Adjustment
    from gathercli.arrays.result import GatherOutput, Result
    from gathercli.arrays.tensor import Tensor
    from gathercli.cli.limits import Limits
    from gathercli.cli.messages import Messages
    from gathercli.io.chunkwise import Crew
    from gathercli.io.source import Inputs
    from gathercli.io.zarr import Creation
    from gathercli.spec.call import Call


_NO_JSON: Final = "plain JSON cannot carry {}; `{} oip` and npy can"


class ViewOptions(Options):
    """How the pretty view is shown."""

    full: Annotated[bool, option(VIEW, "--full", help="Show every element.")] = False
    precision: Precision = 6


class WriteOptions(Options):
    """What is promised of a file beside its content."""

    no_clobber: NoClobber = False
    fsync: Annotated[
        bool,
        option(OUTPUT, "--fsync", help="Return once the file and its name are on the disk."),
    ] = False

    def output(self, path: str) -> Output:
        """Make the output of this name."""
        return Output(path, no_clobber=self.no_clobber, fsync=self.fsync)

    def creation(self, path: str) -> Creation:
        """Make the output in chunks of this name."""
        from gathercli.io.zarr import Creation

        return Creation(path, no_clobber=self.no_clobber, fsync=self.fsync)


class OutputOptions(Options):
    """Where a result goes, in which format, and how large it may be."""

    memory: MemoryOptions
    output: Annotated[
        str | None,
        option(
            OUTPUT,
            "--output",
            "-o",
            metavar="PATH",
            help=f"Write the result here; the suffix picks {listed(BY_SUFFIX)}; - is stdout.",
        ),
    ] = None
    chunks: Chunks = None
    fmt: Annotated[
        Literal["auto", "pretty", "json", "oip", "npy", "literal"],
        option(
            OUTPUT,
            "--format",
            "-f",
            metavar="FORMAT",
            help="auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal.",
        ),
    ] = "auto"
    force_format: ForceFormat = False
    keeping: WriteOptions
    nonfinite: Nonfinite = "quoted"
    view: ViewOptions

    @property
    def limits(self) -> Limits:
        """How large a result may be, and what is held of it."""
        return self.memory.limits

    @cached_property
    def chunk_sizes(self) -> tuple[int, ...] | None:
        """The sizes of the chunks of a .zarr output; None for those that suit the data."""
        return chunks_of(self.chunks, self.output, self.fmt)

    @property
    def path(self) -> str | None:
        """The file to write; None for stdout."""
        return None if self.output == "-" else self.output

    @property
    def chosen(self) -> str:
        """The format: the one asked for, else the suffix's, else what suits stdout."""
        if self.fmt != "auto":
            return self.fmt
        if self.path is not None:
            return "json" if is_stream(self.path) else save.format_of(self.path)
        return "pretty" if is_terminal(STDOUT) else "json"

    @property
    def streams(self) -> bool:
        """Whether the format is written block by block, never held."""
        return self.chosen in FORMATS

    @property
    def leaves_terminal(self) -> bool:
        """Whether the terminal is free for progress: no text runs over it block by block."""
        return self.path is not None or not (self.streams and is_terminal(STDOUT))

    @property
    def most_bytes(self) -> int | None:
        """How large the result may be; a .zarr output is limited by the disk alone."""
        if is_chunked(self.chosen):
            return None
        return self.limits.result if self.streams else self.limits.memory

    def check(self) -> None:
        """Refuse, before anything is read, what cannot be written.

        Raises
        ------
        UsageError
            An unknown suffix, that of another format, chunks of what has none, or binary for a
            terminal.
        OutputError
            `--no-clobber` and the file exists, or the target cannot be a file.
        """
        _ = self.chunk_sizes
        asked = None if self.fmt == "auto" else self.fmt
        save.check_format(self.path, asked, option="-f", force=self.force_format)
        if self.path is not None:
            in_chunks = self.fmt == "auto" and names_chunks(self.path)
            (self.keeping.creation if in_chunks else self.keeping.output)(self.path)
        chosen = self.chosen  # refuses a suffix that names no format
        if self.path is None and save.is_binary(chosen) and is_terminal(STDOUT):
            raise binary_refused(self.chosen, "stdout")

    def write(
        self,
        result: GatherOutput,
        inputs: Inputs,
        messages: Messages,
        crew: Crew | None = None,
    ) -> None:
        """Write a result; a file gets its name only when all of it is there."""
        call = result.bound.call
        messages.notes += losses(self.chosen, result, self.path)
        if self.path is not None and is_chunked(self.chosen):
            self._write_chunks(self.path, result, inputs, crew)
        else:
            self._write(call, result, inputs, messages)
        if self.path is not None:
            messages.say(f"wrote {clean(self.path)}: {result}")

    def _write_chunks(
        self,
        path: str,
        result: GatherOutput,
        inputs: Inputs,
        crew: Crew | None,
    ) -> None:
        from gathercli.io import chunkwise

        with self.keeping.creation(path) as output:
            chunkwise.write(
                result.source(),
                output,
                self.chunk_sizes,
                held=self.limits.memory,
                threads=result.threads,
                progress=result.progress,
                crew=crew,
            )
            inputs.recheck()
            output.commit()

    def _write(self, call: Call, result: GatherOutput, inputs: Inputs, messages: Messages) -> None:
        if self.path is None:
            self._encode(call, result, messages, CheckedStream(Stream(STDOUT), inputs))
            inputs.recheck()
            return
        with self.keeping.output(self.path) as output:
            output.open(result.nbytes)
            if save.is_binary(self.chosen) and output.is_terminal:
                raise binary_refused(self.chosen, f"`{clean(self.path)}`")
            self._encode(call, result, messages, CheckedStream(output.stream, inputs))
            inputs.recheck()
            output.commit()

    def _encode(
        self,
        call: Call,
        result: GatherOutput,
        messages: Messages,
        out: CheckedStream,
    ) -> None:
        if self.chosen == "pretty":
            text = self._pretty(call, result.whole(), messages.color)
            messages.clear()
            out.write(text.encode(errors="backslashreplace"))
            return
        save.write(
            self.chosen,
            [("output", result)],
            out,
            nonfinite=self.nonfinite,
            parameters=_parameters(call, result.adjustments),
            max_bytes=self.limits.memory,
        )

    def _pretty(self, call: Call, tensor: Tensor, when: str) -> str:
        from gathercli.report.grid import layout
        from gathercli.report.header import header
        from gathercli.spec.shapes import Shape

        width = width_of(STDOUT) if self.path is None else None
        view = self.view
        text = header(call, Shape(tensor.shape), width).append("\n")
        text.append_text(layout(tensor, width=width, precision=view.precision, full=view.full))
        color = self.path is None and wants_color(when, STDOUT)
        return rendered(text, color=color or when == "always")


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
    if not (names_chunks(output or "") if fmt == "auto" else is_chunked(fmt)):
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


def losses(fmt: str, result: Result, path: str | None, *, option: str = "-f") -> Iterator[str]:
    """Say what a format does not keep of a tensor, and how it is read back.

    Parameters
    ----------
    option
        The one that names a format.
    """
    sizes = ",".join(map(str, result.shape))
    if fmt == "json" and result.dtype.kind is Kind.COMPLEX:
        yield _NO_JSON.format("complex numbers, written as [re, im]", option)
    elif fmt == "json" and 0 in result.shape[:-1]:
        yield _NO_JSON.format(f"the shape [{sizes}]", option)
    if fmt in ("npy", "npz") and result.dtype.opaque:
        name, size = result.dtype, ("a byte", "two bytes")[result.dtype.itemsize - 1]
        yield (
            f"{name} is written as <V{name.itemsize}, which numpy reads as {size} an element; "
            f"`--data-dtype {name}` reads it here"
        )
    if fmt == "bin":
        sizes = "x".join((*map(str, result.shape), result.dtype.short))
        token = shell_word(f"bin:{sizes}@{path or '-'}")
        yield f"raw bytes carry neither type nor shape; `{token}` reads them"


def binary_refused(fmt: str, target: str, *, way: str = "-o ") -> UsageError:
    """Refuse binary where a person reads; `way` stands before the name of a file."""
    name = new_name("result", FORMATS[fmt].suffix)
    return UsageError(
        f"{fmt} is binary, and {target} is a terminal: expected a file or a pipe",
        rule="usage",
        hint=f"`{way}{name}`{'' if way else ' in its place'} writes a file",
    )


def _parameters(call: Call, adjustments: Iterable[Adjustment]) -> dict[str, Any]:
    """Say in an inference response what made the output."""
    found: dict[str, Any] = {"operator": call.op.full_name}
    found |= {each.name: as_integer(call.attrs[each.name]) for each in call.op.attrs}
    for name, value in (("negative", call.negative), ("out_of_range", call.out_of_range)):
        if value.value != "spec":
            found[name] = value.value
    return found | {
        each.how.replace("-", "_").replace(" ", "_"): each.number for each in adjustments
    }
