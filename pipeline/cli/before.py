"""The commands about a run before it begins, `check` and `estimate`. They print text, or one JSON document with `--json`."""

from pathlib import Path

from pipeline.cli.arguments import Json, print_json
from pipeline.cli.options import NO_OPTIONS, RunOptions
from pipeline.cli.output import print_rows
from pipeline.units import size


def check(graph: str, /, *more: str, options: RunOptions = NO_OPTIONS, as_json: Json = False) -> None:
    """Read a graph and all other files of a run with all checks of a run, print how the graph was read, and keep nothing.

    ```
    graphmill check streets.csv --src from --dst to
    graphmill check conf/runs/new-york.toml
    ```

    The options are those of `graphmill run`; the output folder is neither read nor written. While it runs, the command keeps its
    files in a private folder of the machine's temporary folder (TMPDIR).

    Args:
        graph: The `.toml` file of a run or a graph, or a graph: a file, a folder of files or a pattern such as `parts/*.csv`; a
            path, or a URL that fsspec opens.
        more: Further files, folders and patterns of the same graph.
    """
    import tempfile
    from dataclasses import asdict

    from pipeline.ingest.again import steadily
    from pipeline.inspection.check import check
    from pipeline.report.wording import counted, read_as
    from pipeline.runtime.memory_watch import followed

    config = options.config(graph, Path(tempfile.gettempdir()), more=more)
    with followed():
        valid = steadily(config.files, lambda: check(config))
    if as_json:
        custom = {name: asdict(stage) for name, stage in valid.custom.items()}
        print_json(
            {"vertices": valid.vertices, "arcs": valid.arcs, "input": valid.input.stored()}
            | {"files": [asdict(file) for file in valid.files]}
            | ({"custom": custom} if custom else {})
        )
        return
    print(f"\n{valid.title}: {counted(valid.vertices, 'vertex', 'vertices')}, {counted(valid.arcs, 'arc')}; the graph is valid")
    rows = [[it.key, it.file, "" if it.rows is None else f"{it.rows:,}", it.how] for it in valid.files]
    print_rows(["read by key", "file", "rows", "how"], rows, right=(2,))
    print()
    for what, sentence in read_as(valid.input).items():
        if what not in ("Format", "Nodes"):  # which are in the table
            print(f"  {what.lower():<20} {sentence}")


def estimate(run: str, /, *more: str, options: RunOptions = NO_OPTIONS, as_json: Json = False) -> None:
    """Estimate the time, memory, disk space and GPU memory of a run, and compare them with what is free.

    ```
    graphmill estimate conf/runs/new-york.toml
    graphmill estimate roads.gr.gz --stages sssp --out /data/roads
    ```

    The options are those of `graphmill run`. Only the beginning of the source is read. The exit code is 1 if something does not
    fit.

    Args:
        run: The `.toml` file of a run or a graph, or a graph: a file, a folder of files or a pattern such as `parts/*.csv`; a
            path, or a URL that fsspec opens.
        more: Further files, folders and patterns of the same graph.
    """
    from dataclasses import asdict

    from pipeline.errors import TooLarge
    from pipeline.inspection.estimate import estimate
    from pipeline.units import duration

    config = options.config(run, Path(), more=more)
    estimated = estimate(config)
    sizes, title = estimated.sizes, config.graph.title
    if as_json:
        print_json({**asdict(estimated), "total": estimated.total})
    else:
        about = "" if sizes.exact else "about "
        vertices = f"about {sizes.vertices:,} vertices"
        print(f"{title}: {about}{sizes.edges:,} edges ({sizes.origin}), {vertices}; {estimated.backend}, {estimated.cores} cores")
        rows = {"start and end": estimated.start, **estimated.seconds, "whole run": estimated.total}
        steps = [[step, duration(seconds)] for step, seconds in rows.items()]
        print_rows(["step", "takes about"], steps, right=(1,))
        slow = f" on cores that take {estimated.slowness:.1f} times as long" if estimated.backend == "cpu" else ""
        origin = "those of the previous run" if estimated.as_before else f"from measured rates (docs/performance.md){slow}"
        print(f"  seconds are {origin}")
        if estimated.not_estimated:
            print(f"  not in them, as nothing is known before their first run: {', '.join(estimated.not_estimated)}")
        print()
        needs = [[need.what, size(need.needed), size(need.free)] for need in estimated.needs]
        print_rows(["", "takes about", "free"], needs, right=(1, 2))
        if count := estimated.memory.workers:
            own, each = size(estimated.memory.own), size(estimated.memory.each)
            mapped = f"with maps of files, [cluster] memory counts {size(estimated.memory.mapped)} of each"
            print(f"  memory is that of the run, {own}, and of {count} workers, {each} each; {mapped}")
        if estimated.arcs_in == "host":
            print("  the GPU's memory does not hold the graph: the CPU lays it out, and stages read arcs from the host's")
        if estimated.memory.sparing:
            print("  the graph is laid out from the disk, because its edges do not fit into memory; stages read it from there")
    if short := [need for need in estimated.needs if not need.fits]:
        words = ", ".join(f"{size(need.needed)} of {need.what} where {size(need.free)} are free" for need in short)
        raise TooLarge(f"{title}: would take about {words}")
