"""What a program without credentials can do with the listening sockets of a run: any user and any web page reaches loopback."""

import asyncio
import socket
import ssl
from contextlib import suppress

import httpx
import psutil
import websockets
from distributed import rpc

ELSEWHERE = "https://elsewhere.example"
PATIENCE = 20.0  # seconds for one answer, on a busy machine
# Prefect's API, its streams, Dask's pages and its metrics; a flow run with a command is what a page once made a worker execute.
READS = ("api/admin/version", "api/admin/settings", "api/csrf-token?client=stranger", "info/main/workers.html", "status",
         "json/counts.json", "metrics", "api/v1/adaptive_target", "individual-workers", "jupyter")  # fmt: skip
LISTS = ("flows", "flow_runs", "deployments", "logs", "artifacts", "variables", "block_documents", "events")
COMMAND = {
    "job_variables": {"command": "touch /tmp/owned"},
    "name": "stranger",
    "flow_id": "0" * 32,
    "state": {"type": "SCHEDULED"},
}
WRITES = ("flows/", "flow_runs/", "deployments/", "work_pools/", "variables/", "admin/database/clear",
          f"deployments/{'0' * 32}/create_flow_run")  # fmt: skip


def listening(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    """Where they listen: addresses and ports; names of local sockets with port 0."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            sockets = [each for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN or not each.raddr]
            found |= {(str(each.laddr.ip), each.laddr.port) for each in sockets if each.laddr}
            found |= {(str(each.laddr), 0) for each in process.net_connections("unix") if each.laddr}
    return found


def exposed(listeners: set[tuple[str, int]]) -> list[str]:
    """What is wrong with them: an address that is not loopback, or something that a stranger is not refused."""
    assert listeners
    beyond = [f"{name}:{port} is not loopback" for name, port in listeners if name != "127.0.0.1"]
    return beyond + [f"{port}: {what}" for name, port in listeners if name == "127.0.0.1" for what in admitted(port)]


def admitted(port: int) -> list[str]:
    """Everything that a stranger at `port` of loopback was not refused."""
    try:
        found = requests(port)
    except httpx.TransportError:  # it does not speak HTTP, but perhaps one of these
        found = ["Dask's protocol"] if asyncio.run(speaks_dask(port)) else []
        return found + (["TLS without a certificate"] if encrypts(port) else [])
    return found + [f"stream {path}" for path in ("events/in", "events/out", "logs/out") if asyncio.run(streams(port, path))]


def requests(port: int) -> list[str]:
    """What a page from elsewhere in a browser, or a program without a password, may read or write by HTTP."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Origin": ELSEWHERE}, timeout=PATIENCE) as client:
        unknown = client.get("/no-such-page").text  # Prefect's web interface answers every path with the same empty page

        def processed(answer: httpx.Response) -> bool:
            return answer.status_code not in (401, 403, 404, 405) and answer.text != unknown

        found = [f"GET {path}" for path in READS if processed(client.get(f"/{path}"))]
        found += [f"POST {path}/filter" for path in LISTS if processed(client.post(f"/api/{path}/filter", json={}))]
        found += [f"POST {path}" for path in WRITES if processed(client.post(f"/api/{path}", json=COMMAND))]
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        origin = client.options("/api/flow_runs/", headers=asked).headers.get("Access-Control-Allow-Origin")
        return found + ([f"origin {origin}"] if origin else [])


async def streams(port: int, path: str) -> bool:
    """Whether a stream of Prefect opens without a password."""
    for protocol in (None, ["prefect"]):
        with suppress(websockets.WebSocketException, OSError, EOFError):
            url = f"ws://127.0.0.1:{port}/api/{path}"
            async with websockets.connect(url, subprotocols=protocol, proxy=None, open_timeout=PATIENCE) as stream:
                await stream.send('{"type": "auth", "token": "graphmill:graphmill"}')
                if "auth_success" in str(await asyncio.wait_for(stream.recv(), PATIENCE)):
                    return True
    return False


async def speaks_dask(port: int) -> bool:
    """Whether Dask's protocol, in which any client can execute code, is answered without TLS."""
    with suppress(OSError, asyncio.TimeoutError):
        async with rpc(f"tcp://127.0.0.1:{port}", timeout=PATIENCE) as scheduler:
            return bool(await asyncio.wait_for(scheduler.identity(), PATIENCE))
    return False


def encrypts(port: int) -> bool:
    """Whether a client without a certificate gets an answer; its handshake succeeds in TLS 1.3, the first read fails."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE) as plain, context.wrap_socket(plain) as made:
        made.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return bool(made.recv(1))
    return False
