"""What a run adds to the stages of `kernels.registry`: keys of its configuration, and tables that are made from their answers."""

from kernels.algorithm import Column
from kernels.registry import BY_NAME
from pipeline.registry.entries import VERTEX, DerivedTable, Stage

_ROOT = "the vertex is the root of its tree"
_UNPLACED = "the vertex has no coordinates"
POINT = (
    Column("x", "float64", "degrees, east", _UNPLACED),
    Column("y", "float64", "degrees, north", _UNPLACED),
    Column("geometry", "binary", "the point (x, y), as WKB", _UNPLACED),
)
COMPONENTS = "wcc"  # the stage whose answer says which component a place belongs to
_ADDED = {
    "mst": Stage(
        tables=(
            DerivedTable(
                name="forest",
                step="pipeline.steps.derived.forest:root",
                columns=(
                    VERTEX,
                    Column("parent", "int64", "external id", _ROOT),
                    Column("weight", "weight", "the source's own", _ROOT),
                    Column("depth", "int64", "edges from the root"),
                    Column("labels", "int64", "external id, the smallest in the tree, which is its root"),
                ),
                proof="each row checked against table mst",
                checked=True,
                slow=True,
            ),
        )
    ),
    COMPONENTS: Stage(
        tables=(
            DerivedTable(
                name="vertices",
                step="pipeline.steps.derived.vertices:tabulate_vertices",
                columns=(
                    VERTEX,
                    Column("id", "string", "the vertex in the source, whose ids are strings"),
                    Column("out_degree", "int64", "arcs of the stored graph"),
                    Column("in_degree", "int64", "arcs of the stored graph"),
                    Column("component", "int64", "external id, the smallest in the weak component"),
                    *POINT,
                ),
                proof="copied from the proved graph, its proved components and the source's files",
                always=True,
            ),
        )
    ),
    "pagerank": Stage(configuration="pipeline.config.stages:PageRankConfig"),
    "reachability": Stage(configuration="pipeline.config.stages:ReachabilityConfig"),
    "betweenness": Stage(configuration="pipeline.config.stages:BetweennessConfig"),
    "edge_betweenness": Stage(configuration="pipeline.config.stages:EdgeBetweennessConfig"),
    "closure": Stage(configuration="pipeline.config.stages:ClosureConfig"),
    "max_flow": Stage(configuration="pipeline.config.stages:MaxFlowConfig"),
    "cdlp": Stage(configuration="pipeline.config.stages:CdlpConfig"),
    "triangles": Stage(summary="pipeline.report.findings.summaries:triangles"),
    "lcc": Stage(ranked=("lcc",), summary="pipeline.report.findings.summaries:lcc"),
}
STAGES = {name: _ADDED.get(name, Stage()) for name in BY_NAME}
DERIVED = {table.name: table for stage in STAGES.values() for table in stage.tables}
ALWAYS = [name for name, stage in STAGES.items() if any(table.always for table in stage.tables)]  # stages that each run needs
