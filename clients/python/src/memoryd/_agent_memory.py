"""Memories for agents: a timeout and a circuit breaker keep an unavailable service from failing a run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

from . import AsyncMemory
from ._model_tools import ToolResult, call_tool, format_failure
from ._turns import MAX_CONTEXT_TOKENS, MAX_QUERY_CHARS, MIN_CONTEXT_TOKENS, take_known_texts, to_accepted
from .errors import (
    Conflict,
    Forbidden,
    Invalid,
    MemorydError,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    Unavailable,
)
from .models import StoreBatchError, StoreRequest

A = TypeVar("A")
T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS = 1.5
DEFAULT_TOKENS = 1000
MAX_TIMEOUT_SECONDS = 60.0

_PAUSE_SECONDS = 30.0
"""Period after a failure of the service in which no call is made."""

_EMBEDDING_WAIT_SECONDS = 5.0
"""Time for which the service may wait for the vectors of a memory before it responds."""

_MAX_WAITING = 1000
"""Maximum turns that wait to be stored."""

_MAX_WAITING_CHARS = 8 * 1024 * 1024
"""Maximum characters of all turns that wait to be stored."""

_REQUEST_ERRORS = (Invalid, Forbidden, NotFound, Conflict, PreconditionFailed, PayloadTooLarge)

_logger = logging.getLogger("memoryd")


@dataclass
class _Outage:
    """Failures of the service since its last response."""

    error: Exception
    retry_at: float
    is_probing: bool = False
    is_reported: bool = False


class _Circuit:
    """A circuit breaker. After a failure of the service, no call is made for 30 seconds. Then one call tries the service."""

    def __init__(self) -> None:
        self._outage: _Outage | None = None

    async def call(self, call: Callable[[], Awaitable[T]], timeout: float) -> T:
        """Makes the call. Raises its error, or `Unavailable` after the timeout or without a call during the pause."""
        outage = self._outage
        if outage and (outage.is_probing or time.monotonic() < outage.retry_at):
            pause = f"it failed less than {_PAUSE_SECONDS:.0f} s ago: {outage.error}"
            raise Unavailable(f"the memory service was not called, because {pause}")
        if outage:
            outage.is_probing = True
        try:
            result = await asyncio.wait_for(call(), timeout)
        except asyncio.TimeoutError as cause:
            advice = "check that the service runs at its address; if it runs and is slow, raise timeout"
            error = Unavailable(f"the memory service did not respond within {timeout} s; {advice}")
            self._fail(error)
            raise error from cause
        except MemorydError as error:
            if _is_request_error(error):
                self._outage = None
            else:
                self._fail(error)
            raise
        except BaseException:
            # A cancelled call says nothing about the service.
            if outage:
                outage.is_probing = False
            raise
        self._outage = None
        return result

    def _fail(self, error: Exception) -> None:
        is_reported = self._outage is not None and self._outage.is_reported
        self._outage = _Outage(error, time.monotonic() + _PAUSE_SECONDS, is_reported=is_reported)

    @property
    def is_failing(self) -> bool:
        """Whether the service has failed since its last response."""
        return self._outage is not None

    def report(self, error: MemorydError, consequence: str) -> None:
        """Logs an error of a request, and the first error of an outage."""
        if self._outage:
            if self._outage.is_reported:
                return
            self._outage.is_reported = True
        _logger.warning("%s: %s: %s", consequence, error.code, error)


@dataclass(frozen=True)
class _Turn:
    """Messages that wait to be stored. A repeated attempt stores them once."""

    memory: AsyncMemory
    requests: Sequence[StoreRequest]
    key: str

    @property
    def chars(self) -> int:
        return sum(len(request.content) for request in self.requests)


class _Service:
    """State of one service in this process."""

    def __init__(self) -> None:
        self.reads = _Circuit()
        self.writes = _Circuit()
        self.waiting: deque[_Turn] = deque()
        self.requests: set[asyncio.Future[None]] = set()
        """Requests that store a turn now. The turn does not wait, and waits again if its request fails."""
        self.task: asyncio.Task[None] | None = None
        """Stores waiting turns while runs do not wait for the service."""


_services: WeakKeyDictionary[object, _Service] = WeakKeyDictionary()


def _get_service(memory: AsyncMemory) -> _Service:
    """Returns the state of the connections that a client and all its scopes share."""
    return _services.setdefault(memory._transport, _Service())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def scope_to_user(
    memory: AsyncMemory, user_id: str | None, agent_id: str | None, *, shared: bool = False
) -> AsyncMemory:
    """Returns the memory of one user. With None and no agent, returns `memory`: the store has only one user."""
    if user_id is None and agent_id is None:
        return memory
    return memory.scope(user_id=user_id, agent_id=agent_id, shared=shared)


def resolve_user(user_id: str | Callable[[A], str] | None, argument: A) -> str | None:
    """Returns the user of a run.

    Raises:
        TypeError: The function returns no string. Without a user, the run would get the memories of all users.
    """
    if not callable(user_id):
        return user_id
    resolved = cast("object", user_id(argument))
    if not isinstance(resolved, str):
        raise TypeError("user_id must return the id of the end user, as a string; without it, a run has no memories")
    return resolved


class AgentMemory:
    """The memories of the users of one agent. Objects over the same connections share failures and waiting turns."""

    def __init__(
        self,
        memory: AsyncMemory,
        *,
        agent_id: str | None,
        shared: bool,
        tokens: int = DEFAULT_TOKENS,
        timeout: float,
        timezone: str | None,
    ) -> None:
        """Raises ValueError if the tokens or the timeout are out of range."""
        if not MIN_CONTEXT_TOKENS <= tokens <= MAX_CONTEXT_TOKENS:
            raise ValueError(f"tokens must be a whole number from {MIN_CONTEXT_TOKENS} to {MAX_CONTEXT_TOKENS}")
        if not 0 < timeout <= MAX_TIMEOUT_SECONDS:
            raise ValueError(f"timeout must be a number of seconds above 0, and at most {MAX_TIMEOUT_SECONDS:.0f}")
        self._memory = memory
        self._agent_id = agent_id
        self._shared = shared
        self._tokens = tokens
        self._timeout = timeout
        self._timezone = timezone
        self._service = _get_service(memory)

    async def get_context(self, user_id: str | None, query: str, known_texts: Sequence[str]) -> str:
        """Returns memories for a prompt, as fenced text. The text is empty if the service fails.

        Args:
            user_id: The end user.
            query: The message that is answered. The first 8,192 characters are used.
            known_texts: Texts that the prompt contains. The last 1,000, of 200,000 characters, are left out of the memories.
        """
        try:
            memory = self._scope(user_id)
            response = await self._service.reads.call(
                lambda: memory.context(
                    to_accepted(query.strip()[:MAX_QUERY_CHARS]),
                    budget=self._tokens,
                    once=False,
                    exclude_texts=take_known_texts([text for text in known_texts if text.strip()]),
                    timezone=self._timezone,
                ),
                self._timeout,
            )
        except MemorydError as error:
            self._service.reads.report(error, "memories could not be recalled, so the run goes on without them")
            return ""
        return response.text

    async def call_tool(self, user_id: str | None, name: str, arguments: object) -> ToolResult:
        """Calls a tool of the service once, and returns errors as results too."""
        is_read = name in ("memory_recall", "memory_session")
        circuit = self._service.reads if is_read else self._service.writes
        timeout = self._timeout if is_read else self._timeout + _EMBEDDING_WAIT_SECONDS
        try:
            memory = self._scope(user_id)
            return await circuit.call(lambda: call_tool(memory, name, arguments, self._timezone), timeout)
        except MemorydError as error:
            return ToolResult(format_failure(error), is_error=True)

    async def store(self, user_id: str | None, requests: Sequence[StoreRequest], key: str) -> None:
        """Stores the messages of a turn, and waiting turns, within the timeout. Never raises `MemorydError`.

        After a failed recall, a task stores them, so that a run does not wait twice for a service that is unavailable.
        While the service is unavailable, at most 1,000 turns of 8,388,608 characters wait. The oldest are dropped.

        Args:
            user_id: The end user.
            requests: The messages of the turn.
            key: Identifies the turn. Within 24 hours, a turn with the same key is stored once.
        """
        try:
            self._add_waiting(_Turn(self._scope(user_id), requests, key))
        except MemorydError as error:
            self._service.writes.report(error, "a conversation turn was not stored")
            return
        service = self._service
        if not service.reads.is_failing:
            await self._try_to_store()
        elif service.task is None or service.task.done():
            service.task = asyncio.create_task(self._try_to_store())

    async def _try_to_store(self) -> None:
        try:
            await self._service.writes.call(self._store_waiting, self._timeout)
        except MemorydError as error:
            self._service.writes.report(error, "conversation turns could not be stored yet and are waiting")

    def _add_waiting(self, turn: _Turn) -> None:
        waiting = self._service.waiting
        waiting.append(turn)
        chars = sum(each.chars for each in waiting)
        dropped = 0
        while len(waiting) > _MAX_WAITING or chars > _MAX_WAITING_CHARS:
            chars -= waiting.popleft().chars
            dropped += 1
        if dropped > 0:
            limit = f"{_MAX_WAITING:,} turns or {_MAX_WAITING_CHARS:,} characters"
            _logger.warning("dropped %d conversation turns: more than %s were waiting to be stored", dropped, limit)

    async def flush(self, timeout: float) -> None:
        """Waits until all turns of this service are stored, also turns that other tasks are storing.

        Raises `Unavailable` at the timeout. Turns that are not stored then still wait.
        """
        try:
            await asyncio.wait_for(self._store_all(), timeout)
        except asyncio.TimeoutError as cause:
            count = len(self._service.waiting) + len(self._service.requests)
            fix = "call flush again, or run the agent: each run also stores waiting turns"
            raise Unavailable(f"{count} conversation turns were not stored within {timeout} s; {fix}") from cause

    async def _store_all(self) -> None:
        while self._service.waiting or self._service.requests:
            await self._store_waiting()
            if self._service.requests:
                await asyncio.wait(set(self._service.requests))

    async def _store_waiting(self) -> None:
        waiting, requests = self._service.waiting, self._service.requests
        while waiting:
            turn = waiting.popleft()
            request = asyncio.get_running_loop().create_future()
            requests.add(request)
            try:
                response = await turn.memory.store_batch(turn.requests, idempotency_key=turn.key)
            except BaseException as error:
                if not isinstance(error, MemorydError) or not _is_request_error(error):
                    waiting.appendleft(turn)
                    raise
                _logger.warning("a conversation turn was not stored: %s: %s", error.code, error)
                continue
            finally:
                requests.remove(request)
                request.set_result(None)
            for result in response.results:
                if isinstance(result, StoreBatchError):
                    _logger.warning("a message was not stored: %s: %s", result.error.code, result.error.message)

    def _scope(self, user_id: str | None) -> AsyncMemory:
        return scope_to_user(self._memory, user_id, self._agent_id, shared=self._shared)


def _is_request_error(error: MemorydError) -> bool:
    """Returns True if the request causes the error. An error page of a proxy has no request id and does not count."""
    return isinstance(error, _REQUEST_ERRORS) and (error.status is None or error.request_id is not None)
