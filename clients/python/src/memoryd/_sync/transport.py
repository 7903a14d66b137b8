"""Sends requests, and repeats a failed request if repeating is safe."""

from __future__ import annotations

import os
import time
from time import sleep
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import httpx

from memoryd._connections import get_owner, run, send
from memoryd._iterate import Items
from memoryd._request import CallOptions, Operation, Request, is_loopback, to_base_url, to_headers
from memoryd.errors import Invalid, MemorydError, Unavailable, create_unexpected_response, to_error

from .stream import StreamState

T = TypeVar("T")

#: Maximum time between two chunks of a download.
SILENCE_SECONDS = 60.0

#: Maximum size of the body of an error.
MAX_ERROR_BYTES = 1024 * 1024


class Transport:
    """The connections to a service."""

    def __init__(
        self, url: str, api_key: str | None, headers: Mapping[str, str] | None, client: httpx.Client | None
    ) -> None:
        self._url = to_base_url(url)
        self._headers = to_headers(headers or {}, api_key)
        self._is_owner = client is None
        self._client = client or self._create_client()
        self._pid = os.getpid()
        # The process and event loop of the first request.
        self._connection_owner: tuple[int, object] | None = None
        self._streams: set[StreamState] = set()
        self.is_closed = False

    def close(self) -> None:
        """Ends streams, and closes the connections, except those of a client that the caller has passed."""
        self.is_closed = True
        if self._connection_owner not in (None, get_owner()):
            # The connections belong to another process or event loop.
            return
        for state in list(self._streams):
            state.interrupt()
        if self._is_owner:
            self._client.close()

    def send(self, request: Request, options: CallOptions) -> bytes:
        """Returns the body of the response. See `Memory` for retries."""

        def attempt(seconds: float) -> bytes:
            deadline = time.monotonic() + seconds
            response = self._open(request, seconds, seconds)
            try:
                body = self._check(request, response, deadline)
                return self._read_all(request.operation, response, deadline) if body is None else body
            finally:
                response.close()

        return self._with_retries(request, options, attempt)

    def open(
        self, request: Request, options: CallOptions, state: StreamState, silence: float = SILENCE_SECONDS
    ) -> httpx.Response:
        """Returns a response for `read`. A wait of `silence` seconds for bytes ends it."""

        def attempt(seconds: float) -> httpx.Response:
            if state.is_closed:
                raise Invalid("the stream is closed; open a new one")
            response = self._open(request, min(options.timeout, seconds), silence)
            try:
                self._check(request, response, time.monotonic() + seconds)
            except BaseException:
                response.close()
                raise
            return response

        response = self._with_retries(request, options, attempt)
        state.response = response
        self._streams.add(state)
        if state.is_closed or self.is_closed:
            # Closed by another caller, who has not seen the response.
            response.close()
        return response

    def read(self, operation: Operation, response: httpx.Response, state: StreamState) -> Items[bytes]:
        """Yields the chunks of a response, and closes it."""
        pid = os.getpid()
        try:
            for chunk in self._read(operation, response, None):
                yield chunk
                if pid != os.getpid():
                    raise Invalid("a stream must be read in the process that opened it; open a new one after a fork")
        finally:
            self._streams.discard(state)
            state.response = None
            response.close()

    def _with_retries(self, request: Request, options: CallOptions, attempt: Callable[[float], T]) -> T:
        deadline = time.monotonic() + options.get_total_timeout(request.operation)
        count = 0
        while True:
            seconds = options.get_attempt_timeout(request.operation, deadline - time.monotonic())
            try:
                return self._run(request.operation, partial(attempt, seconds), seconds)
            except MemorydError as error:
                wait = options.get_retry_wait(error, request, count)
                if wait is None or time.monotonic() + wait >= deadline:
                    raise
            count += 1
            sleep(wait)

    def _run(self, operation: Operation, call: Callable[[], T], seconds: float) -> T:
        try:
            return run(call, seconds)
        except httpx.TimeoutException as error:
            raise self._to_unavailable(operation, error) from error

    def _create_client(self) -> httpx.Client:
        return httpx.Client(trust_env=not is_loopback(self._url))

    def _get_client(self) -> httpx.Client:
        """Returns the client whose connections belong to this process and event loop.

        A forked process shares the sockets of its parent, so it would read responses to requests of the parent. The
        connections of another event loop cannot be used.

        Raises:
            Invalid: The client is closed, or the client of the caller belongs to another process.
        """
        if self.is_closed or (self._is_owner and self._client.is_closed):
            raise Invalid("the client is closed; create a new one")
        if not self._is_owner:
            if self._pid != os.getpid():
                raise Invalid("http_client must belong to this process; create both clients again after a fork")
            if self._client.is_closed:
                raise Invalid("http_client is closed; create a new one")
            return self._client
        owner = get_owner()
        if self._connection_owner not in (None, owner):
            self._client = self._create_client()
            self._streams = set()
        self._connection_owner = owner
        return self._client

    def _open(self, request: Request, seconds: float, silence: float) -> httpx.Response:
        """Returns a response whose status is not yet checked, and whose body is not yet read."""
        operation = request.operation
        client = self._get_client()
        try:
            sent = client.build_request(
                operation.method,
                self._url + request.path,
                headers={**self._headers, **{name.encode(): value.encode() for name, value in request.headers.items()}},
                content=request.stream if request.stream is not None else request.body,
                timeout=httpx.Timeout(seconds, read=silence),
            )
            return send(client, sent)
        except (httpx.InvalidURL, httpx.LocalProtocolError) as error:
            raise Invalid(f"the request cannot be sent ({error}); use fewer or shorter arguments") from error
        except httpx.RequestError as error:
            raise self._to_unavailable(operation, error) from error

    def _check(self, request: Request, response: httpx.Response, deadline: float) -> bytes | None:
        """Returns None for a success, and the body of an error with which the call still succeeds.

        Raises:
            MemorydError: Any other response.
        """
        operation = request.operation
        body = None
        if not response.is_success:
            body = self._read_all(operation, response, deadline, MAX_ERROR_BYTES)
            if not (request.accepts and request.accepts(response.status_code, body)):
                raise to_error(response.status_code, response.headers, body)
        if not has_media_type(response, operation.media_type):
            raise create_unexpected_response(response.status_code, response.headers, operation.media_type)
        return body

    def _read_all(
        self, operation: Operation, response: httpx.Response, deadline: float, max_bytes: float = float("inf")
    ) -> bytes:
        """Returns the body of a response, up to the chunk that exceeds a size."""
        chunks: list[bytes] = []
        size = 0
        for chunk in self._read(operation, response, deadline):
            chunks.append(chunk)
            size += len(chunk)
            if size > max_bytes:
                break
        return b"".join(chunks)

    def _read(self, operation: Operation, response: httpx.Response, deadline: float | None) -> Items[bytes]:
        try:
            for chunk in response.iter_bytes():
                if deadline is not None and time.monotonic() > deadline:
                    raise self._to_unavailable(operation, httpx.ReadTimeout("the response takes too long"))
                yield chunk
        except (httpx.RequestError, httpx.StreamError) as error:
            raise self._to_unavailable(operation, error) from error

    def _to_unavailable(self, operation: Operation, error: Exception) -> Unavailable:
        if self.is_closed:
            return Unavailable("the client was closed before the end of the response; create a new one")
        reason = "timeout" if isinstance(error, httpx.TimeoutException) else str(error) or type(error).__name__
        advice = "check the address of the service, and that the service is running"
        return Unavailable(f"no response ({reason}) to {operation.method} {self._url}{operation.path}; {advice}")


def has_media_type(response: httpx.Response, expected: str) -> bool:
    """Returns false for a response with another media type, such as the HTML page of a proxy."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type in ("", expected)
