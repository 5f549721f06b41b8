"""The version of the code that a step uses must be the same in the run's process and on every worker."""

from dataclasses import dataclass

from pipeline.errors import BadConfig
from pipeline.store.code import Code


@dataclass(frozen=True)
class CodeVersion:
    """The code that a task uses, and its version in the process of the run."""

    code: Code
    version: str

    @classmethod
    def of(cls, code: Code) -> "CodeVersion":
        """The version in this process."""
        return cls(code, code.version())

    def require(self) -> None:
        """Raise BadConfig unless this process has the same version."""
        if self.code.version() != self.version:
            raise BadConfig("cluster: the scheduler or a worker has other code than this run; install the same everywhere")
