"""The end of a command: one line on standard error if it fails, and no finalization of the interpreter."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from pipeline import signals
from pipeline.cli import output
from pipeline.cli.atexit_internals import run_exit_functions

PATIENCE = 60  # seconds for functions of libraries, such as one that waits for its threads


def run_command(name: str, work: Callable[[], None]) -> NoReturn:
    """Call `work` in a thread, print in one line how it ended, and end the process; a bug also prints its traceback.

    The exit code is 0, 1 after an error, that of a SystemExit, or 128 + N after signal N, which does not wait for `work`. It is
    also 1 if standard output cannot be written, and was all that the command has to give.
    """
    signals.listen()
    output.protect()
    status, line = 1, None
    try:
        signals.apart(work)
        status = 0
    except signals.Interrupted as end:
        status, line = 128 + end.number, "; ".join(filter(None, [f"ended by {signal.Signals(end.number).name}", end.outlook]))
    except SystemExit as end:
        if isinstance(end.code, str):
            line = end.code
        else:
            status = end.code or 0
    except BaseException as error:
        line = _message_of(error)
    signals.ignore()
    if not status:
        status, line = output.outcome()
    _leave(status, line and f"{name}: {line}")


def _message_of(error: BaseException) -> str:
    from pipeline.errors import message

    line = message(error) if isinstance(error, Exception) else None
    if line is None:
        import traceback

        from pipeline.redaction import quoted, redacted

        print(redacted("".join(traceback.format_exception(error))), end="", file=sys.stderr)
        return quoted(f"failed: {type(error).__name__}: {error}")
    return line


def _leave(status: int, line: str | None) -> NoReturn:
    """Run the functions registered for the exit, at most for `PATIENCE`, print the line, and end.

    The interpreter's finalization is left out: a thread of a library that is still running may abort the process in it.
    """

    def end(*_: object) -> NoReturn:
        signal.alarm(0)
        _stop_logging()
        with suppress(OSError, ValueError):  # a closed pipe
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            if line:
                print(line, file=sys.stderr)
            sys.stderr.flush()
        os._exit(status)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(PATIENCE)
    run_exit_functions()
    end()


def _stop_logging() -> None:
    """Let threads that are still running log nothing below the last line: whatever they began to log waits for ever."""
    logging.disable()
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    handlers = [handler for logger in loggers if isinstance(logger, logging.Logger) for handler in logger.handlers]
    for handler in (*handlers, logging.lastResort):
        if handler and handler.lock:
            handler.lock.acquire(timeout=1)  # a thread that holds it may be waiting for a pipe that nobody reads
