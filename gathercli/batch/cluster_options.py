"""The options of a scheduler."""

from __future__ import annotations

from gathercli.cli.command import Options, option
from gathercli.cli.groups import CLUSTER
from gathercli.errors import UsageError
from gathercli.ops import families
from gathercli.text import clean

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from gathercli.batch.scheduler import Address


class ClusterOptions(Options):
    """The address of a dask scheduler, and the files for TLS."""

    scheduler: str | None = option(
        CLUSTER,
        "--scheduler",
        metavar="URL",
        help="Let the workers of this dask scheduler do it, as tcp://host:8786; they must see "
        "the same files. Its protocol loads pickles: use only a scheduler you trust.",
    )
    scheduler_file: str | None = option(
        CLUSTER,
        "--scheduler-file",
        metavar="FILE",
        help="The file that the scheduler writes, in place of its URL.",
    )
    tls_ca_file: str | None = option(
        CLUSTER,
        "--tls-ca-file",
        metavar="FILE",
        help="Speak TLS with the scheduler; the authority that signs it.",
    )
    tls_cert: str | None = option(
        CLUSTER, "--tls-cert", metavar="FILE", help="The certificate to show the scheduler."
    )
    tls_key: str | None = option(
        CLUSTER, "--tls-key", metavar="FILE", help="The key of the certificate."
    )

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group; hidden if workers can do no part of any version of the operator."""
        ops = [op for family in families(command) for op in family.ROWS]
        is_refused = all(any(each.follows for each in op.inputs) for op in ops)
        return cls.hidden() if is_refused else cls

    def address(self) -> Address | None:
        """Return the address of the scheduler; None without one.

        Raises
        ------
        UsageError
            The options conflict, or a required one is missing.
        """
        url, file = self.scheduler, self.scheduler_file
        ca_file, cert = self.tls_ca_file, self.tls_cert
        tls = {"--tls-ca-file": ca_file, "--tls-cert": cert, "--tls-key": self.tls_key}
        used = [name for name, path in tls.items() if path is not None]
        if url is not None and file is not None:
            raise UsageError(
                "is given with `--scheduler`",
                rule="usage",
                subject="--scheduler-file",
                expected="one of them",
            )
        if url is None and file is None:
            if used:
                raise UsageError(
                    f"`{used[0]}` is given without `--scheduler`", rule="usage", expected="both"
                )
            return None
        if used and (ca_file is None or cert is None):
            raise UsageError(
                f"`{used[0]}` is given without `--tls-{'cert' if ca_file else 'ca-file'}`",
                rule="usage",
                expected="both, as either side shows who it is",
            )
        from gathercli.batch.scheduler import URL, Address, check_tls

        if url is not None and not URL.fullmatch(url):
            raise UsageError(
                f"is `{clean(url)}`",
                rule="usage",
                subject="--scheduler",
                value=url,
                expected="tcp://HOST:PORT or tls://HOST:PORT",
                hint="`--scheduler tcp://127.0.0.1:8786`",
            )
        if url is not None:
            check_tls(url, ca_file)
        return Address(url, file, ca_file, cert, self.tls_key)
