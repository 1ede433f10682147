"""``python -m tests.translate [--calls N]``: pairs of versions and targets in real runtimes.

``GATHERCLI_PEERS=torch=/venv/bin/python,…`` names the Pythons that have the runtimes.
"""

from __future__ import annotations

import argparse
import os

from gathercli.runtimes.client import RuntimeProcess, runtimes_of
from gathercli.runtimes.declared import NAMES
from gathercli.translate.proof import proof_text, prove, runtime_text
from gathercli.translate.running import run_in
from tests.translate.pairs import PAIRS, name, trials


def main() -> int:
    """Run every pair; return whether a runtime differs in a way that is not known."""
    parser = argparse.ArgumentParser(prog="python -m tests.translate", description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--only", default="", help="a part of the names of pairs")
    words = parser.parse_args()
    peers = {
        each.name: each for each in runtimes_of(os.environ.get("GATHERCLI_PEERS", ",".join(NAMES)))
    }
    wrong = 0
    for pair in PAIRS:
        if words.only not in name(pair) or pair.runtime not in peers:
            continue
        translation, calls, known = trials(pair, words.calls)
        proof = prove(translation, calls)
        with RuntimeProcess(peers[pair.runtime], 60) as process:
            seen = run_in(process, translation, calls)
        print(f"{name(pair)}\n    {proof_text(proof)}\n    {runtime_text(seen)}", flush=True)
        for mistake, count in known.items():
            print(f"    left out: {mistake}: {count}")
        wrong += seen.agreeing < words.calls
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
