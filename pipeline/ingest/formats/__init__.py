"""The formats of source files: one module each, which declares how to recognise and read it, and `detect`, which chooses one."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from pipeline.config import formats
from pipeline.ingest.formats.format import FileFormat, TextFormat


class _Formats(Mapping[str, TextFormat | FileFormat]):
    """The formats by their names; the module of one is imported when it is asked for."""

    def __getitem__(self, name: str) -> TextFormat | FileFormat:
        module, _, entry = formats.FORMATS[name].partition(":")
        declared: TextFormat | FileFormat = getattr(import_module(f"{__name__}.{module}"), entry)
        return declared

    def __iter__(self) -> Iterator[str]:
        return iter(formats.FORMATS)

    def __len__(self) -> int:
        return len(formats.FORMATS)


FORMATS = _Formats()
