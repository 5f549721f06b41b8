"""Numbers and times as text."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.steps.publication.report_marks import FOLDER, OWN
from pipeline.store.facts import MergeFacts, PathFacts, QueryFacts, StateFacts
from pipeline.store.facts.roads import RoadFacts, TurnFacts
from pipeline.store.facts.run import InputFacts
from pipeline.store.facts.sources import DirectionCounts, TravelTimeFacts
from pipeline.units import length, size

FLOATS = "double", "float"  # Arrow types
_ROLES = "src", "dst", "weight", "oneway", "reverse_weight", "speed", "order"  # of the columns of a source
_BRACKETS = set("()[]{}")


def number(value: Any) -> str:
    """A count, weight or distance: integers in full, floats to six digits, without an exponent if possible."""
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if math.isinf(value):
        return ("" if value > 0 else "-") + "infinity"
    return f"{float(value):,.0f}" if 1e6 <= abs(value) < 1e15 else f"{float(value):,.6g}"


def with_unit(value: Any, unit: str) -> str:
    """A number with its unit, `7 (hops)`; a unit that has brackets itself gets no others: `7 seconds (travel time)`."""
    return f"{number(value)} {unit}" if _BRACKETS & set(unit) else f"{number(value)} ({unit})"


def in_unit(what: str, unit: str) -> str:
    """What is measured, and its unit: `distance (hops)`, or `distance, seconds (travel time)`."""
    return f"{what}, {unit}" if _BRACKETS & set(unit) else f"{what} ({unit})"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 tree`, `2 trees`, `2 vertices`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def answered(queries: QueryFacts) -> str:
    """Describe answered queries."""
    words = ", ".join(f"{word} {queries.decided[word]:,}" for word in ("same", "filter", "positive cut", "search"))
    unknown = f", {queries.unknown:,} unknown" if queries.unknown else ""
    proof = f" ({queries.witnessed:,} paths and {queries.sampled:,} without one checked)" if queries.searched else ""
    return f"{queries.rows:,} pairs: {queries.reachable:,} reachable{unknown}; decided by {words}{proof}"


def changed(state: StateFacts) -> str:
    """Describe what the last file of changes did to a graph."""
    done = ", ".join(f"{count:,} {name}" for name in ("inserted", "deleted", "updated") if (count := getattr(state, name)))
    left_out = sum(state.violations.values())
    more = (f"; {counted(state.vertices, 'new vertex', 'new vertices')}" if state.vertices else "") + (
        f"; {counted(left_out, 'row')} left out" if left_out else ""
    )
    return f"{done or 'none'}{more}; file {state.number} since the source was read"


def changed_values(columns: Mapping[str, int], largest: Mapping[str, float]) -> list[str]:
    """How many values of each column differ, and the largest difference of numbers: `distance 2 times by up to 7`."""
    return [
        f"{name} {counted(count, 'time')}" + (f" by up to {number(largest[name])}" if name in largest else "")
        for name, count in columns.items()
    ]


def witnessed(paths: PathFacts) -> str:
    """Describe witness paths."""
    sizes = f"{counted(paths.vertices, 'vertex', 'vertices')}, the longest of {counted(paths.longest, 'arc')}"
    return f"{counted(paths.paths, 'witness path')} with {sizes}; each arc checked"


def read_as(facts: InputFacts) -> dict[str, str]:
    """Describe how a source was read: a label and a sentence for each fact."""
    columns, kind = facts.columns or {}, "directed" if facts.directed else "undirected"
    names = ", ".join(f"{role} {name!r}" for role in _ROLES if (name := columns.get(role)))
    ignored = f"; not read: {', '.join(map(repr, facts.ignored_columns))}"[:200] if facts.ignored_columns else ""
    each = "an arc" if facts.directed else "two arcs, one in each direction"
    by = {"configuration": "stated by the configuration", "file": "stated by the file", "format": "by default for this format"}
    weight = f"{facts.weight}, column {columns['weight']!r}" if "weight" in columns else facts.weight
    member = f", {facts.source.member!r} of the archive" if facts.source.member else ""
    said = {
        "Format": f"{facts.format}{member}{f'; columns {names}{ignored}' if columns else ''}",
        "Direction": _opened(rows) if (rows := facts.directions) else f"{kind}, an edge is {each} ({by[facts.directed_by]})",
        "Weights": _weighed(facts, f"{weight}, in {facts.measure}" if facts.measure else weight),
        "Self-loops": _handled(facts.self_loops, facts.self_loops_kept, "dropped"),
        "Parallel arcs": _handled(facts.parallel_arcs, facts.parallel_arcs_kept, _parallel(facts)),
    }
    if facts.merged and facts.merged.rule == "count":
        said["Weights"] = "int64, the number of rows of each edge"
    if facts.capacities:
        said["Capacities"] = f"sums of parallel rows, for stage max_flow; {_merged(facts.capacities)}"
    if times := facts.travel_times:
        said["Weights"] = f"{facts.weight}, in {facts.measure}, {_timed(times, columns)}"
    if facts.roads:
        said |= _of_roads(facts.roads)
    if on := facts.attached:
        streets, far = counted(on.streets, "street"), length(on.farthest)
        said["Places"] = f"{on.places:,} on {streets}, {on.at_crossings:,} of them at crossings; the farthest is {far} away"
        if facts.roads and facts.roads.turns and facts.roads.turns.matter:
            said["Places"] += "; no path turns round there"
    if facts.stated:
        said["The file states"] = ", ".join(f"{name} {figure:,}" for name, figure in facts.stated.items())
    if facts.rejected:
        said["Rejected"] = f"{facts.rejected.rows:,} of {counted(facts.rejected.read, 'row')}, which are in table rejected"
    if facts.node_rows is not None:
        said["Nodes"] = f"{counted(facts.node_rows, 'row')}, {facts.unmatched_node_rows or 0:,} of which match no vertex"
    if files := facts.source.files:
        ends = files.listed[0].name + (f" to {files.listed[-1].name}" if files.count == len(files.listed) > 1 else "")
        ends += f" and {files.count - 1:,} more" if files.count > len(files.listed) else ""
        ignored = f"; {files.ignored:,} ignored: hidden, unfinished or empty" if files.ignored else ""
        said = {"Files": f"{files.count:,}, {size(facts.source.bytes)}: {ends}{ignored}"} | said
    if facts.sources is not None:
        listed = ", ".join(map(str, (facts.source_names or facts.sources)[:12])) + (
            f" and {len(facts.sources) - 12:,} more" if facts.sources[12:] else ""
        )
        said["Sources"] = f"{listed or 'none'} ({f'by default: {facts.default_source}' if facts.default_source else 'as given'})"
    return said


def _weighed(facts: InputFacts, weights: str | None) -> str:
    if weights is None:
        return "none; every arc weighs 1"
    if facts.counted:
        return f"{weights}; counted in units of {10.0**-facts.counted.decimals:.{facts.counted.decimals}f}, so sums are exact"
    return f"{weights}; not counted in units, so sums are rounded" if facts.weight in FLOATS else weights


def _opened(rows: DirectionCounts) -> str:
    counts = f"{rows.both:,} in both directions, {rows.forward:,} forward only, {rows.reverse:,} in reverse only"
    return f"directed, as the rows of the file say: {counts}, {rows.closed:,} closed"


def _timed(times: TravelTimeFacts, columns: Mapping[str, str]) -> str:
    quotient = f"column {columns['weight']!r} ({times.length_unit}) over {columns['speed']!r} ({times.speed_unit})"
    absent = ""
    if times.by_default:
        rows = counted(times.rows, "row")
        absent = f"; {times.by_default:,} of {rows} state no speed, and have {times.default:g} {times.speed_unit}"
    return f"{quotient}, rounded {times.rounding}{absent}"


def _of_roads(roads: RoadFacts) -> dict[str, str]:
    """Which ways are streets, which are not and why, and what else was left out."""
    left = ", ".join(
        f"{reason} {count:,}" for reason, count in sorted(roads.ways_left.items(), key=lambda one: (-one[1], one[0]))
    )
    counts = {
        "chain that ends where it begins": roads.loops, "missing node": roads.missing_nodes, "barrier": roads.barriers,
        "way cut there": roads.cut_ways, "node twice in a row": roads.repeated_nodes,
        "duplicate node": roads.duplicate_nodes, "duplicate way": roads.duplicate_ways,
    }  # fmt: skip
    if own := roads.overture:
        obeyed = "" if roads.turns and roads.turns.restrictions else ", not respected"
        counts |= {
            f"prohibited transition{obeyed}": own.transitions, "conditional rule, not read": own.conditional,
            "closed part": own.closed_parts, "connector at another place": own.apart,
        }  # fmt: skip
    way, ends = ("segment", "connectors") if roads.overture else ("way", "crossings and ends")
    chains = f"{counted(roads.chains, 'chain')} between {ends}"
    more = [f"{name}: {count:,}" for name, count in counts.items() if count]
    said = {
        "Streets": f"{counted(roads.ways, way)} for profile {roads.profile}: {'; '.join([chains, *more])}",
        f"Other {way}s": f"{sum(roads.ways_left.values()):,}{f': {left}' if left else ''}",
    }
    if roads.timestamp or roads.sequence is not None:
        replicated = "" if roads.sequence is None else f", number {roads.sequence:,} of its replication"
        said["Extract"] = f"as of {roads.timestamp or 'an unknown time'}{replicated}"
    if made := roads.updates:
        put = f"{counted(made.nodes, 'node')} and {counted(made.ways, 'way')} put, {counted(made.deleted, 'element')} deleted"
        aside = {"absent": made.absent, "older than the extract's": made.older}
        put += "".join(f", {count:,} {what}" for what, count in aside.items() if count)
        until = f", up to {made.timestamp}" if made.timestamp else ""
        said["Changes"] = f"{counted(made.files, 'file')} since the extract: {put}{until}"
    if roads.islands:
        said["Islands"] = f"{roads.islands:,} left out, with {counted(roads.island_vertices, 'vertex', 'vertices')}"
    if roads.turns:
        said["Turns"] = _of_turns(roads.turns, "transition" if roads.overture else "relation")
    return said


def _of_turns(turns: TurnFacts, stated: str) -> str:
    """Which restrictions paths obey, of how many that are `stated`, which not and why, and what turns cost."""
    left = [f"{reason}: {count:,}" for reason, count in turns.left.items()]
    costs = [f"{name.replace('_', '-')}: {cost / 1000:g}" for name, cost in (turns.costs or {}).items()]
    obeyed = [f"{counted(turns.restrictions, 'restriction')}, of {counted(turns.relations, stated)}"]
    return "; ".join(
        [*obeyed, *([f"not obeyed: {', '.join(left)}"] if left else []), *([f"costs: {', '.join(costs)}"] * bool(costs))]
    )


def _parallel(facts: InputFacts) -> str:
    """What becomes of parallel arcs that are not kept."""
    if not facts.merged:
        which = "one" if facts.parallel in ("heaviest", "first", "last") else "the lightest"  # without weights
        return f"dropped; {which} of each pair stays"
    by = f" by column {facts.merged.order!r}" if facts.merged.order else ""
    stays = {"sum": "an edge weighs the sum of its rows", "count": "an edge weighs the number of its rows"}
    return f"merged; {stays.get(facts.merged.rule, f'the {facts.merged.rule} of each pair{by} stays')}; {_merged(facts.merged)}"


def _merged(merging: MergeFacts) -> str:
    return f"{merging.rows:,} rows became {counted(merging.pairs, 'edge')}, {merging.repeated:,} of up to {merging.most:,} rows"


def _handled(count: int, kept: bool, dropped: str) -> str:
    return f"{count:,}, {'kept' if kept else dropped}" if count else "none"


def located(query: str) -> str:
    """A query with the marks of the folders of the tables, which publication replaces."""
    return str(query).replace("{folder}", FOLDER).replace("{own}", OWN)
