"""The parts of sending over httpx that differ between the asynchronous and the synchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


class _ConnectingTrace:
    """Tracks whether a request has connected but not started to send.

    If a call is cancelled there, httpcore never releases the connection. See
    https://www.encode.io/httpcore/extensions/#trace for the events.
    """

    def __init__(self) -> None:
        self.is_between = False

    async def __call__(self, name: str, _info: object) -> None:
        if name.endswith((".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")):
            self.is_between = True
        elif name.endswith((".start_tls.started", ".send_request_headers.started")):
            self.is_between = False


async def send_async(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """Returns a response whose body is not yet read. A call that is cancelled closes its connection first."""
    trace = _ConnectingTrace()
    request.extensions = {**request.extensions, "trace": trace}
    sending = asyncio.ensure_future(client.send(request, stream=True))
    try:
        return await asyncio.shield(sending)
    except asyncio.CancelledError:
        try:
            # Nothing waits for the network there, so this ends at once.
            while trace.is_between and not sending.done():  # noqa: ASYNC110
                await asyncio.sleep(0)
        finally:
            sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, httpx.HTTPError):
            await (await sending).aclose()
        raise


def send(client: httpx.Client, request: httpx.Request) -> httpx.Response:
    """Returns a response whose body is not yet read."""
    return client.send(request, stream=True)


async def run_async(call: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Returns the result of a call. Cancels the call after the seconds, and raises `httpx.ReadTimeout`."""
    try:
        return await asyncio.wait_for(call(), seconds)
    except asyncio.TimeoutError as error:
        raise httpx.ReadTimeout("the response takes too long") from error


def run(call: Callable[[], T], _seconds: float) -> T:
    """Returns the result of a call. A thread cannot be cancelled: the call checks its deadline."""
    return call()


def get_owner_async() -> tuple[int, object]:
    """Returns the process and the event loop, which own the connections that are opened now."""
    return os.getpid(), asyncio.get_running_loop()


def get_owner() -> tuple[int, object]:
    """Returns the process, which owns the connections that are opened now."""
    return os.getpid(), None


async def interrupt_async(response: httpx.Response) -> None:
    """Closes a response, so that a task that waits for its next bytes gets an error."""
    await response.aclose()


def interrupt(response: httpx.Response) -> None:
    """Shuts the connection of a response down, so that a thread that waits for its next bytes gets an error.

    Closing a socket does not wake a thread that waits for it.
    """
    stream: Any = response.extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        with contextlib.suppress(OSError):
            # Not the method of an SSL socket, which another thread may be using.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
