"""What a corrector keeps of the rewards it has seen."""

from __future__ import annotations

from unperturb.counts import AllTime, Counts, Forgetting, IntArray, LastPerCell


class Memory:
    """One or more counts, each of which sees every reward.

    Attributes:
        counts: What C is estimated from.
        chunk: The rewards since the last estimate, for an estimator that takes them by the chunk.
        window: The last rewards of each cell, whose mean smooths.

    Example:
        >>> import numpy as np
        >>> memory = Memory(cells=3, levels=2, smooth=2)
        >>> memory.add(np.array([1, 1, 1]), np.array([0, 1, 1]))
        >>> memory.counts.row(1), memory.window.row(1)
        (array([1., 2.]), array([0., 2.]))
    """

    def __init__(
        self,
        cells: int,
        levels: int,
        *,
        d_max: int | None = None,
        forget: float | None = None,
        smooth: int | None = None,
        chunks: bool = False,
    ) -> None:
        self.counts: Counts = AllTime(cells, levels)
        if d_max is not None:
            self.counts = LastPerCell(cells, levels, d_max)
        elif forget is not None:
            self.counts = Forgetting(cells, levels, forget)
        self.window = None if smooth is None else LastPerCell(cells, levels, smooth)
        self.chunk: AllTime | None = None
        if chunks:
            self.new_chunk()
        else:
            self._gather()

    def new_chunk(self) -> None:
        """Begin a chunk: the last one is with the estimator now."""
        self.chunk = AllTime(self.counts.cells, self.counts.levels)
        self._gather()

    def _gather(self) -> None:
        self._all = tuple(self.parts().values())

    def add(self, cells: IntArray, levels: IntArray) -> None:
        """Count rewards whose indices are known to be in range."""
        for counts in self._all:
            counts.add_checked(cells, levels)

    def add_one(self, cell: int, level: int) -> None:
        """Count one reward."""
        for counts in self._all:
            counts.add_one(cell, level)

    def clear(self, cells: IntArray) -> None:
        """Forget all that these cells showed."""
        for counts in self._all:
            counts.clear(cells)

    def parts(self) -> dict[str, Counts]:
        """Give the counts there are, by name."""
        named = {"counts": self.counts, "chunk": self.chunk, "window": self.window}
        return {name: counts for name, counts in named.items() if counts is not None}
