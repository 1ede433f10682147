"""Build the kernel in C into wheels and editable installs, and choose how the command starts.

A C compiler makes the kernel where one works. The command is the script `start.py`, or where pip
might not be able to start that, the entry point that pip makes a slower script of.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPUTE = Path("gathercli", "compute")
SOURCES = COMPUTE / "csrc"
NAME = "_native.abi3.so"
COMMAND, START, ENTRY_POINT = "gathercli", "start.py", "gathercli.__main__:run"
OF_BUILD = "build-env-"  # begins the name of the environment that `python -m build` makes
MOST_OF_SHEBANG = 127  # bytes; older Linux cuts what is longer


class StartHook(MetadataHookInterface):
    """The metadata hook, which declares the entry point if there is no script."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the entry point."""
        metadata["scripts"] = {} if has_script(Path(self.root)) else {COMMAND: ENTRY_POINT}


class KernelHook(BuildHookInterface[Any]):
    """The build hook; ``GATHERCLI_PURE=1`` builds without the kernel."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel, and add it to the wheel or, if editable, to the sources."""
        if has_script(Path(self.root)):
            build_data["shared_scripts"] = {str(Path(self.root) / START): COMMAND}
        folder = Path(self.root) / COMPUTE
        self._folder = tempfile.TemporaryDirectory()
        if version != "editable":
            build_data["force_include"] |= write_tables(Path(self.root), Path(self._folder.name))
        if version == "editable":
            (folder / NAME).unlink(missing_ok=True)
        if os.environ.get("GATHERCLI_PURE", "0") not in ("", "0"):
            return
        library = (folder if version == "editable" else Path(self._folder.name)) / NAME
        problem = compile_kernel(Path(self.root) / SOURCES, library)
        if problem:
            self.app.display_warning(f"gathercli is built without its kernel in C: {problem}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"], build_data["pure_python"] = f"cp311-abi3-{platform}", False
        if version != "editable":
            build_data["force_include"][str(library)] = str(COMPUTE / NAME)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder of the library."""
        del version, build_data, artifact_path
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def has_script(root: Path, python: str = sys.executable) -> bool:
    """Return whether the command is the script, whose first line pip replaces by ``#!`` and Python.

    pip builds with the Python that it installs for, whose path may have a blank or be too long for
    such a line. A wheel from a source archive, of ``python -m build``, or with
    ``GATHERCLI_PORTABLE=1``, may be installed for any Python.

    Parameters
    ----------
    root
        The folder of the project.
    python
        The path of the Python that builds.

    Returns
    -------
        False where an entry point takes its place.
    """
    if os.environ.get("GATHERCLI_PORTABLE", "0") not in ("", "0") or (root / "PKG-INFO").exists():
        return False
    if Path(python).parent.parent.name.startswith(OF_BUILD):
        return False
    line = os.fsencode(f"#!{python}\n")
    return len(line) <= MOST_OF_SHEBANG and len(line.split()) == 1


def write_tables(root: Path, folder: Path) -> dict[str, str]:
    """Write the tables of the package as JSON, which is read sooner than TOML.

    Parameters
    ----------
    root
        The folder of the project.
    folder
        Where the files are written.

    Returns
    -------
        Their places in the wheel, by path.
    """
    places = {}
    for number, path in enumerate(sorted((root / "gathercli").rglob("*.toml"))):
        table = folder / f"{number}.json"
        table.write_text(json.dumps(tomllib.loads(path.read_text(encoding="utf-8"))))
        places[str(table)] = f"{path.relative_to(root)}.json"
    return places


def compile_kernel(folder: Path, library: Path, flags: Sequence[str] = ()) -> str:
    """Compile the kernel with the compiler and the flags of this Python, or of ``CC``.

    Parameters
    ----------
    folder
        The C files, all of which make the library.
    library
        The file to write.
    flags
        Further flags.

    Returns
    -------
        Why it did not work, in a line; empty if it did.
    """
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no stable interface for it"
    variables = {name: shlex.split(value) for name, value in os.environ.items() if "FLAGS" in name}
    link, compiler = _words("LDSHARED"), shlex.split(os.environ.get("CC", ""))
    command = [
        *(compiler or link[:1]),
        *link[1:],
        *_words("CFLAGS"),
        *_words("CCSHARED"),
        "-O3",
        "-g0",
        "-pthread",
        "-fvisibility=hidden",
        *variables.get("CFLAGS", ()),
        f"-I{sysconfig.get_path('include')}",
        *flags,
        *map(str, sorted(folder.glob("*.c"))),
        "-o",
        str(library),
        *variables.get("LDFLAGS", ()),
    ]
    try:
        # The compiler writes its messages in the encoding of the locale.
        subprocess.run(  # noqa: S603
            command, check=True, capture_output=True, encoding="utf-8", errors="replace"
        )
    except (OSError, IndexError) as error:
        return f"`{command[0]}` does not run ({error})"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.splitlines() or [f"status {error.returncode}"]
        reason = next((line for line in lines if "error" in line), lines[0])
        return f"`{command[0]}` fails ({reason.strip()})"
    return ""


def _words(variable: str) -> list[str]:
    """Return the words of a variable that this Python was built with."""
    return shlex.split(str(sysconfig.get_config_var(variable) or ""))
