"""``python -m campaigns.floats``: write every float32, and random float64, with the kernel in C.

The digits of a float32 are those of orjson, and read back to it by way of float64: of all of them,
that takes five minutes. A float64 of random bits is written as Python writes it, 10^7 of them.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np
import orjson

from gathercli.compute._native import json_lists

WORDS: Final = (b"NaN", b"Infinity", b"-Infinity")
STEP: Final = 1 << 18
"""Numbers written at once."""

INFINITY: Final = 0x7F800000
"""The bits of infinity, the least beyond those of all positive float32."""

TWICE_ROUNDED: Final = 0x15AE43FD
"""The bits of the float32 that needs more digits than orjson writes, to read back."""


def float32() -> None:
    """Write all positive float32."""
    for start in range(0, INFINITY, STEP):
        values = np.arange(start, min(start + STEP, INFINITY), dtype=np.uint32).view(np.float32)
        shortest = np.array(orjson.loads(orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)))
        back = np.array(orjson.loads(json_lists(values, WORDS) or b""))

        wrong = (back != shortest) & (values.view(np.uint32) != TWICE_ROUNDED)
        if wrong.any() or (back.astype(np.float32) != values).any():
            raise SystemExit(f"wrong digits from {values[0]!r} on")


def float64(seed: int) -> None:
    """Write float64 of random bits."""
    values = np.random.default_rng(seed).integers(0, 1 << 64, STEP, np.uint64).view(np.float64)
    want = json.dumps(values.tolist(), separators=(",", ":")).encode()
    if bytes(json_lists(values, WORDS) or b"") != want:
        raise SystemExit(f"wrong digits with seed {seed}")


def main() -> None:
    """Try both."""
    for seed in range(40):
        float64(seed)
    float32()
    print("all digits are right")


if __name__ == "__main__":
    main()
