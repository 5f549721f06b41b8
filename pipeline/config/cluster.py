"""The tables `[cluster]` and `[limits]` of a run's configuration."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from pipeline.config.model import AMOUNT, Finite, Model, Natural, Positive, bytes_of

MOST = 2**16  # processes, threads or ranks
_ADDRESS = re.compile(r"(?P<scheme>tls|tcp)://(?P<host>\[[0-9a-fA-F:]+\]|[^\s:/@\[\]]+):\d{1,5}")


class ClusterConfig(Model):
    """Which workers run the tasks of stages and proofs."""

    # `none`: threads of this process. `local`: processes of this machine, on loopback, started for the run. Otherwise the address
    # of a running Dask scheduler, `tls://HOST:PORT`; `tcp://` is allowed on loopback only.
    scheduler: str = Field(default="none", examples=["local"])
    # Number of local processes; 0 starts one per core, or one per GPU if the run uses GPUs, and at most one per rank of `shards`.
    workers: Annotated[Natural, Field(le=MOST)] = Field(default=0, examples=[4])
    threads: Annotated[Positive, Field(le=MOST)] = 1  # number of tasks that a local process runs at a time; always one with a GPU
    # Number of ranks that divide the graph among them; 0: every worker holds the whole graph. If there are more ranks than
    # workers, several run on one worker. Without a scheduler, ranks are threads of this process, and of its GPUs in
    # turn unless one GPU has memory for the graph, which then holds all of it.
    shards: Annotated[Natural, Field(le=MOST)] = Field(default=0, examples=[8])
    # Memory limit of a local process, such as `4 GiB`; one that exceeds it is stopped. `auto`: its share of the memory.
    memory: str = Field(default="auto", examples=["4 GiB"], pattern=rf"^(auto|{AMOUNT})$")
    # Number of workers that one task, or one stage over ranks, may lose before the stage fails. For tasks, a scheduler at an
    # address applies its own limit.
    lost_workers: Natural = 3
    # Seconds without a message after which a worker, all workers or the scheduler count as lost. Also the time for which a stage
    # over ranks waits until other runs return a worker. At least 12, because of TCP's keep-alive probes.
    deadline: Finite = Field(default=60.0, ge=12)
    # PEM file of the certificate authority. A `tls://` address needs this key and the next two.
    tls_ca: Path | None = Field(default=None, examples=["/etc/graphmill/ca.pem"])
    tls_cert: Path | None = Field(default=None, examples=["/etc/graphmill/host.pem"])  # PEM file of this side's certificate
    tls_key: Path | None = Field(default=None, examples=["/etc/graphmill/host.key"])  # PEM file of its private key

    @property
    def elsewhere(self) -> bool:
        """Whether ranks, which read the edge list, may run on other machines."""
        return self.shards > 0 and self.scheduler not in {"none", "local"}

    def local_workers(self, most: int) -> int:
        """The number of local processes where there are `most` cores or GPUs."""
        return self.workers or min(most, self.shards or most)

    @model_validator(mode="after")
    def _safe(self) -> "ClusterConfig":
        """Refuse unprotected addresses: Dask sends pickles, so anyone who connects to a scheduler can run code as its user."""
        if self.scheduler in {"none", "local"}:
            return self
        address = _ADDRESS.fullmatch(self.scheduler)
        if not address:
            raise ValueError("scheduler: must be none, local or an address such as tls://HOST:8786")
        if address["scheme"] == "tcp" and not is_loopback(address["host"]):
            raise ValueError("scheduler: an address beyond loopback must be tls://")
        if address["scheme"] == "tls" and not (self.tls_ca and self.tls_cert and self.tls_key):
            raise ValueError("scheduler: a tls:// address needs tls_ca, tls_cert and tls_key")
        return self


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to the host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class LimitsConfig(Model):
    """What a run may take of its machine."""

    # Memory that the process of the run may take, such as `8 GiB`, beside that of local workers ([cluster] memory). Without this
    # key it is what the machine, and the control groups of the process, have.
    memory: str | None = Field(default=None, examples=["8 GiB"], pattern=f"^{AMOUNT}$")
    # The same of each GPU of the process. Arcs that do not fit are read from the host's memory.
    gpu_memory: str | None = Field(default=None, examples=["40 GiB"], pattern=f"^{AMOUNT}$")

    @field_validator("memory", "gpu_memory")
    @classmethod
    def _not_zero(cls, amount: str | None) -> str | None:
        if amount is not None and not bytes_of(amount):
            raise ValueError("must be at least a byte")
        return amount

    @property
    def bytes(self) -> int | None:
        """The memory in bytes."""
        return None if self.memory is None else bytes_of(self.memory)

    @property
    def gpu_bytes(self) -> int | None:
        """The memory of a GPU in bytes."""
        return None if self.gpu_memory is None else bytes_of(self.gpu_memory)
