"""A communicator between workers on one machine, over local sockets from rank to rank.

A message neither passes through the event loops of two workers nor is encrypted. Each rank requires that its peers' sockets
belong to its own user. Dask's connections transfer the sockets' names, and ask whether a rank that is waited for is there.
"""

import select
import socket
import struct
from collections.abc import Sequence
from secrets import token_hex
from urllib.parse import urlsplit

import numpy as np

from kernels.distributed.communicator import PeerLost
from kernels.graph import Array
from pipeline.cluster.dask.connection import SocketConnection, is_own
from pipeline.cluster.dask.transport import POLL, BetweenWorkers
from pipeline.cluster.dask.worker_state import Session
from pipeline.config.cluster import is_loopback

_RANK = struct.Struct("<I")


def on_one_machine(placement: Sequence[str]) -> bool:
    """Whether all workers are on one machine, by their addresses."""
    return all(is_loopback(urlsplit(address).hostname or "") for address in placement)


class BetweenProcesses(BetweenWorkers):
    """The communicator of one rank; see `BetweenWorkers`. All workers are on one machine."""

    def __init__(self, session: Session, rank: int, deadline: float) -> None:
        super().__init__(session, rank, deadline)
        self._peers: dict[int, SocketConnection] = {}

    def leave(self, well: bool) -> None:
        """See `BetweenWorkers.leave`."""
        for peer in self._peers.values():
            peer.close()
        super().leave(well)

    def _transfer(self, parts: Sequence[Array]) -> list[Array]:
        self.require_open()  # also where no rank ever waits for half a second
        if self.size > 1 and not self._peers:
            self._connect()
        try:
            for rank, peer in self._peers.items():
                peer.begin(parts[rank])
            unfinished = list(self._peers.values())
            while unfinished := [peer for peer in unfinished if peer.awaited]:
                self._advance(unfinished)
        except OSError as error:
            raise PeerLost(f"rank {self.rank}: another rank is gone: {error}") from None
        return [self._peers[rank].received if rank in self._peers else part for rank, part in enumerate(parts)]

    def _advance(self, unfinished: Sequence[SocketConnection]) -> None:
        """Wait for peers. Raises PeerLost if one has ended, OSError if it has just been lost."""
        poll = select.poll()
        for peer in unfinished:
            poll.register(peer, peer.awaited)
        ready = {descriptor for descriptor, _ in poll.poll(POLL * 1000)}
        if not ready:
            self.require_turn()
        for peer in unfinished:
            if peer.fileno() in ready:
                peer.advance()

    def _connect(self) -> None:
        """Connect to the lower ranks, and let the higher ones connect."""
        with socket.socket(socket.AF_UNIX) as listener:
            name = f"graphmill-{token_hex(16)}".encode()
            listener.bind(b"\0" + name)  # in the kernel's table of names, not in a folder
            listener.listen(self.size)
            listener.settimeout(POLL)
            names = super()._transfer([np.frombuffer(name, np.uint8)] * self.size)
            try:
                for rank in range(self.rank):
                    self._peers[rank] = self._connected(b"\0" + names[rank].tobytes())
                while len(self._peers) < self.size - 1:
                    self._accept(listener)
            except OSError as error:
                raise PeerLost(f"rank {self.rank}: another rank is gone: {error}") from None

    def _connected(self, name: bytes) -> SocketConnection:
        connected = socket.socket(socket.AF_UNIX)
        try:
            connected.settimeout(self._deadline)
            connected.connect(name)
            if not is_own(connected):
                raise PermissionError("its socket belongs to another user")
            connected.sendall(_RANK.pack(self.rank))
        except OSError:
            connected.close()
            raise
        return SocketConnection(connected)

    def _accept(self, listener: socket.socket) -> None:
        """Take the next connection, which says its rank. Raises PeerLost if no rank can connect any more."""
        try:
            connected, _ = listener.accept()
        except TimeoutError:
            self.require_turn()
            return
        if not is_own(connected):
            connected.close()
            return
        connected.settimeout(self._deadline)
        (rank,) = _RANK.unpack(connected.recv(_RANK.size, socket.MSG_WAITALL))
        self._peers[rank] = SocketConnection(connected)
