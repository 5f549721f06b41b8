"""Connections between ranks of one machine: messages of any size at the same time, ends, and other users."""

import os
import select
import socket
from concurrent.futures import ThreadPoolExecutor
from secrets import token_hex
from types import SimpleNamespace

import numpy as np
import pytest

from kernels.graph import Array
from pipeline.cluster.dask.connection import SocketConnection, is_own
from pipeline.cluster.dask.sockets import BetweenProcesses, on_one_machine

MESSAGES = [np.arange(3), np.zeros(0, np.int32), np.ones((2, 3), np.bool_), np.array(7.5), np.arange(3_000_000)]


@pytest.fixture
def pair():
    with ThreadPoolExecutor(2) as threads:
        ends = [SocketConnection(end) for end in socket.socketpair()]
        yield ends, threads
        for end in ends:
            end.close()


def exchange(connection: SocketConnection, sent: Array) -> Array:
    connection.begin(sent)
    while connection.awaited:
        poll = select.poll()
        poll.register(connection, connection.awaited)
        poll.poll()
        connection.advance()
    return connection.received


@pytest.mark.parametrize("second", MESSAGES)
@pytest.mark.parametrize("first", MESSAGES)
def test_both_ends_send_and_receive_at_the_same_time(first, second, pair):
    (left, right), threads = pair
    for _ in range(2):
        there, here = threads.map(exchange, (left, right), (first, second))
        for found, expected in ((there, second), (here, first)):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found, expected)
            found[...] = 0  # the receiver owns it


def test_a_peer_may_close_its_end_when_it_has_all_it_needs(pair):
    (left, right), _ = pair
    left.begin(np.arange(5))
    right.begin(np.arange(6))
    left.advance()
    assert not left.awaited
    left.close()
    right.advance()
    np.testing.assert_array_equal(right.received, np.arange(5))


@pytest.mark.parametrize("sent", [0, 1, 8])
def test_a_peer_that_ends_early_is_an_error(sent):
    near, far = socket.socketpair()
    far.sendall(bytes([40, 0, 0, 0, 91, 34, 60, 105][:sent]))
    far.shutdown(socket.SHUT_WR)
    connection = SocketConnection(near)
    with pytest.raises(OSError, match="closed"):
        exchange(connection, np.arange(2))
    connection.close()
    far.close()


def test_sockets_of_other_users_are_recognised(monkeypatch):
    near, far = socket.socketpair()
    with near, far:
        assert is_own(near)
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        assert not is_own(near)


@pytest.fixture
def listener():
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(b"\0graphmill-" + token_hex(16).encode())
        listener.listen()
        yield listener


def test_a_rank_neither_connects_to_other_users_nor_lets_them_connect(listener, monkeypatch):
    rank = BetweenProcesses(SimpleNamespace(placement=["tls://127.0.0.1:1"] * 2, worker=None), 0, 12.0)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(PermissionError, match="another user"):
        rank._connected(listener.getsockname())
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(listener.getsockname())
        for _ in range(2):  # the first one is that of `_connected`
            rank._accept(listener)
        assert stranger.recv(1) == b""
    assert not rank._peers


def test_workers_are_on_one_machine_if_all_their_addresses_are_loopback():
    assert on_one_machine(["tls://127.0.0.1:1", "tcp://127.0.0.1:2"])
    assert not on_one_machine(["tls://127.0.0.1:1", "tls://10.0.0.5:2"])
