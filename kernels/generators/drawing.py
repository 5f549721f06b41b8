"""What a random graph is drawn from: everything that its edges follow from, beside their numbers."""

from dataclasses import dataclass, field

import numpy as np

from kernels.generators.constants import COMMUNITY_COLUMNS, GRAPH500, MEMBER_COLUMNS
from kernels.graph import Array

EDGES_PER_VERTEX = 16  # of Graph500
LARGEST_SCALE = 31
WORD_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Drawing:
    """A graph as it is drawn: edges by number, with self-loops and parallel edges."""

    kind: int  # GRAPH500 or SOCIAL
    seed: int  # 0..2^64-1
    bits: int  # of an id
    num_ids: int  # ids are 0..num_ids-1, of which not all have to occur
    num_edges: int  # drawn
    # Of a social graph, uint64: rows of communities of equal size, and of vertices that have as many edges outside of these.
    # [:, 0] of both are running sums: of edges that are drawn in communities, and of the units outside.
    communities: Array = field(default_factory=lambda: np.zeros((0, COMMUNITY_COLUMNS), np.uint64))
    members: Array = field(default_factory=lambda: np.zeros((0, MEMBER_COLUMNS), np.uint64))
    inside: int = 0  # edges of communities, which come first
    outside: int = 0  # units outside of communities

    @property
    def scramblers(self) -> tuple[int, int]:
        """The two random words by which ids are scrambled: SplitMix64's two outputs before the first one."""
        return mixed(self.seed), mixed(self.seed - _GOLDEN)


def graph500(scale: int, seed: int = 1, edges_per_vertex: int = EDGES_PER_VERTEX) -> Drawing:
    """Graph500's graph of 2^scale ids. Raises ValueError unless 1 <= scale <= LARGEST_SCALE."""
    if not 1 <= scale <= LARGEST_SCALE:
        raise ValueError(f"scale {scale} is not in 1..{LARGEST_SCALE}")
    return Drawing(GRAPH500, seed & WORD_MASK, scale, 1 << scale, edges_per_vertex << scale)


def mixed(value: int) -> int:
    """SplitMix64's function from a state to a random word."""
    value &= WORD_MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD_MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD_MASK
    return value ^ (value >> 31)
