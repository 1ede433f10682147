"""The provenance and the view of a call: a gather along an axis, or beams followed back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gathercli.explain.beam_provenance import BeamProvenance
from gathercli.explain.gather_provenance import GatherProvenance

if TYPE_CHECKING:
    from gathercli.compute.bound import BoundCall
    from gathercli.compute.threads import ProgressCallback
    from gathercli.explain.provenance import Provenance
    from gathercli.explain.view import View


def provenance_of(bound: BoundCall, *, progress: ProgressCallback | None = None) -> Provenance[Any]:
    """Return the provenance of the output of a bound call.

    Raise `LimitError` if the output would have more dimensions, or elements, than there can be.
    """
    if bound.call.op.followed:
        return BeamProvenance(bound, progress=progress)
    return GatherProvenance(bound, progress=progress)


def view_of(provenance: Provenance[Any]) -> View[Any, Any, Any]:
    """Return the view of a provenance."""
    if provenance.call.op.followed:
        from gathercli.explain.beam_view import BEAMS

        return BEAMS
    from gathercli.explain.gather_view import GATHERS

    return GATHERS
