"""What the project uses of Python's `atexit` that Python does not document: here only, tried with Python 3.11 to 3.13.

`tests/pipeline/cli/test_atexit_internals.py` fails if Python changes it.
"""

import atexit


def run_exit_functions() -> None:
    """Call what was registered for the exit, the newest first, without waiting for other threads, as Python's own exit does.

    Without the name, a command ends with an AttributeError after its work.
    """
    atexit._run_exitfuncs()
