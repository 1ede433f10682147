"""Let errors and findings say their rule alone, in every Python with this folder on its path.

No code may read a sentence, so only tests of words may fail then.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

WORDED = {"gathercli.errors": "GatherError", "gathercli.models.findings": "Finding"}
"""The classes that put data in a sentence, by module."""


def say_rules(module: ModuleType) -> None:
    """Replace the sentences of a module's class by the name of the rule."""
    worded: Any = getattr(module, WORDED[module.__name__])
    for name in {"statement", "message"} & vars(worded).keys():
        setattr(worded, name, property(lambda each: str(each.rule)))


class RuleFinder(MetaPathFinder):
    """Replaces the sentences of a module once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module, with a loader that replaces its sentences."""
        spec = PathFinder.find_spec(name, path, target) if name in WORDED else None
        if spec is None or spec.loader is None:
            return None
        run: Any = spec.loader.exec_module

        def run_and_replace(module: ModuleType) -> None:
            run(module)
            say_rules(module)

        loader: Any = spec.loader
        loader.exec_module = run_and_replace
        return spec


def install() -> None:
    """Replace the sentences of the modules that are loaded, and of those that will be."""
    for name in WORDED:
        if name in sys.modules:
            say_rules(sys.modules[name])
    sys.meta_path.insert(0, RuleFinder())


if __name__ == "sitecustomize":
    install()
