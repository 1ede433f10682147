"""The options that name a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.errors import UsageError
from gathercli.text import clean

if TYPE_CHECKING:
    from gathercli.jobs.scheduler import Address


def address_of(
    url: str | None, file: str | None, ca_file: str | None, cert: str | None, key: str | None
) -> Address | None:
    """Read where the scheduler is, if there is one."""
    tls = {"--tls-ca-file": ca_file, "--tls-cert": cert, "--tls-key": key}
    used = [name for name, path in tls.items() if path is not None]
    if url is not None and file is not None:
        raise UsageError(
            "`--scheduler-file` is given with `--scheduler`: expected one of them", rule="usage"
        )
    if url is None and file is None:
        if used:
            raise UsageError(
                f"`{used[0]}` is given without `--scheduler`: expected both", rule="usage"
            )
        return None
    if used and (ca_file is None or cert is None):
        raise UsageError(
            f"`{used[0]}` is given without `--tls-{'cert' if ca_file else 'ca-file'}`: "
            "expected both, as either side shows who it is",
            rule="usage",
        )
    from gathercli.jobs.scheduler import URL, Address

    if url is not None and not URL.fullmatch(url):
        raise UsageError(
            f"`--scheduler` is `{clean(url)}`: expected tcp://HOST:PORT or tls://HOST:PORT",
            rule="usage",
            value=url,
            hint="`--scheduler tcp://127.0.0.1:8786`",
        )
    return Address(url, file, ca_file, cert, key)
