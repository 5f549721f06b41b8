"""What a report says of a table with a ranking for each seed."""

import pyarrow as pa
import pyarrow.compute as pc

from kernels.algorithm import Algorithm
from pipeline.report import results
from pipeline.report.results import Known, Result
from pipeline.report.wording import counted
from pipeline.store.facts import facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.store.names import VertexNames
from pipeline.tables import files as tables

_LISTED = 3  # seeds whose highest values are listed
_COMPARED = 12


def rankings(algorithm: Algorithm, answer: Folder, vertices: int, names: VertexNames | None) -> Result:
    """The highest values of the first seeds, and how many vertices they give a value to."""
    result, seeds = Result(algorithm.title), facts_of_answer(answer).seeds or []
    name = algorithm.columns[-1].name
    for number, seed in enumerate(seeds[:_COMPARED]):
        ranking = tables.read_answer(tables.files(answer.path), number, vertices, ["vertex", name])
        shown = names.text(seed) if names else str(seed)
        reached = pc.sum(pc.greater(ranking[name], 0)).as_py()
        result.figures[f"{algorithm.name} of {shown}: vertices above 0"] = reached
        if number < _LISTED:
            result.tops.append(_top(algorithm.table_name, name, Known.by(seed, names), ranking, shown))
    listed = f"; the lists are of the first {_LISTED}" if len(seeds) > _LISTED else ""
    result.sentence = f"{counted(len(seeds), 'seed')}, each with a value for every vertex{listed}"
    return result


def _top(table: str, name: str, seed: Known, ranking: pa.Table, shown: str) -> results.Top:
    first = results.highest(ranking.to_batches(), name, results.OF_SEVERAL)
    return results.best_of_seed(table, name, first, seed, shown)
