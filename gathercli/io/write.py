"""Atomic writes: a file is absent, old or complete at any moment, even if the process dies.

The bytes go to an unnamed file in the folder of the target (O_TMPFILE), which gets a name just
before it replaces the target. Systems without O_TMPFILE use ``.NAME.*.tmp``. Devices and pipes are
streams, written in order and in place.
"""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod

from gathercli.errors import GatherError, Hint, OutputError, TransferError, reason_of
from gathercli.io.descriptors import STDERR, STDOUT
from gathercli.io.stream import ByteTarget, NewFile, Stream, release, temporary_name
from gathercli.records import ErrorContext, lru_cache, partial, suppress
from gathercli.text import clean, in_bytes, shell_word

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final, Self

    from gathercli.compute.tensor import Result
    from gathercli.io.source import Inputs

_REMOVED_FOLDER: Final = "/ (removed)"  # the path used for a working folder that no longer exists
# Arguments of `unwritable`.
OUTSIDE: Final = ("a link leads out of the folder of the job", "a file in it")
EXISTS: Final = ("it exists", "a new name", "without `--no-clobber` it would be replaced")
# The flag that opens a folder without permission to read it.
_O_PATH: Final = getattr(os, "O_PATH", os.O_RDONLY)
_REMOVE_ATTEMPTS: Final = 5  # attempts at a removal interrupted by signals
_OWN_FDS: Final = "/proc/self/fd"
_is_folder: Final = lru_cache(maxsize=1)(os.path.isdir)  # of `_OWN_FDS`, there or not for good
_STREAM_PATHS: Final = {"/dev/stdout": STDOUT, "/dev/stderr": STDERR}


