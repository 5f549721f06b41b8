"""The ranks of one graph on a worker: threads that communicate by transport.py, or between GPUs by NCCL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

from kernels.distributed.communicator import Communicator, PeerLost
from kernels.distributed.threads import on_daemon_thread
from pipeline.cluster.dask.code_version import CodeVersion
from pipeline.cluster.dask.nccl_bootstrap import between_gpus
from pipeline.cluster.dask.sockets import BetweenProcesses, on_one_machine
from pipeline.cluster.dask.transport import BetweenWorkers
from pipeline.cluster.dask.worker_state import STATE, Session
from pipeline.cluster.protocol import TaskContext
from pipeline.runtime.backend import Backend, use_gpu


@dataclass(frozen=True)
class Ranks:
    """What the ranks of a group call, `function(context)`; a worker calls this object with its part of the group.

    Raises:
        PeerLost: Ranks of this worker lost others.
        Exception: The first error of a rank that has another reason.
    """

    function: Callable[[TaskContext], object]
    backend: Backend
    deadline: float
    version: CodeVersion

    def __call__(self, session: Session) -> list[object]:
        """The results of the worker's ranks."""
        self.version.require()
        with STATE.gpu if self.backend == "gpu" else nullcontext():  # Dask tasks of other runs use it, too
            if self.backend == "gpu":
                use_gpu()
            running = [on_daemon_thread(partial(self._run, session, rank)) for rank in session.until]
            errors = [error for error in (rank.exception() for rank in running) if error]
        for error in sorted(errors, key=lambda error: isinstance(error, PeerLost)):
            raise error
        return [rank.result() for rank in running]

    def _run(self, session: Session, rank: int) -> object:
        transport = BetweenProcesses if on_one_machine(session.placement) else BetweenWorkers
        between = transport(session, rank, self.deadline)
        context = TaskContext(self.backend, STATE.open_graphs, 1, between, sharded=True, ranks_here=len(session.until))
        well = False
        try:
            with _fastest(between, self.backend) as communicator:
                result = self.function(replace(context, communicator=communicator))
            well = True
            return result
        finally:
            between.leave(well)


@contextmanager
def _fastest(between: BetweenWorkers, backend: Backend) -> Iterator[Communicator]:
    """NCCL if each rank has a worker, and so a GPU, of its own; otherwise the workers' connections."""
    if backend == "gpu" and len(set(between.placement)) == between.size:
        with between_gpus(between, between.placement) as communicator:
            yield communicator
    else:
        yield between
