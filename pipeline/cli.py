"""The entry of the command `graphmill`, which handles signals before it imports anything that takes time."""

from typing import NoReturn

from pipeline.ending import run_command


def main() -> NoReturn:
    """Run the command and end the process."""
    run_command("graphmill", _work)


def _work() -> None:
    import gc
    import logging

    gc.set_threshold(50_000)  # imports make no garbage, and search for it for a fifth of their time

    from pipeline.command import app

    logging.basicConfig(level=logging.INFO, format="%(asctime)s  %(message)s", datefmt="%H:%M:%S")
    app()


if __name__ == "__main__":
    main()
