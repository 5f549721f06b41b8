"""Where a run answers otherwise than NetworkX, and the sentence of the documentation that says so."""

from enum import Enum

TABLES, FORMATS = "docs/tables.md", "docs/formats.md"


class Convention(Enum):
    """Each with the file and its sentence."""

    DAMPING = TABLES, "With probability 0.85 the walk follows a random out-edge."
    RANDOM_VERTEX = TABLES, "Otherwise, or if the vertex has no out-edge, it continues at a random vertex."
    UNWEIGHTED = TABLES, "it continues at a random vertex. Weights are ignored."
    NORMALISED = TABLES, "The result is that of NetworkX's `betweenness_centrality(normalized=False)`"
    NO_LENGTH = TABLES, "The stage refuses a graph with an edge of weight 0 on a shortest path"
    OUTWARDS = TABLES, "this column equals NetworkX's `closeness_centrality` of the reversed graph"
    WASSERMAN_FAUST = (
        TABLES,
        "This form, by Wasserman and Faust,",
    )
    WEIGHTS = FORMATS, "**Weights** are at least 0 and finite."
