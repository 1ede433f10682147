"""The code of a search of beams, which no framework has as an operator: a loop over the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.cli.runtimes import NO_BEAM

if TYPE_CHECKING:
    from gathercli.translate.dialects import Dialect


def beam_lines(dialect: Dialect) -> list[str]:
    """Return the lines of the body of a function of step_ids, parent_ids, max_seq_len, end_token.

    The beam of a sequence that has not begun yet is its own. Everything from the first end on is
    the end.
    """
    f = dialect.beam_functions
    outside = "active & ((beam < 0) | (beam >= width))"
    check = dialect.check("beam", outside, f'"{NO_BEAM}"')
    return [
        f"steps, batch, width = {f['shape'].format('step_ids')}",
        "if steps == 0:",
        "    return step_ids",
        f"length = {f['long'].format('max_seq_len')}[:, None]",
        f"beam = {f['own']}",
        "tokens = []",
        "for step in reversed(range(steps)):",
        "    active = step < length",
        *(f"    {line}" for line in check),
        f"    at = {f['where']}(active, beam, 0)",
        f"    token = {f['pick'].format('step_ids[step]', 'at')}",
        f"    tokens.insert(0, {f['where']}(active, token, end_token))",
        f"    parent = {f['pick'].format('parent_ids[step]', 'at')}",
        f"    beam = {f['where']}(active, {f['long'].format('parent')}, beam)",
        f"output = {f['stack']}(tokens)",
        f"ended = {f['count'].format(f['long'].format('(output == end_token)'))} > 0",
        f"return {f['where']}(ended, end_token, output)",
    ]
