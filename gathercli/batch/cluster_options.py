"""The options of a scheduler."""

from __future__ import annotations

from gathercli.cli.declarations import CLUSTER, Options, option
from gathercli.errors import UsageError
from gathercli.io.files import new_name
from gathercli.io.formats.table import is_chunked
from gathercli.ops import accepted_families
from gathercli.records import partial, suppress
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gathercli.batch.cluster import Address
    from gathercli.cli.call import OpenCall
    from gathercli.cli.messages import Messages
    from gathercli.cli.options import Limits
    from gathercli.cli.output import OutputOptions
    from gathercli.io.zarr.created import BoxWorkers
    from gathercli.spec.op import Op


_file = partial(option, CLUSTER, metavar="FILE", rare=True)


class ClusterOptions(Options):
    """The address of a dask scheduler, and the files for TLS."""

    scheduler: str | None = option(CLUSTER, "--scheduler", metavar="URL", rare=True)
    scheduler_file: str | None = _file("--scheduler-file")
    tls_ca_file: str | None = _file("--tls-ca-file")
    tls_cert: str | None = _file("--tls-cert")
    tls_key: str | None = _file("--tls-key")

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group; hidden if workers can do no part of any version of the operator."""
        ops = [op for family in accepted_families(command) for op in family.ROWS]
        is_refused = all(any(each.follows for each in op.inputs) for op in ops)
        return cls.replaced(hidden=True) if is_refused else cls

    def address(self) -> Address | None:
        """Return the address of the scheduler, or None; raise UsageError if options conflict."""
        url, file = self.scheduler, self.scheduler_file
        ca_file, cert = self.tls_ca_file, self.tls_cert
        tls = {"--tls-ca-file": ca_file, "--tls-cert": cert, "--tls-key": self.tls_key}
        used = [name for name, path in tls.items() if path is not None]
        if url is not None and file is not None:
            subject = "--scheduler-file"
            raise UsageError("is given with `--scheduler`", subject=subject, expected="one of them")
        if url is None and file is None:
            if used:
                raise UsageError(f"`{used[0]}` is given without `--scheduler`", expected="both")
            return None
        if used and (ca_file is None or cert is None):
            what = f"`{used[0]}` is given without `--tls-{'cert' if ca_file else 'ca-file'}`"
            raise UsageError(what, expected="both, as either side shows who it is")
        from gathercli.batch.cluster import Address, check_url

        if url is not None:
            check_url(url, ca_file)
        return Address(url, file, ca_file, cert, self.tls_key)


class ChunkClusterOptions(ClusterOptions):
    """The options of a scheduler whose workers make the chunks of an output, as `WorkerOptions`."""

    @property
    def are_used(self) -> bool:
        """Whether a scheduler is named."""
        return self.address() is not None

    def check(self, op: Op, output: OutputOptions, threads: int | None, *tokens: str) -> None:
        """Raise `UsageError` if options conflict, or the workers cannot do their part of a call."""
        if not self.are_used:
            return
        from gathercli.io.source import reference_of

        hint = "`gathercli batch`, of whose jobs each worker does some"
        if op.followed:
            steps = f"{op} follows `{op.followed.name}` through all steps"
            what = f"is given, and {steps}, so that no worker can do a part"
            raise UsageError(what, subject="--scheduler", expected="a run without it", hint=hint)
        if output.path is None or not is_chunked(output.chosen_format):
            what = "is given, and the output is not in chunks, of which each worker makes some"
            hint = f"`-o {new_name('out', '.zarr')}`; or {hint}"
            raise UsageError(what, subject="--scheduler", expected="a .zarr output", hint=hint)
        if threads is not None:
            what = "is given with a scheduler, whose workers have theirs"
            hint = "`dask worker --nthreads N` decides how many parts it makes at a time"
            raise UsageError(what, subject="--threads", expected="one of them", hint=hint)
        from gathercli.io.write import is_stream

        for token in tokens:
            path = reference_of(token).path
            if path is not None and (path == "-" or is_stream(path)):
                what = f"`{clean(path)}` is given with `--scheduler`, whose workers cannot read it"
                raise UsageError(what, value=path, expected="a file that they see")

    def connect(
        self, call: OpenCall, limits: Limits, messages: Messages
    ) -> AbstractContextManager[BoxWorkers | None]:
        """Connect to the workers of the scheduler."""
        if (address := self.address()) is None:
            return suppress()  # nothing
        from gathercli.batch.cluster import chunk_workers

        return chunk_workers(call.job(), address, limits, messages)
