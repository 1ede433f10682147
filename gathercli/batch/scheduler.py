"""The address of a dask scheduler, and a connection to it."""

from __future__ import annotations

import asyncio
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from gathercli.errors import InputError, NoInputError, TransferError, UsageError
from gathercli.io.files import check_kind, unreadable
from gathercli.io.formats import jsontext as json
from gathercli.io.formats.foreign import install_line
from gathercli.text import clean, short

if TYPE_CHECKING:
    from distributed import Client, Security

# Seconds to wait for an answer of the scheduler, and for a worker before a message.
MAX_WAIT: Final = 5.0
TLS_PROBE_SECONDS: Final = 2.0  # seconds to wait for the answer to the first bytes of TLS

TLS: Final = "tls://"

_MAX_FILE_BYTES: Final = 1 << 20

# The valid addresses of a scheduler.
URL: Final = re.compile(r"(tcp|tls)://[^\s/]+:\d{1,5}", re.ASCII)


class Address(NamedTuple):
    """The address of a scheduler: a URL or a file that has it, and files for TLS."""

    url: str | None = None  # ``tcp://host:8786``
    file: str | None = None  # from ``--scheduler-file`` of dask
    ca_file: str | None = None
    cert: str | None = None
    key: str | None = None


def check_url(url: str, ca_file: str | None) -> None:
    """Raise if a URL is invalid, or the scheduler speaks TLS and no files for it are given."""
    if not URL.fullmatch(url):
        what = f"is `{clean(url)}`"
        expected = "tcp://HOST:PORT or tls://HOST:PORT"
        hint = "`--scheduler tcp://127.0.0.1:8786`"
        raise UsageError(what, subject="--scheduler", value=url, expected=expected, hint=hint)
    if url.startswith(TLS) and ca_file is None:
        what = f"the scheduler `{clean(url)}` speaks TLS, and `--tls-ca-file` is not given"
        hint = "`--tls-ca-file ca.pem --tls-cert cert.pem --tls-key key.pem`"
        raise UsageError(what, value=url, expected="the files for TLS", hint=hint)


@contextmanager
def connect(address: Address) -> Iterator[Client]:
    """Connect to a scheduler; UsageError: dask is not installed, TransferError: no answer."""
    try:
        from distributed import Client, Security
    except ImportError as error:
        what = f"a scheduler needs dask, which is not installed ({error})"
        hint = f"`{install_line('distributed', 'cluster')}`"
        raise UsageError(what, expected="the extra", hint=hint) from None
    url, security = address.url or _read_url(address.file or ""), None
    ca_file, cert, key = address[2:]
    check_url(url, ca_file)
    for path in (ca_file, cert, key):
        if path is not None:
            with _opened(path, "a file for TLS"):
                pass
    try:
        if ca_file is not None:
            security = Security(
                tls_ca_file=ca_file,
                tls_client_cert=cert,
                tls_client_key=key,
                require_encryption=True,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about versions; `Cluster` compares ours
            kind = asyncio.run(asyncio.wait_for(_server_type(url, security), MAX_WAIT))
            if kind != "Scheduler":
                raise ValueError(f"it is a {kind.lower()}")  # noqa: TRY301
            client = Client(url, timeout=MAX_WAIT, security=security, set_as_default=False)
    except Exception as error:  # noqa: BLE001  (any server may answer)
        reason = str(error).partition("\n")[0] or type(error).__name__
        if isinstance(error, TimeoutError) and not str(error):
            reason = f"nobody answered within {MAX_WAIT:g} s"
        raise _unreachable(url, reason) from None
    try:
        yield client
    finally:
        client.close(timeout=MAX_WAIT)


def _unreachable(url: str, reason: str) -> TransferError:
    """Return the error for a scheduler that cannot be reached, or speaks TLS and should not."""
    expected, hint = "one that runs", "`dask scheduler` starts one, and says its address"
    speaks = _speaks_tls(url)
    if speaks is True and not url.startswith(TLS):
        reason, expected = "it speaks TLS", "tls:// and the files for TLS"
        hint = (
            f"`--scheduler {TLS}{url.partition('://')[2]} "
            "--tls-ca-file ca.pem --tls-cert cert.pem --tls-key key.pem`"
        )
    elif speaks is False and url.startswith(TLS):
        reason, expected = "it does not speak TLS", "tcp:// without files for TLS"
        hint = f"`--scheduler tcp://{url.partition('://')[2]}`"
    what = f"the scheduler `{clean(url)}` cannot be reached ({clean(short(reason))})"
    return TransferError(what, rule="scheduler", value=url, expected=expected, hint=hint)


def _speaks_tls(url: str) -> bool | None:
    """Return whether the server at an address answers as TLS does; None if none is there."""
    import ssl

    host, _, port = url.partition("://")[2].rpartition(":")
    try:
        ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=TLS_PROBE_SECONDS)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # such as of a missing certificate
    except (ConnectionResetError, TimeoutError):
        return False
    except (OSError, ValueError, OverflowError):
        return None
    return True


@contextmanager
def _opened(path: str, expected: str) -> Iterator[BinaryIO]:
    """Open a file; an error, also of its content, names it, as dask's would not."""
    try:
        check_kind(path, path, expected)
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            yield file
    except NoInputError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(path, error, expected) from None


async def _server_type(url: str, security: Security | None) -> str:
    """Return the type of the server; `Client` has no timeout for one that does not answer."""
    from distributed.core import rpc

    arguments = {} if security is None else security.get_connection_args("client")
    async with rpc(url, timeout=MAX_WAIT, connection_args=arguments) as other:
        return str((await other.identity())["type"])


def _read_url(path: str) -> str:
    """Read the address from a scheduler file."""
    expected = "the file of a scheduler"
    with _opened(path, expected) as file:
        document = json.parse(file.read(_MAX_FILE_BYTES))
    url = document.get("address") if isinstance(document, dict) else None
    if not isinstance(url, str) or not URL.fullmatch(url):
        what = f"`{clean(path)}` has no address"
        raise InputError(what, rule="json", value=path, expected=expected)
    return url
