"""The options of the output, and the functions that write it."""

from __future__ import annotations

import os

from gathercli.cli.declarations import OUTPUT, Options, flag, option
from gathercli.cli.options import NO_CLOBBER, PRECISION, MemoryOptions
from gathercli.errors import UsageError
from gathercli.io import save
from gathercli.io.descriptors import STDOUT
from gathercli.io.files import new_name
from gathercli.io.formats.table import BY_SUFFIX, FORMATS, is_chunked, load, names_chunks
from gathercli.io.stream import ByteTarget, Stream
from gathercli.io.write import CheckedStream, Output, check_room, is_stream, real_path
from gathercli.ops import accepted_families
from gathercli.records import Any, Callable, Final, Iterable, Iterator, Sequence, partial
from gathercli.report.terminal import is_terminal, rendered, wants_color, width_of
from gathercli.spec.call import Call, as_integer
from gathercli.spec.shapes import Shape, product
from gathercli.text import clean, listed

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.cli.messages import Messages
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.run import GatherOutput
    from gathercli.compute.tensor import Result, Tensor
    from gathercli.io.formats.npy import NamedResult
    from gathercli.io.source import Inputs
    from gathercli.io.zarr.created import BoxWorkers, Creation
    from gathercli.spec.adjustments import Adjustment


# Elements of a result that is worth a look at the disk before the indices are read.
_MANY_ELEMENTS: Final = 1 << 20


class ViewOptions(Options):
    """Options of the pretty view."""

    full: bool = flag(OUTPUT, "--full")
    precision: int = PRECISION


class WriteOptions(Options):
    """Options of writing any result."""

    chunks: str | None = option(
        OUTPUT,
        "--chunks",
        metavar="SIZES",
        help="Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data.",
        rare=True,
    )
    force_format: bool = flag(OUTPUT, "--force-format", rare=True)
    no_clobber: bool = NO_CLOBBER
    fsync: bool = flag(OUTPUT, "--fsync", rare=True)
    nonfinite: str = option(
        OUTPUT,
        "--nonfinite",
        metavar="WAY",
        choices=("quoted", "bare", "null", "error"),
        default="quoted",
        rare=True,
    )
    chunk_sizes: tuple[int, ...] | None = None  # those of `chunks`, once they are checked

    def check_chunks(self, output: str | None, fmt: str) -> None:
        """Parse the sizes of the chunks of an output; the format ``auto`` means its suffix."""
        text = self.chunks
        if text is None:
            return
        if not (names_chunks(output or "") if fmt == "auto" else is_chunked(fmt)):
            found = clean(output or "stdout") if fmt == "auto" else fmt
            what = f"is given, and the output is {found}"
            raise UsageError(what, subject="--chunks", value=text, expected="a .zarr output")
        import re

        if not re.fullmatch(r"[1-9]\d{0,17}(,[1-9]\d{0,17}){0,63},?|", text, re.ASCII):
            what = f"is `{clean(text)}`"
            expected = "sizes from 1 on"
            hint = "`--chunks 64,1024`, one for each dimension of the output"
            raise UsageError(what, subject="--chunks", value=text, expected=expected, hint=hint)
        self.chunk_sizes = tuple(int(size) for size in text.split(",") if size)

    def file(self, path: str, inputs: Inputs | None = None) -> Output:
        """Return a context for an output file, made of `inputs`."""
        return Output(path, inputs, no_clobber=self.no_clobber, fsync=self.fsync)

    def folder(self, path: str, fmt: str, inputs: Inputs | None = None) -> Creation:
        """Return a context for an output folder in a format of chunks, made of `inputs`."""
        return save.creator(fmt)(path, inputs, no_clobber=self.no_clobber, fsync=self.fsync)

    def store(
        self,
        path: str | None,
        fmt: str,
        results: Sequence[NamedResult],
        inputs: Inputs,
        encode: Callable[[ByteTarget], None],
        *,
        way: str = "-o ",
        **chunked: Any,
    ) -> None:
        """Write a file with `encode`, atomically and if there is room; to stdout without a path.

        The single result of a folder of chunks is written with the options `chunked` of
        `Creation.write`. The hint for binary on a terminal has `way` before the name of a file.
        """
        if path is None:
            if save.is_binary(fmt) and is_terminal(STDOUT):
                raise binary_error(fmt, "stdout", way=way)
            encode(CheckedStream(Stream(STDOUT), inputs))
            inputs.recheck()
        elif is_chunked(fmt):
            with self.folder(path, fmt, inputs) as folder:
                folder.write(results[0][1], chunks=self.chunk_sizes, **chunked)
                folder.commit()
        else:
            with self.file(path, inputs) as file:
                file.open(save.least_sum(fmt, results))
                if save.is_binary(fmt) and file.is_terminal:
                    raise binary_error(fmt, f"`{clean(path)}`", way=way)
                encode(file.stream)
                file.commit()


