"""Servers on loopback that receive notifications: a webhook, and e-mail by SMTP."""

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def webhook():
    """The address of a webhook, and the list of the JSON that it receives."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}/hook", received


@contextmanager
def mailbox():
    """The port of an SMTP server, and the list of the messages that it receives."""
    received = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.answer("220 ready")
            for line in self.rfile:
                command = line[:4].upper()
                if command == b"DATA":
                    self.answer("354 go on")
                    received.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                self.answer("221 bye" if command == b"QUIT" else "250 ok")
                if command == b"QUIT":
                    return

        def answer(self, text):
            self.wfile.write(f"{text}\r\n".encode())

    with served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        yield port, received


@contextmanager
def served(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with server:
        yield server.server_address[1]
        server.shutdown()
