"""The products, in the order in which a run makes and shows them."""

from kernels.algorithm import Column
from kernels.registry import BY_NAME
from pipeline.registry.entries import SOURCE, VERTEX, Product, ProductTable

_NO_FACILITY = "no further facility is connected with the vertex"
_NO_AREA = "no triangle of vertices is within the threshold"
_NO_ZONE, _NO_PAIR = "vertices without a zone", "none has a distance"
_NO_WEIGHT = "none with a distance has a weight"
_AREA_OF_ZONE = Column("geometry", "binary", "the area of the zone, as WKB", "vertices without a zone; a cell around a pole")
_AREAS = ("Polygon", "MultiPolygon")
_NO_SOURCE = "no source of the zone has a weight"
_NO_DEMAND = "no demand is within the threshold"
_THRESHOLD = Column("threshold", "distance", "sum of weights", key=True)
_ALL = (
    Product(
        name="matrix",
        help="distances from sources to targets",
        command="pipeline.cli.products.matrix:matrix",
        options="pipeline.config.products.matrix:MatrixOptions",
        tables=(
            ProductTable(
                name="matrix",
                step="pipeline.steps.products.matrix:tabulate_matrix",
                columns=(
                    SOURCE,
                    Column("target", "int64", "external id", key=True),
                    Column("distance", "distance", "sum of weights", "the source does not reach the target"),
                ),
            ),
            ProductTable(
                name="matrix_zones",
                switch="zone",
                step="pipeline.steps.products.zones.matrix:tabulate_matrix_zones",
                columns=(
                    Column("source_zone", "zone", "zone", _NO_ZONE),
                    Column("target_zone", "zone", "zone", _NO_ZONE),
                    Column("pairs", "int64", "pairs of a source and a target"),
                    Column("unreached", "int64", "pairs without a distance"),
                    Column("min", "distance", "sum of weights", _NO_PAIR),
                    Column("mean", "float64", "sum of weights", _NO_PAIR),
                    Column("weighted_mean", "float64", "sum of weights", _NO_WEIGHT),
                ),
            ),
        ),
    ),
    Product(
        name="trees",
        help="shortest paths from sources to every vertex",
        command="pipeline.cli.products.trees:trees",
        options="pipeline.config.products:ProductOptions",
        tables=(
            ProductTable(
                name=BY_NAME["sssp"].table_name,
                step="pipeline.steps.products.trees:tabulate_trees",
                columns=BY_NAME["sssp"].columns,
            ),
        ),
    ),
    Product(
        name="nearest",
        help="nearest of given facilities, such as hospitals, for every vertex",
        configuration="pipeline.config.products.nearest:NearestConfig",
        gpu_memory="pipeline.steps.products.nearest:gpu_memory",
        require="pipeline.steps.products.zones.nearest:require_zones",
        cpu=0.019,
        tree_memory=13.0,
        tables=(
            ProductTable(
                name="nearest",
                title="Nearest facilities",
                step="pipeline.steps.products.nearest:tabulate_nearest",
                report="pipeline.report.products.nearest:show",
                values=lambda near, trees, vertices, _: 3 * vertices * min(near.count, trees),
                columns=(
                    VERTEX,
                    Column("rank", "int64", "1 for the nearest", key=True),
                    Column("facility", "int64", "external id", _NO_FACILITY),
                    Column("distance", "distance", "sum of weights", _NO_FACILITY),
                ),
            ),
            ProductTable(
                name="nearest_zones",
                title="Nearest facilities by zones",
                switch="zone",
                swept=False,
                step="pipeline.steps.products.zones.nearest:tabulate_nearest_zones",
                report="pipeline.report.products.nearest_zones:show",
                columns=(
                    Column("zone", "zone", "zone", _NO_ZONE),
                    Column("rank", "int64", "1 for the nearest"),
                    Column("vertices", "int64", "vertices of the zone"),
                    Column("unreached", "int64", "vertices without such a facility"),
                    Column("min", "distance", "sum of weights", _NO_PAIR),
                    Column("mean", "float64", "sum of weights", _NO_PAIR),
                    Column("weighted_mean", "float64", "sum of weights", _NO_WEIGHT),
                    _AREA_OF_ZONE,
                ),
                geometry=_AREAS,
            ),
        ),
    ),
    Product(
        name="isochrones",
        help="how much is within given distances of each source",
        configuration="pipeline.config.products.isochrones:IsochronesConfig",
        require="pipeline.steps.products.zones.isochrones:require_isochrones_and_zones",
        cpu=0.028,
        tree_memory=7.0,
        tables=(
            ProductTable(
                name="isochrones",
                title="Isochrones",
                step="pipeline.steps.products.isochrones:tabulate_isochrones",
                report="pipeline.report.products.isochrones:show",
                values=lambda config, trees, *_: trees * len(config.thresholds) * (2 + len(config.sums)),
                columns=(
                    SOURCE,
                    _THRESHOLD,
                    Column("vertices", "int64", "vertices within the threshold, the source included"),
                    Column("supply_ratio", "float64", "supply for each unit of demand within the threshold", _NO_DEMAND),
                ),
            ),
            ProductTable(
                name="isochrone_zones",
                title="Isochrones by zones",
                switch="zone",
                swept=False,
                step="pipeline.steps.products.zones.isochrones:tabulate_isochrone_zones",
                report="pipeline.report.products.isochrone_zones:show",
                columns=(
                    Column("zone", "zone", "zone", _NO_ZONE),
                    Column("threshold", "distance", "sum of weights"),
                    Column("sources", "int64", "sources of the zone, or places"),
                    Column("vertices", "float64", "mean of column vertices of table isochrones", _NO_SOURCE),
                    _AREA_OF_ZONE,
                ),
                geometry=_AREAS,
            ),
            ProductTable(
                name="isochrone_access",
                title="Access to what sources supply",
                switch="supply",
                step="pipeline.steps.products.isochrones.access:tabulate_access",
                report="pipeline.report.products.isochrone_access:show",
                values=lambda config, trees, vertices, _: 3 * vertices * len(config.thresholds),
                columns=(VERTEX, _THRESHOLD, Column("access", "float64", "supply for each unit of demand")),
            ),
            ProductTable(
                name="isochrone_vertices",
                title="Vertices of isochrones",
                switch="vertices",
                step="pipeline.steps.products.isochrones:tabulate_reached",
                columns=(SOURCE, VERTEX, Column("distance", "distance", "sum of weights")),
            ),
            ProductTable(
                name="isochrone_polygons",
                title="Areas of isochrones",
                switch="polygons",
                step="pipeline.steps.products.isochrones.polygons:tabulate_polygons",
                report="pipeline.report.products.isochrones:show_areas",
                columns=(
                    SOURCE,
                    _THRESHOLD,
                    Column("geometry", "binary", "the area within the threshold, as WKB", _NO_AREA),
                ),
                geometry=("MultiPolygon",),
            ),
        ),
    ),
    Product(
        name="closeness",
        help="how near each vertex is to all that it reaches",
        configuration="pipeline.config.products.closeness:ClosenessConfig",
        cpu=0.010,
        tree_memory=7.0,
        tables=(
            ProductTable(
                name="closeness",
                title="Closeness",
                step="pipeline.steps.products.closeness:tabulate_closeness",
                report="pipeline.report.products.closeness:show",
                values=lambda _, trees, *__: 4 * trees,
                columns=(
                    VERTEX,
                    Column("reached", "int64", "vertices that it reaches, itself included"),
                    Column("total", "distance", "sum of the distances to them"),
                    Column("eccentricity", "distance", "sum of weights, the largest distance to one of them"),
                    Column("closeness", "float64", "1 over a sum of weights"),
                ),
            ),
        ),
    ),
    Product(
        name="flows",
        help="number of shortest paths that use each arc",
        configuration="pipeline.config.products.flows:FlowsConfig",
        require="pipeline.steps.products.flows:require_flows",
        cpu=0.024,
        tree_memory=9.0,
        tables=(
            ProductTable(
                name="flows",
                title="Flows",
                step="pipeline.steps.products.flows:tabulate_flows",
                report="pipeline.report.products.flows:show",
                values=lambda config, trees, vertices, arcs: (8 if config.lines else 2) * arcs,
                columns=(
                    Column("src", "int64", "external id", key=True),
                    Column("dst", "int64", "external id", key=True),
                    Column("flow", "flow", "paths"),
                    Column("geometry", "binary", "the line from src to dst, as WKB", "one of both has no coordinates"),
                ),
                geometry=("LineString", "MultiLineString"),  # the second of arcs across the 180th meridian
            ),
        ),
    ),
)
PRODUCTS = {product.name: product for product in _ALL}
TABLES = {table.name: table for product in _ALL for table in product.tables}
