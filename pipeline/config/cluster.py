"""The table `[cluster]` of a run's configuration."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

from pydantic import Field, model_validator

from pipeline.config.model import Model, Natural, Positive

_ADDRESS = re.compile(r"(?P<scheme>tls|tcp)://(?P<host>\[[0-9a-fA-F:]+\]|[^\s:/@\[\]]+):\d{1,5}")


class ClusterConfig(Model):
    """Where the pieces of stages and proofs run; `pipeline.cluster.client` says what Dask is told.

    Attributes
    ----------
    scheduler : str
        `none`: threads of this process. `local`: processes of this machine, on loopback, started for the run. Else the address
        of a running Dask scheduler, `tls://HOST:PORT`; `tcp://` is for loopback alone.
    workers : int
        Local processes; 0 takes one a core, or on GPUs one a GPU.
    threads : int
        Pieces at a time in a local process; a GPU has one.
    shards : int
        Over how many ranks a graph lies, each with a range of its rows, for the stages that can; 0: every worker has all of it.
        With more ranks than workers some share one. Without a scheduler they are threads of this process.
    memory : str
        What a local process may take before it is ended, such as `4 GiB`; `auto` takes its share of the machine.
    lost_workers : int
        How many workers may die of one piece, or of a stage over shards, before the stage fails. For pieces a scheduler at an
        address has a limit of its own.
    deadline : float
        Seconds of silence after which a worker, all workers or the scheduler are lost; 12 at the least, for the probes of TCP.
    tls_ca, tls_cert, tls_key : Path or None
        PEM files of a `tls://` address: who signs, and this side's certificate and key.
    """

    scheduler: str = "none"
    workers: Natural = 0
    threads: Positive = 1
    shards: Natural = 0
    memory: str = Field(default="auto", pattern=r"^(auto|\d+(\.\d+)? ?([kMGT]i?)?B)$")
    lost_workers: Natural = 3
    deadline: float = Field(default=60.0, ge=12, allow_inf_nan=False)
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @model_validator(mode="after")
    def _safe(self) -> ClusterConfig:
        """Dask comms carry pickles: who reaches a scheduler runs code as its user."""
        if self.scheduler in {"none", "local"}:
            return self
        address = _ADDRESS.fullmatch(self.scheduler)
        if not address:
            raise ValueError("scheduler: neither none nor local nor an address like tls://HOST:8786")
        if address["scheme"] == "tcp" and not is_loopback(address["host"]):
            raise ValueError("scheduler: an address beyond loopback must be tls://")
        if address["scheme"] == "tls" and not (self.tls_ca and self.tls_cert and self.tls_key):
            raise ValueError("scheduler: a tls:// address needs tls_ca, tls_cert and tls_key")
        return self


def is_loopback(host: str) -> bool:
    """Whether what listens there is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