class OutputOptions(WriteOptions):
    """Options of the output: its path, format and size."""

    memory: MemoryOptions
    output: str | None = option(
        OUTPUT,
        "--output",
        "-o",
        metavar="PATH",
        help=f"Write the result here; the suffix picks {listed(BY_SUFFIX)}; - is stdout.",
        once=True,
    )
    fmt: str = option(
        OUTPUT,
        "--format",
        "-f",
        metavar="FORMAT",
        choices=("auto", "pretty", "json", "oip", "npy", "literal"),
        default="auto",
    )
    view: ViewOptions

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group, whose help names the input that a command copies from."""
        name = accepted_families(command)[0].ROWS[0].inputs[0].name
        like = "the data" if name == "data" else name.upper()
        chunks: Any = cls.chunks
        text = chunks.help.replace("the data", like)
        return cls.with_options({"chunks": chunks.replace(help=text)})

    @property
    def path(self) -> str | None:
        """The output file; None for stdout."""
        return None if self.output == "-" else self.output

    @property
    def chosen_format(self) -> str:
        """The format of `-f`, else of the suffix, else the default for stdout."""
        if self.fmt != "auto":
            return self.fmt
        if self.path is not None:
            return save.format_of_output(self.path)
        return "pretty" if is_terminal(STDOUT) else "json"

    @property
    def is_new_file(self) -> bool:
        """Whether the output is a file that gets its name when it is complete."""
        return self.path is not None and not (
            is_stream(self.path) or is_chunked(self.chosen_format)
        )

    @property
    def streams(self) -> bool:
        """Whether the result is written block by block."""
        return self.chosen_format in FORMATS

    @property
    def may_show_progress(self) -> bool:
        """Whether progress may be shown: no blocks of text go to the terminal."""
        return self.path is not None or not (self.streams and is_terminal(STDOUT))

    @property
    def most_bytes(self) -> int | None:
        """The largest result in bytes; None for chunks, which only the disk limits."""
        if is_chunked(self.chosen_format):
            return None
        return self.memory.limits.result if self.streams else self.memory.limits.memory

    def check(self) -> None:
        """Raise, before inputs are read, if options conflict or the output cannot be created."""
        self.check_chunks(self.output, self.fmt)
        explicit = None if self.fmt == "auto" else self.fmt
        save.check_format(self.path, explicit, option="-f", force=self.force_format)
        if self.path is not None and self.fmt == "auto" and names_chunks(self.path):
            self.folder(self.path, save.format_of(self.path))
        elif self.path is not None:
            self.file(self.path)
        fmt = self.chosen_format  # raises if the suffix names no format
        if self.path is None and save.is_binary(fmt) and is_terminal(STDOUT):
            raise binary_error(fmt, "stdout")

    def check_room(self, bound: BoundCall) -> None:
        """Raise if the result is too large, or the disk has no room for it.

        An index is read later: a small file may declare any number of them.
        """
        if self.path is None or is_stream(self.path) or product(bound.shape) < _MANY_ELEMENTS:
            return
        bound.check_size(self.most_bytes)
        in_chunks = is_chunked(self.chosen_format)
        if in_chunks and self.memory.limits.memory is None:
            return
        data = bound.data
        nbytes = product(bound.shape) * data.storage.itemsize
        size = save.least_size(self.chosen_format, data.dtype, bound.shape, nbytes)
        folder = os.path.dirname(real_path(self.path))
        check_room(self.path, folder, size, packs=in_chunks)

    def write(
        self,
        result: GatherOutput,
        inputs: Inputs,
        messages: Messages,
        workers: BoxWorkers | None = None,
    ) -> None:
        """Write a result, atomically to a file."""
        path, fmt = self.path, self.chosen_format
        self.store(
            path,
            fmt,
            [("output", result)],
            inputs,
            partial(self._encode, result, messages),
            memory=self.memory.limits.memory,
            threads=result.threads,
            progress=result.progress,
            workers=workers,
        )
        messages.notes += losses(fmt, result, path)
        if path is not None:
            messages.say(f"wrote {clean(path)}: {result}")

    def _encode(self, result: GatherOutput, messages: Messages, out: ByteTarget) -> None:
        call = result.bound.call
        if self.chosen_format == "pretty":
            text = self._pretty(call, result.whole(), messages.color)
            messages.clear()
            out.write(text.encode(errors="backslashreplace"))
            return
        save.write(
            self.chosen_format,
            [("output", result)],
            out,
            nonfinite=self.nonfinite,
            parameters=_parameters(call, result.adjustments),
            max_bytes=self.memory.limits.memory,
        )

    def _pretty(self, call: Call, tensor: Tensor, when: str) -> str:
        from gathercli.report.grid import layout
        from gathercli.report.header import header

        width = width_of(STDOUT) if self.path is None else None
        view = self.view
        text = header(call, Shape(tensor.shape), width).append("\n")
        text.append_text(layout(tensor, width=width, precision=view.precision, full=view.full))
        color = self.path is None and wants_color(when, STDOUT)
        return rendered(text, color=color or when == "always")


def losses(fmt: str, result: Result, path: str | None, *, option: str = "-f") -> Iterator[str]:
    """Yield notes on what a format, chosen by `option`, does not store of a result."""
    if fmt in FORMATS and FORMATS[fmt].losses:
        yield from load(FORMATS[fmt].losses)(result, path, option)


def binary_error(fmt: str, target: str, *, way: str = "-o ") -> UsageError:
    """Return the error for binary on a terminal; the hint has `way` before the file name."""
    name = new_name("result", FORMATS[fmt].suffix)
    what = f"{fmt} is binary, and {target} is a terminal"
    hint = f"`{way}{name}`{'' if way else ' in its place'} writes a file"
    return UsageError(what, expected="a file or a pipe", hint=hint)


def _parameters(call: Call, adjustments: Iterable[Adjustment]) -> dict[str, Any]:
    """Return the parameters of an inference response: the operator and its attributes."""
    parameters: dict[str, Any] = {"operator": call.op.full_name}
    parameters |= {each.name: as_integer(call.attrs[each.name]) for each in call.op.attrs}
    made = {each.how.replace("-", "_").replace(" ", "_"): each.number for each in adjustments}
    return parameters | call.policies | made
