"""Servers that fail between a client and the service, as networks and proxies do."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from typing_extensions import Self


class _Listener:
    """Accepts connections on a free local port, each in a thread of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(20)
            thread = threading.Thread(target=self._serve_safely, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve_safely(self, connection: socket.socket) -> None:
        # The client or the service may close its connection.
        with connection, contextlib.suppress(OSError):
            self.serve(connection)

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in list(self._threads):
            thread.join()


class LossyProxy(_Listener):
    """Forwards each request to the service on a connection of its own, and loses responses.

    Args:
        url: Address of the service.
        losses: Number of responses to lose: the service has executed the request, but the client gets no byte.
        max_bytes: Number of bytes of each response after which the connection is cut.
    """

    def __init__(self, url: str, *, losses: int = 0, max_bytes: int | None = None) -> None:
        self.losses = losses
        self.max_bytes = max_bytes
        self.requests: list[str] = []
        self._target = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        request = read_request(connection)
        if request == b"":
            return
        self.requests.append(request.split(b"\r\n", 1)[0].decode())
        with socket.create_connection(self._target, timeout=20) as service:
            service.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            sent = 0
            while chunk := service.recv(65536):
                if self.losses > 0:
                    self.losses -= 1
                    return
                rest = chunk if self.max_bytes is None else chunk[: self.max_bytes - sent]
                connection.sendall(rest)
                sent += len(rest)
                if len(rest) < len(chunk):
                    return


class ScriptedServer(_Listener):
    """Answers each request with the next of some responses, and with the last one from then on."""

    def __init__(self, responses: Sequence[bytes]) -> None:
        self.requests: list[bytes] = []
        self._responses = list(responses)
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        request = read_request(connection)
        if request == b"":
            return
        self.requests.append(request)
        response = self._responses.pop(0) if len(self._responses) > 1 else self._responses[0]
        connection.sendall(response)


class SlowServer(_Listener):
    """Sends the same response to each request: the head at once if there is a body, and the rest with 20 bytes a second."""

    def __init__(self, response: bytes) -> None:
        self._response = response
        self._is_closing = threading.Event()
        self.has_ended = False
        super().__init__()

    def close(self) -> None:
        self._is_closing.set()
        super().close()

    def serve(self, connection: socket.socket) -> None:
        if read_request(connection) == b"":
            return
        head, _, rest = self._response.partition(b"\r\n\r\n")
        start = head + b"\r\n\r\n" if rest else b""
        connection.sendall(start)
        for byte in rest or head:
            if self._is_closing.wait(0.05):
                return
            connection.sendall(bytes([byte]))
        self.has_ended = True


def create_response(status: int, body: str, **headers: str) -> bytes:
    """Returns the bytes of an HTTP response. Underscores in names of headers stand for hyphens."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body.encode())}", "Connection: close", *lines]
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


def read_request(connection: socket.socket) -> bytes:
    """Reads one request with its body, or the empty string if the client closes the connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if chunk == b"":
            return b""
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while b"\r\ntransfer-encoding: chunked" in head.lower() and not body.endswith(b"0\r\n\r\n"):
        body += connection.recv(65536)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
