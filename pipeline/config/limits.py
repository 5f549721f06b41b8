"""The table `[limits]` of a run's configuration."""

from pydantic import Field

from pipeline.config.model import AMOUNT, Model, bytes_of


class LimitsConfig(Model):
    """What a run may take of its machine."""

    # Memory that the process of the run may take, such as `8 GiB`, beside that of local workers ([cluster] memory). Without this
    # key it is what the machine, and the control groups of the process, have.
    memory: str | None = Field(default=None, examples=["8 GiB"], pattern=f"^{AMOUNT}$")

    @property
    def bytes(self) -> int | None:
        """The memory in bytes."""
        return None if self.memory is None else bytes_of(self.memory)
