"""The formats of source files: one module each, which declares how to recognise and read it, and `detect`, which chooses one."""

from importlib import import_module

from pipeline.config import formats
from pipeline.ingest.formats.format import FileFormat, TextFormat


def _declared(where: str) -> TextFormat | FileFormat:
    module, _, name = where.partition(":")
    entry: TextFormat | FileFormat = getattr(import_module(f"{__name__}.{module}"), name)
    return entry


FORMATS = {name: _declared(where) for name, where in formats.FORMATS.items()}
