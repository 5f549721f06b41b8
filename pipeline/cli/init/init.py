"""The command `graphmill init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cli.options import NO_OPTIONS, RunOptions

if TYPE_CHECKING:
    from pipeline.cli.init.look import Seen


def init(
    graph: str,
    /,
    *more: str,
    to: Path = Path(),
    at: str = "02:15",
    timezone: str = "Etc/UTC",
    nearest: Path | None = None,
    isochrones: str | None = None,
    options: RunOptions = NO_OPTIONS,
) -> None:
    """Look at a graph file, or at the first of several, and write a configuration and a deployment for it.

    ```
    graphmill init people.csv
    graphmill init streets.csv --src from --dst to --weight seconds --at 03:00 --timezone Europe/Berlin
    graphmill init edges.csv --coordinates nodes.csv --nodes people.csv --nearest hospitals.csv --isochrones 5min,10min
    ```

    The command writes NAME.toml for `graphmill run`, with a comment at each key, and NAME.deployment.yaml for `python -m flows
    deploy`. Existing files are not overwritten. Only the beginning of the graph file is read; `graphmill check NAME.toml` reads
    all of it. A table such as `nodes.csv` in its folder is proposed for `--coordinates`, and g.v beside g.e for `--nodes`.

    Args:
        graph: A graph: a file, a folder of files or a pattern such as `parts/*.csv`, as a path or as a URL that fsspec opens.
        more: Further files, folders and patterns of the same graph.
        to: Folder of both files. Default: the current folder.
        at: Time of day of the nightly run.
        timezone: Time zone of `at`, as in the IANA database.
        nearest: File of facilities, such as hospitals, the nearest of which is found for each vertex: the key `facilities` of
            table `[nearest]`.
        isochrones: Comma-separated distances in the unit of the weights, or as 5min of travel times, within which the facilities
            are reached: table `[isochrones]`, with the area of each if there are coordinates, and the sums of all columns of
            numbers in `--nodes`.
    """
    import re
    from shlex import quote

    from pipeline.cli.init.look import look
    from pipeline.cli.init.write import configuration, deployment
    from pipeline.cli.output import accomplish
    from pipeline.config.changes import DiffOptions
    from pipeline.config.loading import checked
    from pipeline.config.products.isochrones import IsochronesConfig
    from pipeline.config.products.nearest import NearestConfig
    from pipeline.errors import BadConfig
    from pipeline.store.workspace import require_outside

    to = checked(DiffOptions, "options", output=to).output
    require_outside(to)
    if graph.endswith(".toml"):
        raise BadConfig(f"{graph}: is a configuration; init takes a graph file")
    cron = _cron(at, timezone)
    config = options.config(graph, Path("out"), more=more)
    seen = look(config.graph)
    name = re.sub(r"[^\w.-]+", "-", config.graph.title).strip("-.") or "graph"
    output = config.output if options.out else to.absolute() / "out" / name
    completed = seen.graph.model_copy(update={"name": config.graph.title})
    given: dict[str, Any] = {"graph": completed, "output": output}
    if nearest:
        given["nearest"] = checked(NearestConfig, "options", facilities=str(nearest))
    if isochrones:
        if not nearest:
            raise BadConfig("--isochrones: needs --nearest, the file of the places that are reached")
        within = {"thresholds": _thresholds(isochrones, seen), "sources": str(nearest), "direction": "to"}
        within |= {"sums": seen.beside.sums} if seen.beside.sums else {}
        given["isochrones"] = checked(IsochronesConfig, "options", **within, **({"polygons": True} if seen.placed else {}))
    config = config.model_copy(update=given | ({"named": True} if seen.named else {}))
    run = to.absolute() / f"{name}.toml"
    texts = {run: configuration(config, seen, run.parent)}
    texts[run.with_suffix(".deployment.yaml")] = deployment(run, seen, cron, timezone)
    for path in texts:
        if path.exists():
            raise BadConfig(f"{path}: already exists; remove it, or choose another --name or --to")
    _show(graph, seen)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    accomplish("both files are written")
    plan = run.with_suffix(".deployment.yaml")
    print(f"\nwrote {run}: the configuration, with comments\nwrote {plan}: a deployment, every night at {at} {timezone}")
    file, deployed = quote(str(run)), quote(str(plan))
    commands = "".join(f"  graphmill {command} {file}\n" for command in ("check", "estimate", "run"))
    print(f"\nnext:\n{commands}  python -m flows deploy {deployed}")


def _cron(at: str, timezone: str) -> str:
    from zoneinfo import available_timezones

    from pipeline.errors import BadConfig

    hour, _, minute = at.partition(":")
    if not (hour.isdecimal() and minute.isdecimal() and len(minute) == 2 and int(hour) < 24 and int(minute) < 60):
        raise BadConfig(f"--at {at}: is not a time of day such as 02:15")
    if timezone not in available_timezones():
        raise BadConfig(f"--timezone {timezone}: is not a time zone such as Etc/UTC or Europe/Berlin")
    return f"{int(minute)} {int(hour)} * * *"


def _thresholds(text: str, seen: "Seen") -> list[int | float]:
    """The distances that an option states: numbers, or lengths of time where weights are travel times, in milliseconds."""
    import re

    from pipeline.errors import BadConfig

    values = list[int | float]()
    for word in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)?\s*", word)
        if not match:
            raise BadConfig(f"--isochrones {text}: {word.strip()!r} is not a distance such as 1500, or a time such as 5min")
        if match[2] and not seen.graph.columns.speed:
            raise BadConfig(f"--isochrones {text}: the weights are not known to be travel times; state numbers in their unit")
        value = float(match[1]) * {"s": 1000, "min": 60_000, "h": 3_600_000, None: 1}[match[2]]
        values.append(int(value) if value.is_integer() else value)
    return values


def _show(file: str, seen: "Seen") -> None:
    from pipeline.redaction import quoted
    from pipeline.units import size

    graph, columns, sample = seen.graph, seen.graph.columns, seen.sample
    by_rows = "as the rows say" if columns.have_directions else "as stated"
    said = by_rows if seen.stated else "by default for this format; `directed = false` reads each line in both directions"
    rows = {"files": f"{seen.files:,}; the first one is shown"} if seen.files > 1 else {}
    rows |= {
        "format": f"{seen.format}{', compressed' if seen.compressed else ''}{f', {size(seen.bytes)}' if seen.bytes else ''}",
        "direction": f"{'directed' if seen.directed else 'undirected'} ({said})",
    }
    if sample:
        rows["columns"] = ", ".join(f"{name} ({kind})" for name, kind in sample.kinds.items())
        if seen.format != "parquet":
            rows["header line"] = "yes" if graph.header else "no: columns have numbers"
        guessed = ", ".join(f"{end} {seen.reasons[end]}" for end in ("src", "dst") if end in seen.reasons)
        rows["edges"] = f"from {columns.src} to {columns.dst}{f' (guessed: {guessed})' if guessed else ''}"
        why = {role: f" (guessed: {reason})" for role, reason in seen.reasons.items()}
        weight = f"{columns.weight}{why.get('weight', '')}"
        weight += f"; {seen.sums}" if seen.sums else ""
        numbers = ", ".join(name for name, kind in seen.unused.items() if kind in ("integer", "number"))
        such = f", such as {numbers}" if numbers else ""
        rows["weights"] = weight if columns.weight else f"none: every arc weighs 1; --weight COLUMN reads one{such}"
        named = {"oneway": columns.oneway, "reverse_weight": columns.reverse_weight}
        if columns.speed:
            rows["speeds"] = f"{columns.speed}{why.get('speed', '')}"
        if columns.have_directions:
            rows["directions"] = ", ".join(f"{role} {name}{why.get(role, '')}" for role, name in named.items() if name)
        if sample.written.why:
            rows["written"] = f"{sample.written.why} (guessed)"
        rows["not read"] = ", ".join(f"{name} ({kind})" for name, kind in seen.unused.items()) or "none: all columns are read"
    rows["ids"] = "text: `named = true` adds their names to every table" if seen.named else "integers"
    rows |= seen.beside.shown
    rows |= {f"note {number}": note for number, note in enumerate(seen.notes, 1)}
    if seen.is_of_roads:
        rows["profile"] = (
            f'{graph.osm.profile}; weights are travel times in milliseconds, or with `weight = "distance"` millimetres'
        )
        unread = "is known when all is read: graphmill check"
    else:
        unread = "there is none"
    rows["first edge"] = ", ".join(f"{name} {value}" for name, value in seen.first.items()) or unread
    print(quoted(file))
    for what, text in rows.items():
        print(f"  {what:<12} {quoted(text)}")