class CheckedStream(ByteTarget):
    """A stream that checks before each write that no input changed."""

    def __init__(self, stream: ByteTarget, inputs: Inputs) -> None:
        self._stream, self._inputs = stream, inputs

    def write(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        self._inputs.check_mapped()
        try:
            self._stream.write(part)
        except TransferError:
            self._inputs.recheck()  # which raises if a write failed because an input changed
            raise

    def place(self, result: Result) -> bool:
        """Let the threads of a result append its elements, if that is possible."""
        try:
            return self._stream.place(result)
        except TransferError:
            self._inputs.recheck()
            raise


def persist(remove: Callable[[], None]) -> None:
    """Repeat `remove` until no signal interrupts it, then raise the last interruption.

    Closing a terminal sends SIGHUP twice, from the system and from the shell.
    """
    interruption: BaseException | None = None
    for _ in range(_REMOVE_ATTEMPTS):
        try:
            remove()
        except (KeyboardInterrupt, SystemExit) as error:
            interruption = error
        else:
            break
    if interruption is not None:
        raise interruption


def unwritable(
    path: str, why: str, expected: str, hint: str | None = None, *, number: int | None = None
) -> OutputError:
    """Return the error for an output that cannot be written; `number` is the system's ``errno``."""
    problem = f"`{clean(path)}` cannot be written ({why})"
    error = OutputError(problem, value=path, expected=expected, hint=hint)
    error.errno = number
    return error


def check_room(path: str, folder: str | int, size: int, *, packs: bool = False) -> None:
    """Raise if the disk of a folder has fewer bytes free than an output takes at least.

    `packs` tells whether the output may become smaller, so that an option tries it.
    """
    try:
        disk = os.statvfs(folder)
    except OSError:  # who creates the file will raise
        return
    free = disk.f_bavail * disk.f_frsize
    if size > free:
        takes = "takes {} before it is compressed" if packs else "takes at least {}"
        why = f"the result {takes.format(in_bytes(size))} and the disk has {free}"
        hint = Hint("{max_bytes} tries it", max_bytes=0) if packs else None
        raise unwritable(path, why, "room for it", hint, number=errno.ENOSPC)


def bad_folder(path: str, error: Exception) -> tuple[str, str, str | None]:
    """Return the arguments of `unwritable` for an error of the folder of `path`."""
    folder = os.path.dirname(path)
    absent = isinstance(error, FileNotFoundError) and not os.path.lexists(folder)
    hint = f"`mkdir -p {shell_word(folder)}` creates it" if folder and absent else None
    return reason_of(error), "a folder that can be written", hint


class AtomicOutput(ABC):
    """A context that creates a file or a folder; without `commit` nothing remains of it.

    With `fsync` the commit waits until the bytes, and then the name, are on the disk. `within` is
    the real path of a folder that must contain the output. It is made of `inputs`, which must not
    change before the commit. Raise OutputError if it cannot be created.
    """

    def __init__(
        self,
        path: str,
        inputs: Inputs | None = None,
        *,
        no_clobber: bool = False,
        fsync: bool = False,
        within: str | None = None,
    ) -> None:
        self.path, self._no_clobber, self._fsync, self._within = path, no_clobber, fsync, within
        self._inputs = inputs
        self._unwritable = partial(unwritable, path)
        self._find_target()

    @abstractmethod
    def _find_target(self) -> None:
        """Resolve the path, and raise if the output cannot be there."""

    def _writable(self, advise: Callable[[Any], tuple[str, str, str | None]]) -> ErrorContext:
        """Convert OSError, and ValueError for a NUL, to what `advise` says for `unwritable`."""
        return ErrorContext(self._convert, advise)

    def _convert(self, advise: Callable[[Any], Any], error: BaseException) -> None:
        """Raise what `advise` says, unless an error says it."""
        if isinstance(error, OSError | ValueError) and not isinstance(error, GatherError):
            raise self._unwritable(*advise(error), number=getattr(error, "errno", None)) from None

    def commit(self) -> None:
        """Name the output, replacing an older one; raise if that fails or an input changed."""
        if self._inputs is not None:
            self._inputs.recheck()
        try:
            self._finish()
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            what = f"`{clean(self.path)}` could not be finished ({reason_of(error)})"
            raise TransferError(what) from None

    @abstractmethod
    def _finish(self) -> None:
        """Rename the output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        persist(self._remove)

    @abstractmethod
    def _remove(self) -> None:
        """Remove what is left of the output unless it has its name."""


class Output(AtomicOutput):
    """An output that is a file; a symbolic link to a regular file is followed once."""

    def _find_target(self) -> None:
        self._target = self.path
        self._temporary: str | None = None
        # The open folder, so that a link cannot replace it; file names are relative to it.
        self._folder = self._fd = -1
        self._exists = False  # whether the target existed when it was looked up
        self.is_stream = self._follow()
        if self.is_stream or self._target != self.path:
            self._check_place(self.path)  # `open` checks the folder of any other file

    @property
    def is_terminal(self) -> bool:
        """Whether the output is a terminal, which must not get binary."""
        return self.is_stream and self._fd >= 0 and os.isatty(self._fd)

    def _follow(self) -> bool:
        """Follow a symbolic link and check the target; return whether it is a stream."""
        path = self.path
        if not path:
            raise self._unwritable("the name is empty", "the name of a file")
        with self._writable(lambda error: (reason_of(error), "a file that can be written", None)):
            if descriptor_of(path) is not None:
                return True
            status = entry = _status(path, follow=False)
            is_link = entry is not None and stat.S_ISLNK(entry.st_mode)
            if is_link:
                status = _status(path)
            if _has_reader(status):
                return True
            if is_link:
                self._target = os.path.join(os.path.dirname(path), os.readlink(path))
                if os.path.islink(self._target):
                    raise self._unwritable("it links to a link", "a link to a file")
        self._exists = entry is not None
        if self._no_clobber and self._exists:
            raise self._unwritable(*EXISTS)
        if status and not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "a device or socket"
            raise self._unwritable(f"it is {kind}", "the name of a file")
        return False

    def _check_place(self, path: str, fd: int | None = None) -> None:
        """Raise if a path, or what was opened there before a link changed, is outside `within`."""
        if self._within is None:
            return
        from gathercli.io.folders import lies_in, place_of

        place = real_path(path) if fd is None else place_of(fd, path)
        if not lies_in(place, self._within):
            raise self._unwritable(*OUTSIDE)

    def open(self, size: int = 0, *, parents: bool = False) -> None:
        """Create the temporary file, with `parents` its folder; raise without room for `size`."""
        folder, self._name = os.path.split(self._target)
        with self._writable(partial(bad_folder, self._target)):
            if self.is_stream:
                fd = descriptor_of(self.path)  # a duplicate of ours keeps its offset
                flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY
                self._fd = os.open(self.path, flags) if fd is None else os.dup(fd)
                self._check_place(self.path, self._fd)
                return
            self._folder = self._open_folder(folder or ".", parents=parents)
            self._check_place(folder, self._folder)
            check_room(self.path, self._folder, size)
            self._create()
            if self._exists or self._temporary is not None:
                self._copy_mode()

    def _open_folder(self, folder: str, *, parents: bool) -> int:
        flags = _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            return os.open(folder, flags)
        except OSError:
            if not parents:
                raise
        self._check_place(self.path)
        make_folder(os.path.dirname(self.path))
        return os.open(folder, flags)

    def _copy_mode(self) -> None:
        """Set the permissions of the file that is replaced, if there is one."""
        if old := _status(self._name, self._folder):
            if not os.access(self._name, os.W_OK, dir_fd=self._folder):
                why = "permission denied", "a file that can be written"
                raise self._unwritable(*why, number=errno.EACCES)
            os.fchmod(self._fd, stat.S_IMODE(old.st_mode))

    def _create(self) -> None:
        unnamed = getattr(os, "O_TMPFILE", None)
        if unnamed is not None and _is_folder(_OWN_FDS):
            try:
                flags = unnamed | os.O_WRONLY | os.O_CLOEXEC
                self._fd = os.open(".", flags, 0o666, dir_fd=self._folder)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
                    raise
            else:
                return
        self._temporary = temporary_name(self._name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self._temporary, flags, 0o666, dir_fd=self._folder)

    @property
    def stream(self) -> ByteTarget:
        """The stream to write to, after `open`."""
        place = f"`{clean(self.path)}`"
        # A file system without unnamed files may lack allocation too, and the C library would then
        # write single bytes.
        stream = (
            Stream(self._fd, place)
            if self.is_stream
            else NewFile(self._fd, place, allocates=self._temporary is None)
        )
        return stream if self._inputs is None else CheckedStream(stream, self._inputs)

    def _finish(self) -> None:
        if self.is_stream:
            return
        release(self._fd)
        if self._fsync:
            os.fsync(self._fd)
        # Some file systems report a failed write only when a descriptor is closed.
        os.close(os.dup(self._fd))
        try:
            self._rename()
        except FileExistsError:
            raise self._unwritable(*EXISTS) from None
        if self._fsync:
            sync(".", self._folder)

    def _rename(self) -> None:
        if self._temporary is None:
            self._link_unnamed()
        if self._temporary is not None:
            rename = os.link if self._no_clobber else os.replace
            here = self._folder
            rename(self._temporary, self._name, src_dir_fd=here, dst_dir_fd=here)
            if not self._no_clobber:
                self._temporary = None

    def _link_unnamed(self) -> None:
        """Link the unnamed file to the target if it is new, else to a temporary name."""
        # The path is absolute, but src_dir_fd makes Python call linkat with AT_SYMLINK_FOLLOW,
        # which links in /proc need.
        own = f"{_OWN_FDS}/{self._fd}"
        link = partial(os.link, own, src_dir_fd=self._fd, dst_dir_fd=self._folder)
        try:
            link(self._name)
        except FileExistsError:
            if self._no_clobber:
                raise
            if not self._exists:  # another program has created it since
                self._copy_mode()
            # Set before `link`, as a signal may arrive in between.
            self._temporary = temporary_name(self._name)
            link(self._temporary)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for fd in (self._fd, self._folder):
            if fd >= 0:
                with suppress(OSError):  # `commit` has reported failed writes
                    os.close(fd)

    def _remove(self) -> None:
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._folder)


def write_files(files: Mapping[str, bytes], *, no_clobber: bool, parents: bool = False) -> None:
    """Write files, the first one last: unless each can be written, none gets its name."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        outputs = [stack.enter_context(Output(path, no_clobber=no_clobber)) for path in files]
        for file, content in zip(outputs, files.values(), strict=True):
            file.open(len(content), parents=parents)
            file.stream.write(content)
        for file in reversed(outputs):
            file.commit()


def sync(path: str, folder: int | None = None) -> None:
    """Wait until a file or the names in a folder are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(path: str) -> None:
    """Create a folder and its parents if they do not exist; raise OutputError on failure."""
    if os.path.isdir(path or "."):
        return
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        what = f"the folder `{clean(path)}` cannot be made ({reason_of(error)})"
        raise OutputError(what, value=path, expected="one that can be written") from None


def real_path(path: str) -> str:
    """Return the real path of a file, which need not exist, nor need the working folder."""
    try:
        return os.path.realpath(path)
    except FileNotFoundError:  # from `os.getcwd`
        return os.path.normpath(os.path.join(_REMOVED_FOLDER, path))


def is_stream(path: str) -> bool:
    """Tell whether a path is a descriptor of this process, a pipe or a device."""
    return descriptor_of(path) is not None or _has_reader(_status(path))


def _has_reader(status: os.stat_result | None) -> bool:
    """Tell whether a file is a pipe or a device, by its status."""
    return status is not None and (stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode))


def _status(path: str, folder: int | None = None, *, follow: bool = True) -> os.stat_result | None:
    """Return the status of a file, or of a link to it; None if there is none."""
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=follow)
    except FileNotFoundError:
        return None


def descriptor_of(path: str) -> int | None:
    """Return the descriptor of this process that a path names; None if it names a file."""
    folder, _, number = path.rpartition("/")
    if folder in ("/dev/fd", _OWN_FDS):
        is_number = number.isascii() and number.isdigit() and len(number) < 10
        return int(number) if is_number else None
    return _STREAM_PATHS.get(path)
