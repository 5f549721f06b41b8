"""The entry of the command `graphmill`, which handles signals before it imports anything that takes time."""

from typing import NoReturn

from pipeline.ending import run_command


def main() -> NoReturn:
    """Run the command and end the process."""
    run_command("graphmill", _work)


def _work() -> None:
    import logging
    import sys

    from pipeline.runtime.interpreter import prepare_interpreter

    prepare_interpreter()

    from cyclopts import CycloptsError

    from pipeline.command import app
    from pipeline.redaction import quoted

    logging.basicConfig(level=logging.INFO, format="%(asctime)s  %(message)s", datefmt="%H:%M:%S")
    try:
        app(exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"graphmill: {quoted(' '.join(str(error).split()))}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
