"""A stream of a response."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

import httpx

from memoryd._connections import interrupt
from memoryd._iterate import Items, end

T = TypeVar("T")


class StreamState:
    """The response of a stream, which can be closed while the stream waits for bytes."""

    def __init__(self) -> None:
        self.is_closed = False
        self.response: httpx.Response | None = None
        self._pid = os.getpid()

    def interrupt(self) -> None:
        """Ends a wait for bytes with an error. Does nothing in a forked process, which shares the connection."""
        if self.response is not None and self._pid == os.getpid():
            interrupt(self.response)


class Stream(Generic[T]):
    """An iterator whose response stays open until its end. Close it if you stop before, or use it in a `with` block.

    The first step of the iteration sends the request. A response that is not closed keeps one of the 100 connections of
    the client.

    Example:
        >>> with memory.events() as events:
        ...     for event in events:
        ...         print(event.type)
    """

    def __init__(self, read: Callable[[StreamState], Items[T]]) -> None:
        self._state = StreamState()
        self._items = read(self._state)

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> T:
        if self._state.is_closed:
            raise StopIteration
        try:
            return self._items.__next__()
        except Exception:
            if self._state.is_closed:
                raise StopIteration from None
            raise

    def close(self) -> None:
        """Ends the iteration and closes the response.

        May be called while another thread waits for the next item: the iteration of that thread ends at once, or after some
        seconds if the stream is connecting.
        """
        self._state.is_closed = True
        self._state.interrupt()
        end(self._items)

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
