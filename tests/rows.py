"""Versions as the rows have them today, for tests that quote a list or the newest of them."""

from __future__ import annotations

from typing import Final

from gathercli.ops import FAMILIES
from gathercli.text import listed

VERSIONS: Final = {
    name: listed([row.id for row in family.ROWS]) for name, family in FAMILIES.items()
}
"""What a refused version is told, by operator: ``openvino-8, … or onnx-1``."""

DEFAULT: Final = {name: family.ROWS[0].full_name for name, family in FAMILIES.items()}
"""The row of a call that names no version, by operator."""


def newest(framework: str, family: str = "gather") -> str:
    """Return the short name of the newest version that a framework has."""
    return next(row.id for row in FAMILIES[family].ROWS if row.framework == framework)
