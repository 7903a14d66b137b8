"""A stream of a response."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

import httpx

from memoryd._connections import interrupt_async
from memoryd._iterate import AsyncItems, end_async

T = TypeVar("T")


class AsyncStreamState:
    """The response of a stream, which can be closed while the stream waits for bytes."""

    def __init__(self) -> None:
        self.is_closed = False
        self.response: httpx.Response | None = None
        self._pid = os.getpid()

    async def interrupt(self) -> None:
        """Ends a wait for bytes with an error. Does nothing in a forked process, which shares the connection."""
        if self.response is not None and self._pid == os.getpid():
            await interrupt_async(self.response)


class AsyncStream(Generic[T]):
    """An iterator whose response stays open until its end. Close it if you stop before, or use it in a `with` block.

    The first step of the iteration sends the request. A response that is not closed keeps one of the 100 connections of
    the client.

    Example:
        >>> async with memory.events() as events:
        ...     async for event in events:
        ...         print(event.type)
    """

    def __init__(self, read: Callable[[AsyncStreamState], AsyncItems[T]]) -> None:
        self._state = AsyncStreamState()
        self._items = read(self._state)

    def __aiter__(self) -> AsyncStream[T]:
        return self

    async def __anext__(self) -> T:
        if self._state.is_closed:
            raise StopAsyncIteration
        try:
            return await self._items.__anext__()
        except Exception:
            if self._state.is_closed:
                raise StopAsyncIteration from None
            raise

    async def aclose(self) -> None:
        """Ends the iteration and closes the response.

        May be called while another task waits for the next item: the iteration of that task ends at once, or after some
        seconds if the stream is connecting.
        """
        self._state.is_closed = True
        await self._state.interrupt()
        await end_async(self._items)

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
