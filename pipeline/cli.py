"""The entry of the command `graphmill`, which handles signals before it imports anything that takes time."""

import sys
from typing import NoReturn

from pipeline.ending import run_command


class _WithoutPandas:
    """Arrow imports pandas, if it is installed, to recognise its objects. There are none here, and that takes half a second."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Find no pandas, and leave all else to others."""
        if fullname == "pandas":
            raise ModuleNotFoundError("graphmill does not use pandas", name=fullname)


def main() -> NoReturn:
    """Run the command and end the process."""
    run_command("graphmill", _work)


def _work() -> None:
    import logging

    from pipeline.command import app

    sys.meta_path.insert(0, _WithoutPandas())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s  %(message)s", datefmt="%H:%M:%S")
    app()


if __name__ == "__main__":
    main()
