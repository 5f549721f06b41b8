"""The entry of the command `graphmill`, which handles signals before it imports anything that takes time."""

from typing import NoReturn

from pipeline.cli.ending import run_command
from pipeline.runtime.interpreter import keep_freed_memory


def main() -> NoReturn:
    """Run the command and end the process."""
    keep_freed_memory()
    run_command("graphmill", _work)


def _work() -> None:
    import logging
    import os
    import sys

    from pipeline.runtime.interpreter import prepare_interpreter

    prepare_interpreter()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would read the metadata of every package to find some

    from cyclopts import CycloptsError

    from pipeline.cli.command import app
    from pipeline.redaction import quoted

    if (empty := _empty(sys.argv[1:])) is not None:
        print(f"graphmill: {empty} is empty; is a variable of the shell not set?", file=sys.stderr)
        sys.exit(2)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s  %(message)s", datefmt="%H:%M:%S")
    try:
        app(exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"graphmill: {quoted(' '.join(str(error).split()))}", file=sys.stderr)
        sys.exit(2)


def _empty(arguments: list[str]) -> str | None:
    """The first argument without content, which as a path would be the current folder; a vertex of `path` may have no name."""
    for number, argument in enumerate(arguments, 1):
        option, equals, value = argument.partition("=")
        if not argument and arguments[0] != "path":
            return f"argument {number}"
        if option.startswith("--") and equals and not value:
            return option
    return None
