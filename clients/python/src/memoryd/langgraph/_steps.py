"""Operations that are written once and run by a client of either kind.

An operation is a generator. It yields calls of client methods and receives their results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from memoryd import AsyncMemory, Memory
from memoryd import models as m

T = TypeVar("T")


Method = Literal["forget_many", "memories", "recall", "session", "sessions", "store_batch", "update"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a method that `Memory` and `AsyncMemory` both have."""

    method: Method
    positional: tuple[Any, ...]
    named: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Together:
    """Independent operations. An asynchronous client runs them concurrently."""

    operations: tuple[Steps[Any], ...]


Steps: TypeAlias = Generator["Call | Together", Any, T]
"""An operation that returns a `T`."""


def list_memories(**named: Any) -> Steps[m.MemoriesResponse]:
    """Lists one page of memories."""
    return _call("memories", (), named)


def list_sessions(**named: Any) -> Steps[m.SessionsResponse]:
    """Lists one page of sessions."""
    return _call("sessions", (), named)


def read_session(session_id: str, **named: Any) -> Steps[m.SessionResponse]:
    """Reads one page of a transcript."""
    return _call("session", (session_id,), named)


def recall(query: str, **named: Any) -> Steps[m.RecallResponse]:
    """Recalls memories."""
    return _call("recall", (query,), named)


def store_batch(requests: list[m.StoreRequest]) -> Steps[m.StoreBatchResponse]:
    """Stores memories."""
    return _call("store_batch", (requests,), {})


def forget_many(**named: Any) -> Steps[m.ForgetManyResponse]:
    """Forgets memories."""
    return _call("forget_many", (), named)


def update(memory_id: str, **named: Any) -> Steps[m.UpdateResponse]:
    """Changes a memory."""
    return _call("update", (memory_id,), named)


def _call(method: Method, positional: tuple[Any, ...], named: Mapping[str, Any]) -> Steps[Any]:
    return (yield Call(method, positional, named))


def together(operations: Iterable[Steps[T]]) -> Steps[list[T]]:
    """Runs independent operations and returns their results in order."""
    results: list[T] = yield Together(tuple(operations))
    return results


def run(memory: Memory, operation: Steps[T]) -> T:
    """Runs an operation with one request at a time."""
    step = _resume(operation)
    while not isinstance(step, _End):
        step = _advance(memory, operation, step)
    value: T = step.value
    return value


async def arun(memory: AsyncMemory, operation: Steps[T], slots: asyncio.Semaphore) -> T:
    """Runs an operation. `slots` limits the number of concurrent requests."""
    step = _resume(operation)
    while not isinstance(step, _End):
        step = await _aadvance(memory, operation, step, slots)
    value: T = step.value
    return value


@dataclass(frozen=True, slots=True)
class _End:
    """The result of an operation."""

    value: Any


_Step: TypeAlias = Call | Together | _End


def _advance(memory: Memory, operation: Steps[Any], step: Call | Together) -> _Step:
    try:
        result = _perform(memory, step)
    except Exception as error:
        return _resume(operation, error=error)
    return _resume(operation, result)


def _perform(memory: Memory, step: Call | Together) -> Any:
    if isinstance(step, Together):
        return [run(memory, operation) for operation in step.operations]
    return getattr(memory, step.method)(*step.positional, **step.named)


async def _aadvance(
    memory: AsyncMemory, operation: Steps[Any], step: Call | Together, slots: asyncio.Semaphore
) -> _Step:
    try:
        result = await _aperform(memory, step, slots)
    except Exception as error:
        return _resume(operation, error=error)
    return _resume(operation, result)


async def _aperform(memory: AsyncMemory, step: Call | Together, slots: asyncio.Semaphore) -> Any:
    if isinstance(step, Together):
        running = (arun(memory, operation, slots) for operation in step.operations)
        # Waits for all of them, so that none still runs after an error.
        results = await asyncio.gather(*running, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results
    async with slots:
        return await getattr(memory, step.method)(*step.positional, **step.named)


def _resume(operation: Steps[Any], result: Any = None, *, error: Exception | None = None) -> _Step:
    """Passes the result of a step to an operation, and returns the next step."""
    try:
        return operation.send(result) if error is None else operation.throw(error)
    except StopIteration as stop:
        return _End(stop.value)
