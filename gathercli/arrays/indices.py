"""Indices on their way to positions on the axis: -1 for none, everything else inside.

First all of them are examined, in one pass; then any part is turned into positions, as often as
wanted, so that nothing of the size of the indices is held.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.arrays.memory import Memory
from gathercli.spec.op import OutOfRange

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.arrays.tensor import AnyArray


class IndexPolicy(NamedTuple):
    """What becomes of an index k on an axis.

    Attributes
    ----------
    size
        s, the size of the axis.
    wraps
        Whether s is added, once, to k < 0.
    outside
        What then becomes of a k outside [0, s); never ``spec``.
    """

    size: int
    wraps: bool
    outside: OutOfRange


class IndexKind(Enum):
    """What some indices are, all together."""

    PLAIN = "in [0, s)"
    SIGNED = "in [-s, s), where a negative one counts from the end"
    MIXED = "legal"
    UNSEEN = "not examined"


def index_kind(given: AnyArray, how: IndexPolicy) -> IndexKind:
    """Tell what indices are; any shape, an integer type."""
    import numpy as np

    if not given.size:
        return IndexKind.PLAIN
    if not (given.flags.c_contiguous and given.dtype.isnative):
        given = np.ascontiguousarray(given, given.dtype.newbyteorder("="))
    if given.dtype.kind == "u":
        return IndexKind.PLAIN if int(given.max()) < how.size else IndexKind.MIXED
    # A negative number is a large one without its sign: one look instead of two.
    most = min(how.size, 1 << (8 * given.dtype.itemsize - 1))
    if int(given.view(np.dtype(f"u{given.dtype.itemsize}")).max()) < most:
        return IndexKind.PLAIN
    if how.wraps and int(given.max()) < how.size and int(given.min()) >= -how.size:
        return IndexKind.SIGNED
    return IndexKind.MIXED


def wrap_negative(given: AnyArray, held: AnyArray, how: IndexPolicy) -> AnyArray:
    """Store indices in `held`, int64, s added to the negative ones if they wrap; tell the rest.

    Nothing changes its meaning: s >= 0, so even -2^63 + s fits, and a uint64 that does not fit is
    outside by what it was.

    Returns
    -------
        Which are then outside [0, s); bool.
    """
    import numpy as np

    size = np.uint64(how.size)
    if given.dtype.kind == "u" or not how.wraps:
        np.copyto(held, given, casting="unsafe")
    else:  # s is added where the sign, spread over all bits, lets it through
        np.right_shift(given, 8 * given.itemsize - 1, out=held)
        held &= how.size
        held += given
    # A negative number is a large one without its sign; so is the uint64 that did not fit.
    outside: AnyArray = held.view(np.uint64) >= size
    return outside


HELD: Final = 1 << 20
"""Indices up to which their positions are kept; those of more are made again where needed."""


class UnexpectedIndicesError(Exception):
    """Unseen indices that are more than `IndexKind.SIGNED`: all of them have to be examined."""


class ResolvedIndices:
    """Indices as positions on the axis, in parts.

    Parameters
    ----------
    indices
        Shape (I..), an integer type.
    how
        What becomes of them.
    sort
        What all of them are; where they are unseen, each part is looked at when it is used.
    fills
        Whether some give no position.

    Attributes
    ----------
    memory
        The indices as they lie in memory; those of a few are their positions.
    """

    def __init__(
        self,
        indices: AnyArray,
        how: IndexPolicy,
        sort: IndexKind = IndexKind.UNSEEN,
        *,
        fills: bool = False,
    ) -> None:
        self._how, self._sort, self._given = how, sort, sort
        self.indices, self.fills = indices, fills
        self._native = indices.dtype.str[1:] == "i8" and indices.dtype.isnative
        done = self._native and sort is IndexKind.PLAIN
        if not done and sort is not IndexKind.UNSEEN and indices.size <= HELD:
            indices = self.whole()
            self._sort, self._native = IndexKind.PLAIN, True
        self.memory = Memory.of(indices)

    def whole(self) -> AnyArray:
        """Return all positions: shape (I..), int64, -1 for none."""
        import numpy as np

        held = np.empty(self.indices.shape, np.int64)
        _store(self.indices, held, self._how, self._given)
        return held

    def part(self, given: AnyArray, room: Callable[[tuple[int, ...]], AnyArray]) -> AnyArray:
        """Return the positions of a part of `memory`.

        Parameters
        ----------
        given
            The part.
        room
            Gives an int64 array of a shape to hold them, if that is needed.

        Raises
        ------
        UnlikeError
            They are unseen, and not as simple as was hoped.
        """
        sort = self._sort
        if sort is IndexKind.UNSEEN:
            sort = index_kind(given, self._how)
            if sort is IndexKind.MIXED:
                raise UnexpectedIndicesError
        if self._native and sort is IndexKind.PLAIN:
            return given
        held = room(given.shape)
        _store(given, held, self._how, sort)
        return held


def _store(given: AnyArray, held: AnyArray, how: IndexPolicy, sort: IndexKind) -> None:
    """Store positions in `held`, int64 of the same shape."""
    import numpy as np

    if sort is IndexKind.PLAIN:
        np.copyto(held, given, casting="unsafe")
        return
    outside = wrap_negative(given, held, how)
    if sort is IndexKind.SIGNED:
        return
    if how.outside is OutOfRange.ZERO:
        np.copyto(held, -1, where=outside)
    elif how.outside is OutOfRange.CLAMP:
        low = 0 if given.dtype.kind == "u" else given < 0
        np.copyto(held, np.where(low, 0, how.size - 1), where=outside)
    elif how.outside is not OutOfRange.WRAP or not how.size:
        return  # some are refused
    elif given.dtype.kind == "u":
        np.copyto(held, given % np.uint64(how.size), casting="unsafe")
    else:
        held %= how.size
