"""A connection between two ranks on one machine. In each exchange both send a message and receive one, at the same time."""

import json
import os
import select
import socket
import struct
from collections.abc import Generator

import numpy as np

from kernels.graph import Array

_LENGTH = struct.Struct("<I")  # of the description of a message, in bytes
_OWNER = struct.Struct("3i")  # of a socket: process, user, group


def is_own(connected: socket.socket) -> bool:
    """Whether the process at the other end of a local socket belongs to this process's user."""
    _, user, _ = _OWNER.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _OWNER.size))
    return bool(user == os.geteuid())


class SocketConnection:
    """One rank's end.

    Attributes:
        awaited: The events of `select.poll` without which the exchange does not go on; 0 if it is complete.
        received: The array that arrived in the last exchange, which belongs to the caller.

    Raises:
        OSError: The peer has closed its end, or is gone.
    """

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._unsent: list[memoryview] = []
        self.awaited = 0
        self.received: Array = np.empty(0)

    def fileno(self) -> int:
        """The descriptor of the socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection; what was sent can still be read at the other end."""
        self._socket.close()

    def begin(self, part: Array) -> None:
        """Begin an exchange, in which `part` is sent: a contiguous array of NumPy without fields, not changed until the end."""
        description, data = json.dumps([part.dtype.str, part.shape]).encode(), _bytes(part)
        self._unsent = [memoryview(_LENGTH.pack(len(description)) + description), data]
        self._receiving = self._receive()
        self._missing = next(self._receiving)
        self.awaited = select.POLLIN | select.POLLOUT
        self.advance()

    def advance(self) -> None:
        """Send and receive as much as is possible without waiting."""
        if self.awaited & select.POLLOUT:
            self._send()
        if self.awaited & select.POLLIN:
            self._read()

    def _send(self) -> None:
        try:
            while self._unsent:
                sent = self._socket.sendmsg(self._unsent)
                while self._unsent and sent >= len(self._unsent[0]):
                    sent -= len(self._unsent.pop(0))
                if self._unsent:
                    self._unsent[0] = self._unsent[0][sent:]
        except BlockingIOError:
            return
        self.awaited &= ~select.POLLOUT

    def _read(self) -> None:
        try:
            while True:
                while self._missing:
                    count = self._socket.recv_into(self._missing)
                    if not count:
                        raise ConnectionResetError("the connection was closed")
                    self._missing = self._missing[count:]
                self._missing = next(self._receiving)
        except BlockingIOError:
            return
        except StopIteration:
            self.awaited &= ~select.POLLIN

    def _receive(self) -> Generator[memoryview]:
        """Yield the buffers that the next message fills, one after the other."""
        length = bytearray(_LENGTH.size)
        yield memoryview(length)
        description = bytearray(*_LENGTH.unpack(length))
        yield memoryview(description)
        dtype, shape = json.loads(description)
        self.received = np.empty(shape, dtype)
        yield _bytes(self.received)


def _bytes(array: Array) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
