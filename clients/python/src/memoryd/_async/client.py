"""The client of a memory service."""

from __future__ import annotations

import copy
import os
import time
from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Literal, Protocol, TypeVar

import httpx

from memoryd import _operations as operations
from memoryd import models
from memoryd._calls import (
    create_request,
    decode_response,
    get_path,
    has_next_page,
    is_unhealthy,
    require_condition,
    require_text,
    take,
    take_condition_header,
    take_idempotency_header,
    to_filter_body,
    to_line,
    to_object,
)
from memoryd._decode import DecodeError, decode_json
from memoryd._encode import to_fields, to_json_body, to_path, to_query_string
from memoryd._events import EventParser, create_gap
from memoryd._iterate import (
    AnyAsyncIterable,
    AsyncItems,
    iterate_async,
    iterate_file_async,
    require_items,
    to_file,
)
from memoryd._lines import LineSplitter
from memoryd._options import (
    ConsolidateOptions,
    ContextOptions,
    CorrectionsOptions,
    EventsOptions,
    ExportOptions,
    FacetsOptions,
    ForgetManyOptions,
    ForgetOptions,
    GrowthOptions,
    HistoryOptions,
    ImportFileOptions,
    ImportsOptions,
    ImportTextsOptions,
    ListOptions,
    MemoriesOptions,
    OwnScope,
    Page,
    ReadScope,
    RecallOptions,
    RecallsOptions,
    RelatedOptions,
    SessionsOptions,
    StoreOptions,
    TranscriptOptions,
    UndoOptions,
    UpdateManyOptions,
    UpdateOptions,
)
from memoryd._request import CallOptions, Operation, get_backoff, to_header_value, to_idempotency_key
from memoryd._scope import Scope, is_id
from memoryd._turns import MAX_QUERY_CHARS, estimate_tokens
from memoryd._typing import Self, Unpack
from memoryd.errors import InternalError, Invalid, RateLimited, Unavailable, create_field_error
from memoryd.local import LocalService

from .session import AsyncMemorySession
from .stream import AsyncStream, AsyncStreamState
from .transport import AsyncTransport

T = TypeVar("T")
R = TypeVar("R", bound="_Page")

#: Maximum time without a byte, after which a stream of events is opened again. The service sends a comment every 15 s.
EVENT_SILENCE_SECONDS = 45.0

#: A longer query string of a recall is sent as a body.
MAX_QUERY_STRING_CHARS = 4096

#: Rule for ids of sessions, which are part of URLs.
SESSION_ID_RULE = 'be a string of 1 to 256 characters other than "." and "..", without lone surrogates'

#: Conditions, of which a bulk forget needs at least one.
FORGET_CONDITIONS = "id, session_id, tag, source, external_id, metadata, filter, before, user_id or agent_id"
#: Conditions, of which an update of many memories needs at least one.
UPDATE_CONDITIONS = (
    "ids, q, filter, tag, tier, session_id, source, external_id, since, until, metadata, user_id or agent_id"
)

#: Fields of an update that None clears.
CLEARABLE = frozenset({"expires_at", "valid_from", "valid_to", "supersedes"})


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


class AsyncMemory:
    """A client of a memory service.

    Keyword arguments of calls have the names of the REST interface. None means that an argument is left out. Times are
    datetimes with a time zone, or dates. Calls raise the errors of `memoryd.errors`.

    All calls except imports are repeated after the status 429, and after 503 with `Retry-After`, when that time has
    passed. Reads, stores, `update_many`, `undo_change`, `undo_import`, and `update` and `forget` without `if_versions`
    are also repeated if no response arrives, and after any 502, 503 or 504. Between attempts, the client waits with exponential backoff and
    jitter. A call that is not repeated raises `Unavailable` if no response arrives. The service may have executed it.

    Many tasks may use one client at once. A forked process and a new event loop open their own connections. Close the
    client at the end, or use it in a `with` block. This ends its streams of events, and cuts other streams off.

    Example:
        >>> async with AsyncMemory("http://127.0.0.1:8090") as memory:
        ...     ada = memory.scope(user_id="ada")
        ...     await ada.store("Ada is allergic to peanuts")
        ...     found = await ada.recall("Can Ada eat peanut butter?")
        ...     print(found.results[0].content)
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8090",
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        total_timeout: float | None = None,
        retries: int = 5,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Creates a client. Connections are opened when they are needed.

        Args:
            url: Base URL of the service, without `/store`.
            api_key: Sent as `Authorization: Bearer …`.
            timeout: Timeout in seconds of one attempt: of each wait for the network, and of reading the response.
            total_timeout: Timeout in seconds of a call with all its attempts. Defaults to 120, or 600 for operations
                whose duration grows with the number of memories. In the synchronous client, connecting, sending and
                each wait for the head of a response have this timeout each.
            retries: Maximum number of retries of a call.
            headers: Sent with every request.
            http_client: The client of httpx to use, such as one with a proxy. The caller closes it. A forked process
                needs its own.

        Raises:
            Invalid: The URL, a header, a timeout or the number of retries is not valid.
        """
        self._transport = AsyncTransport(url, api_key, headers, http_client)
        self._options = CallOptions(timeout=timeout, total_timeout=total_timeout, retries=retries)
        self._scope = Scope()
        self._is_owner = True
        self.service: LocalService | None = None
        """The service that `local` started. Its `url` and `api_key` open the dashboard. None for other clients."""

    @classmethod
    async def local(
        cls,
        path: str | os.PathLike[str],
        *,
        embedder: str | None = None,
        timeout: float = 30.0,
        total_timeout: float | None = None,
        retries: int = 5,
    ) -> Self:
        """Starts a service for a database file and returns its client. Needs `pip install 'memoryd[server]'`.

        The service ends when the client is closed, and with the Python process. It listens on a free port of 127.0.0.1,
        and requests need a key that only this client has. Several processes can use the same file at the same time.

        Args:
            path: The database file. Missing folders and a missing file are created.
            embedder: A value of the setting `SERVICE_EMBEDDER`, such as `none` for recall by words only. Defaults to
                this variable, or to `minilm`, the model inside of memoryd-server.
            timeout: As for the constructor.
            total_timeout: As for the constructor.
            retries: As for the constructor.

        Raises:
            ImportError: The package memoryd-server is not installed.
            Invalid: The path is empty, or `:memory:`.
            Unavailable: The service did not start. The message contains the end of its log.

        Example:
            >>> async with await AsyncMemory.local("memory.db") as memory:
            ...     await memory.store("Ada is allergic to peanuts")
        """
        service = LocalService(path, embedder=embedder)
        await service.wait_async()
        memory = cls(
            service.url, api_key=service.api_key, timeout=timeout, total_timeout=total_timeout, retries=retries
        )
        memory.service = service
        return memory

    async def aclose(self) -> None:
        """Closes the connections, ends the streams, and ends the service of `local`. Later calls raise `Invalid`.

        On a client from `scope` or `with_options`, does nothing.
        """
        if not self._is_owner:
            return
        try:
            await self._transport.aclose()
        finally:
            if self.service is not None:
                await self.service.stop_async()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def scope(self, *, user_id: str | None = None, agent_id: str | None = None, shared: bool = False) -> Self:
        """Returns a client over the same connections that is limited to one user, one agent, or one agent of one user.

        Stored memories belong to the scope, and calls return, count and change only memories of the scope. With
        `shared`, reads also include memories without a user or agent. In nested scopes, `shared` of the inner one wins.

        Calls raise `Forbidden` if they name another user or agent, if they are writes with `shared`, and if they
        concern the whole namespace: `backup`, `consolidate`, `metrics`, `root`, `users` and the like.

        Args:
            user_id: 1 to 256 characters.
            agent_id: 1 to 256 characters.
            shared: Default of `shared` for reads.

        Raises:
            Invalid: There is neither a user nor an agent.
            Forbidden: This client is limited to another user or agent.
        """
        return self._copy(_scope=self._scope.narrow(user_id=user_id, agent_id=agent_id, shared=shared))

    def with_options(
        self, *, timeout: float | None = None, total_timeout: float | None = None, retries: int | None = None
    ) -> Self:
        """Returns a client over the same connections with other timeouts, in seconds, or another number of retries.

        Example:
            >>> await memory.with_options(total_timeout=3600).import_file(file, from_="chatgpt")
        """
        options = self._options
        changed = replace(
            options,
            timeout=options.timeout if timeout is None else timeout,
            total_timeout=options.total_timeout if total_timeout is None else total_timeout,
            retries=options.retries if retries is None else retries,
        )
        return self._copy(_options=changed)

    def _copy(self, **attributes: object) -> Self:
        other = copy.copy(self)
        vars(other).update(attributes, _is_owner=False)
        return other

    def open_session(
        self,
        session_id: str,
        *,
        recent_turns: int = 8,
        tokens_per_turn: int = 4,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> AsyncMemorySession:
        """Opens a conversation of the user of this client, for an agent.

        Without `scope`, the conversation belongs to no user, and its context has memories of all users.

        Args:
            session_id: 1 to 256 characters, and neither `.` nor `..`. A new session starts with its first message.
            recent_turns: Number of newest turns that take precedence over memories.
            tokens_per_turn: Tokens that each turn needs in a prompt in addition to its text.
            count_tokens: Counts the tokens of a text. The default estimates a token for every three bytes, which is
                more than the tokens of prose and less than those of random letters.

        Raises:
            Invalid: The id is not valid.

        Example:
            >>> talk = memory.scope(user_id="ada").open_session("a talk about dinner")
            >>> await talk.add("user", "Let us cook tonight")
            >>> context = await talk.context("Can Ada eat peanut butter?", tokens=2000)
            >>> print(context.text, *(f"{turn.role}: {turn.content}" for turn in context.turns))
        """
        if not is_id(session_id) or to_path(operations.SESSION.path, session_id) is None:
            raise create_field_error("session_id", SESSION_ID_RULE)
        return AsyncMemorySession(
            self,
            session_id,
            recent_turns=recent_turns,
            tokens_per_turn=tokens_per_turn,
            count_tokens=count_tokens,
        )

    # Stores

    async def store(self, content: str, **options: Unpack[StoreOptions]) -> models.StoreResponse:
        """Stores a memory. When the call returns, the memory is on disk.

        The call carries an idempotency key, so retries never store twice.

        Args:
            content: The text, with at least one non-blank character.
            tags: At most 64 labels of 1 to 128 characters.
            importance: 0 to 1. Defaults to 0.5.
            source: Where the memory comes from, at most 256 characters. Defaults to `api`.
            session_id: The session, 1 to 256 characters. Defaults to `default`.
            external_id: Your own id, 1 to 512 characters. If the user and agent have a memory with it, that one changes.
            created_at: Time of the event. Defaults to now.
            expires_at: Time at which the memory is hidden.
            valid_from: Time from which the memory holds. Defaults to `created_at`.
            valid_to: Time from which the memory no longer holds.
            metadata: A JSON object of at most 16 KiB and 32 levels.
            attachment: Data that recall does not search, 1 byte to 1 MiB. The whole request has at most 1 MiB, so use
                `store_batch` for an attachment close to its limit.
            supersedes: Id of the memory that this one replaces.
            similar: 1 to 10: adds this number of similar memories to the result.
            idempotency_key: 1 to 255 printable ASCII characters. The same key with the same request within 24 hours
                stores only once. Random by default.

        Raises:
            Conflict: The idempotency key was used with another request.
            NotFound: `supersedes` does not exist in the scope.

        Example:
            >>> await memory.store("Ada moved to Lisbon", tags=["home"], metadata={"city": "Lisbon"})
        """
        fields = to_fields(options)
        return await self._call(
            operations.STORE,
            models.StoreResponse,
            query=take(fields, "similar"),
            headers=take_idempotency_header(fields),
            body=self._scope.within({"content": content, **fields}),
            is_repeatable=True,
        )

    async def store_batch(
        self,
        requests: Sequence[models.StoreRequest | Mapping[str, object]],
        *,
        similar: int | None = None,
        idempotency_key: str | None = None,
    ) -> models.StoreBatchResponse:
        """Stores many memories, at most 10,000, independently of each other.

        The results have the errors of memories that were not stored, in the order of the requests.

        Args:
            requests: The memories, as objects or dicts with the fields of `store`.
            similar: As for `store`. Then at most 1,000 memories.
            idempotency_key: As for `store`.

        Example:
            >>> await memory.store_batch([models.StoreRequest(content="one"), {"content": "two"}])
        """
        return await self._call(
            operations.STORE_BATCH,
            models.StoreBatchResponse,
            query=to_fields({"similar": similar}),
            headers={"Idempotency-Key": to_idempotency_key(idempotency_key)},
            body=[self._scope.within(to_object(request, f"requests/{i}")) for i, request in enumerate(requests)],
            is_repeatable=True,
        )

    # Recall

    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> models.RecallResponse:
        """Returns the memories that answer a query best, best first.

        Args:
            query: In natural language, 1 to 8,192 characters.
            top_k: Maximum number of results, 1 to 1,000. Defaults to 5.
            filter: A filter of `F`, or the same as a dict.
            tag, tier, session_id, source, external_id, since, until, metadata: Conditions that all must hold.
            current, as_of, known_at: Select memories by validity or storage time.
            min_score: Leaves out results with a lower score, 0 to 1.
            only_relevant: Only results that are likely to answer the query.
            timezone, asked_at: Zone and time for words such as "yesterday".
            superseded: Include superseded memories. Defaults to True.
            track: Count the recall as a use of the memories. Defaults to True.
            explain, highlight: Add an explanation of the score, or the passage that matches best.

        Example:
            >>> found = await memory.recall("Where does Ada live?", top_k=3, filter=F.tag == "home")
            >>> found.results[0].content
            'Ada moved to Lisbon'
        """
        require_text("query", query, MAX_QUERY_CHARS)
        fields = self._scope.reading({"query": query, **to_fields(options)})
        # They may be too long for a URL.
        if "filter" in fields or len(to_query_string(fields)) > MAX_QUERY_STRING_CHARS:
            return await self._call(
                operations.RECALL_BY_BODY, models.RecallResponse, body=to_filter_body(fields), is_repeatable=True
            )
        return await self._call(operations.RECALL, models.RecallResponse, query=fields)

    async def context(self, query: str | None = None, **options: Unpack[ContextOptions]) -> models.ContextResponse:
        """Returns what an agent should know now, as a text for its prompt.

        A call that gives memories once in a session is not repeated if no response arrives, because the service
        remembers what the lost response gave.

        Args:
            query: The question to the agent. Without it, the text has important and recent memories.
            budget: Maximum tokens of the text, 50 to 20,000. Defaults to 800.
            session_id: The session that asks. Memories that were stored in it are left out, until `reset`.
            recent: Include the newest statements of the last sessions. By default, only without a query.
            once: Give each memory once in the session. By default True with `session_id`.
            reset: Clear the list of memories already given in the session. Needs `session_id`.
            exclude_texts: Texts that the prompt contains, at most 1,000.
            filter: A filter of `F`, or the same as a dict.
            timezone, asked_at: Zone and time of dates.
            track: Count the relevant memories as used. Defaults to True.

        Example:
            >>> prompt = (await memory.context("Plan a dinner for Ada", budget=400)).text
        """
        fields = self._scope.reading(to_fields({"query": query, **options}))
        once = fields.get("once")
        return await self._call(
            operations.CONTEXT,
            models.ContextResponse,
            body=fields,
            is_repeatable=once is False or ("session_id" not in fields and not once),
        )

    # Reads

    async def session(self, session_id: str, **options: Unpack[TranscriptOptions]) -> models.SessionResponse:
        """Returns one page of the transcript of a session, oldest first. An unknown session is empty.

        Args:
            session_id: 1 to 256 characters, and neither `.` nor `..`, which no URL can contain.
            attachments: Add to each memory its attachment.
            filter, current, as_of, known_at: Select memories as in `recall`.
            limit: Maximum number of items, 1 to 10,000. Defaults to 1,000.
            cursor: `next_cursor` of the previous page.
        """
        path = to_path(operations.SESSION.path, session_id) if is_id(session_id) else None
        if path is None:
            raise create_field_error("session_id", SESSION_ID_RULE)
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.SESSION, models.SessionResponse, path=path, query=query)

    async def sessions(self, **options: Unpack[SessionsOptions]) -> models.SessionsResponse:
        """Returns one page of the sessions with memories that match the conditions, ordered by id and user."""
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.SESSIONS, models.SessionsResponse, query=query)

    async def users(self, **options: Unpack[Page]) -> models.UsersResponse:
        """Returns one page of the users that have stored data, ordered by id. Raises `Forbidden` in a scope."""
        self._scope.require_namespace("users")
        return await self._call(operations.USERS, models.UsersResponse, query=to_fields(options))

    async def memory(self, memory_id: str, **options: Unpack[ReadScope]) -> models.Memory:
        """Returns one memory.

        Raises:
            NotFound: The memory does not exist, was forgotten or evicted, has expired, or is outside the scope.
        """
        path = get_path(operations.MEMORY, memory_id)
        return await self._call(
            operations.MEMORY, models.Memory, path=path, query=self._scope.reading(to_fields(options))
        )

    async def history(self, memory_id: str, **options: Unpack[HistoryOptions]) -> models.HistoryResponse:
        """Returns one page of the texts that a memory has had, oldest first, or its text at the time `known_at`.

        Raises:
            NotFound: As for `memory`, and for a time before the memory was stored.
        """
        path = get_path(operations.HISTORY, memory_id)
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.HISTORY, models.HistoryResponse, path=path, query=query)

    async def memories(self, **options: Unpack[MemoriesOptions]) -> models.MemoriesResponse:
        """Returns one page of the memories that match the conditions, by default newest first.

        Args:
            filter, tag, tier, session_id, source, external_id, since, until, metadata: Conditions that all must hold.
            current, as_of, known_at: Select memories by validity or storage time.
            q: Words that the text must have. The last one may be the beginning of a word.
            order, dir: `created` (the default), `changed`, `importance`, `use` or `retention`; `desc` or `asc`.
            offset: Number of memories before the page, at most 10,000. Not with `cursor`.
            id: The whole id, or its first or last characters, at least 4.
            growth_at: Times, at most 100, at which the memories are counted for `growth`.
            limit: Maximum number of items, 1 to 10,000. Defaults to 1,000.
            cursor: `next_cursor` of the previous page.
        """
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.MEMORIES, models.MemoriesResponse, query=query)

    async def facets(self, field: str, **options: Unpack[FacetsOptions]) -> models.FacetsResponse:
        """Returns the values that a field has among the memories that match the conditions, most frequent first.

        Args:
            field: `tag`, `session_id`, `source`, `tier`, `user_id`, `agent_id`, or `metadata.NAME`.
            prefix: Only values that begin with this text.
            limit: Maximum number of values, 1 to 1,000. Defaults to 20.

        Example:
            >>> tags = await memory.facets("tag", prefix="tr")
        """
        query = self._scope.reading({"field": field, **to_fields(options)})
        return await self._call(operations.FACETS, models.FacetsResponse, query=query)

    async def growth(
        self, step: Literal["day", "week", "month"], **options: Unpack[GrowthOptions]
    ) -> models.GrowthResponse:
        """Counts the memories that match the conditions by the period in which they were created.

        Args:
            step: The length of the periods. Weeks begin on Monday.
            field: Also count by the most frequent values of this field.
            timezone: IANA time zone in which periods begin.
        """
        query = self._scope.reading({"step": step, **to_fields(options)})
        return await self._call(operations.GROWTH, models.GrowthResponse, query=query)

    async def map(self, **options: Unpack[ListOptions]) -> models.MapResponse:
        """Returns places for the memories that match the conditions: those of similar meaning are near each other."""
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.MAP, models.MapResponse, query=query)

    async def related(self, memory_id: str, **options: Unpack[RelatedOptions]) -> models.RelatedResponse:
        """Returns the memories that speak of the same thing as one memory, best first.

        Raises:
            NotFound: The memory does not exist in the scope.
        """
        return await self._call(
            operations.RELATED,
            models.RelatedResponse,
            path=get_path(operations.RELATED, memory_id),
            query=self._scope.reading(to_fields(options)),
        )

    async def recalls(self, **options: Unpack[RecallsOptions]) -> models.RecallsResponse:
        """Returns one page of the last recalls and given contexts, newest first, as far as they are remembered."""
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.RECALLS, models.RecallsResponse, query=query)

    # Changes

    async def update(self, memory_id: str, **options: Unpack[UpdateOptions]) -> models.UpdateResponse:
        """Changes the given fields of a memory.

        A call with `if_versions` is not repeated if no response arrives: the first attempt may have changed the version.

        Args:
            memory_id: The id of the memory.
            content, importance, tags, metadata: The new values.
            expires_at, valid_from, valid_to, supersedes: The new values. None clears the field.
            if_versions: Accepted versions of the memory. Any version by default.

        Raises:
            NotFound: The memory, or the memory that it supersedes, does not exist in the scope.
            PreconditionFailed: The current version is not in `if_versions`.
            Conflict: The memory would supersede itself.

        Example:
            >>> await memory.update(memory_id, content="Ada lives in Porto", valid_to=None)
        """
        fields = to_fields(options, CLEARABLE)
        headers = take_condition_header(fields)
        return await self._call(
            operations.UPDATE,
            models.UpdateResponse,
            path=get_path(operations.UPDATE, memory_id),
            query=self._scope.writing(take(fields, "user_id", "agent_id")),
            headers=headers,
            is_repeatable=not headers,
            body=fields,
        )

    async def update_many(self, **options: Unpack[UpdateManyOptions]) -> models.UpdateManyResponse:
        """Changes all memories that meet every condition.

        Args:
            add_tags, remove_tags, importance, set_metadata: The changes. At least one is required.
            change_id: Assigned by default, so that a repeated attempt continues the change.
            ids, q, filter, tag, tier, session_id, source, external_id, since, until, metadata: Conditions.

        Raises:
            Invalid: There is no condition, because all arguments are None or left out, or a condition is empty.

        Example:
            >>> change = await memory.update_many(tag="trip", add_tags=["lisbon"])
            >>> await memory.undo_change(change.change_id)
        """
        fields = to_fields(options)
        changes = take(fields, "add_tags", "remove_tags", "importance", "set_metadata", "change_id", "ids")
        require_condition({**fields, **take(changes.copy(), "ids")}, "update_many", UPDATE_CONDITIONS)
        if "set_metadata" in changes:
            changes["metadata"] = changes.pop("set_metadata")
        return await self._call(
            operations.UPDATE_MANY,
            models.UpdateManyResponse,
            query=self._scope.writing(fields),
            body={"change_id": to_idempotency_key(None), **changes},
            is_repeatable=True,
        )

    async def undo_change(self, change_id: str, **options: Unpack[OwnScope]) -> models.UndoChangeResponse:
        """Takes a change of `update_many` back, except tags and values that were changed since.

        A repeated undo returns the same counts.

        Raises:
            NotFound: The change does not exist in the scope, or is older than an hour.
        """
        return await self._call(
            operations.UNDO_CHANGE,
            models.UndoChangeResponse,
            path=get_path(operations.UNDO_CHANGE, change_id),
            query=self._scope.writing(to_fields(options)),
            is_repeatable=True,
        )

    async def forget(self, memory_id: str, **options: Unpack[ForgetOptions]) -> models.ForgetResponse:
        """Deletes a memory and its merged duplicates for good.

        A call with `if_versions` is not repeated if no response arrives.

        Args:
            memory_id: The id of the memory.
            if_versions: Accepted versions of the memory. Any version by default.

        Raises:
            NotFound: The memory does not exist in the scope, or the first attempt has forgotten it and its response was
                lost.
            PreconditionFailed: The current version is not in `if_versions`.
        """
        fields = to_fields(options)
        headers = take_condition_header(fields)
        return await self._call(
            operations.FORGET,
            models.ForgetResponse,
            path=get_path(operations.FORGET, memory_id),
            query=self._scope.writing(fields),
            headers=headers,
            is_repeatable=not headers,
        )

    async def forget_many(self, **options: Unpack[ForgetManyOptions]) -> models.ForgetManyResponse:
        """Deletes all memories that meet every condition, for good.

        In a scope, a call with the `user_id` or `agent_id` of the scope as its only condition deletes all its memories.

        Raises:
            Invalid: There is no condition, because all arguments are None or left out, or a condition is empty.

        Example:
            >>> await memory.forget_many(session_id="kitchen", filter=F.importance < 0.2)
        """
        fields = to_fields(options)
        require_condition(fields, "forget_many", FORGET_CONDITIONS)
        query = self._scope.writing(fields)
        return await self._call(operations.FORGET_MANY, models.ForgetManyResponse, query=query)

    # Consolidation and corrections

    async def consolidate(self, **options: Unpack[ConsolidateOptions]) -> models.ConsolidateResponse:
        """Runs consolidation: promotes, merges, distils and evicts memories. A dry run returns the plan.

        Args:
            min_age_seconds: Promote only memories that were stored at least this long ago. Defaults to 0.
            dry_run: Return the planned changes without applying them.
        """
        self._scope.require_namespace("consolidate")
        return await self._call(
            operations.CONSOLIDATE,
            models.ConsolidateResponse,
            query=to_fields(options),
            is_repeatable=options.get("dry_run") is True,
        )

    async def consolidations(self, **options: Unpack[Page]) -> models.ConsolidationsResponse:
        """Returns one page of the consolidation runs, newest first."""
        self._scope.require_namespace("consolidations")
        return await self._call(operations.CONSOLIDATIONS, models.ConsolidationsResponse, query=to_fields(options))

    async def consolidation(self, consolidation_id: str, **options: Unpack[Page]) -> models.ConsolidationResponse:
        """Returns one consolidation run with one page of its changes, in order. Raises `NotFound` for an unknown id."""
        self._scope.require_namespace("consolidation")
        path = get_path(operations.CONSOLIDATION, consolidation_id)
        query = to_fields(options)
        return await self._call(operations.CONSOLIDATION, models.ConsolidationResponse, path=path, query=query)

    async def undo(self, consolidation_id: str, **options: Unpack[UndoOptions]) -> models.UndoResponse:
        """Undoes a consolidation run, or its changes of one memory, and with `with_later` first the later runs that changed something.

        Raises:
            NotFound: The run does not exist.
            Conflict: The run has not ended, was undone already, or clients have changed its memories since.
        """
        self._scope.require_namespace("undo")
        path = get_path(operations.UNDO, consolidation_id)
        return await self._call(operations.UNDO, models.UndoResponse, path=path, query=to_fields(options))

    async def corrections(self, **options: Unpack[CorrectionsOptions]) -> models.CorrectionsResponse:
        """Returns one page of the corrections that consolidation has suggested, in one state, latest first."""
        query = self._scope.reading(to_fields(options))
        return await self._call(operations.CORRECTIONS, models.CorrectionsResponse, query=query)

    async def decide_correction(
        self, correction_id: str, *, accept: bool, **options: Unpack[OwnScope]
    ) -> models.DecideCorrectionResponse:
        """Accepts or declines a suggested correction.

        Args:
            correction_id: The id of the correction.
            accept: True: the later memory supersedes the earlier one. False for an accepted correction undoes that.

        Raises:
            NotFound: The correction does not exist in the scope, or one of its memories has changed.
            Conflict: The correction can no longer be accepted.
        """
        return await self._call(
            operations.DECIDE_CORRECTION,
            models.DecideCorrectionResponse,
            path=get_path(operations.DECIDE_CORRECTION, correction_id),
            query=self._scope.writing(to_fields(options)),
            body={"accept": accept},
            is_repeatable=True,
        )

    # The service

    async def root(self) -> models.RootResponse:
        """Returns the status and version of the service, and the number of memories by tier.

        Raises `Forbidden` in a scope.
        """
        self._scope.require_namespace("root")
        return await self._call(operations.ROOT, models.RootResponse)

    async def health(self) -> models.HealthResponse:
        """Returns the health of the service, also if the service is unhealthy. Needs no API key."""
        return await self._call(operations.HEALTH, models.HealthResponse, accepts=is_unhealthy)

    async def stats(self, **options: Unpack[ReadScope]) -> models.StatsResponse:
        """Returns counts by tier, the database size and the time of the last consolidation."""
        return await self._call(operations.STATS, models.StatsResponse, query=self._scope.reading(to_fields(options)))

    async def metrics(self) -> str:
        """Returns metrics in the Prometheus text format. Raises `Forbidden` in a scope."""
        self._scope.require_namespace("metrics")
        body = await self._transport.send(create_request(operations.METRICS), self._options)
        return body.decode()

    # Streams

    def events(self, **options: Unpack[EventsOptions]) -> AsyncStream[models.MemoryEvent]:
        """Streams events, and continues after the last received event if the connection breaks.

        A `models.GapEvent` means that events may be missing. The stream ends when it or the client is closed, also by
        another task. Event types that this version does not know are left out. Raises an error if the first connection
        fails, if the service rejects the stream, or if the client cannot connect again for 10 minutes.

        With a database file, a service streams only events of its own process.

        Args:
            last_event_id: The id of the last event that you have received. By default, only new events.
            type: Event types to send: `stored`, `updated`, `forgotten`, `recalled`, `consolidation`, `import`.
            filter: A filter of `F`, or the same as a dict.

        Example:
            >>> async with memory.events(type=["stored"]) as events:
            ...     async for event in events:
            ...         print(event.id)
        """
        fields = self._scope.reading(to_fields(options))
        last_event_id = fields.pop("last_event_id", None)
        if last_event_id is not None:
            last_event_id = to_header_value("last_event_id", str(last_event_id)).decode("latin-1")
        return AsyncStream(partial(self._read_events, fields, last_event_id))

    async def _read_events(
        self, fields: Mapping[str, object], last_event_id: str | None, state: AsyncStreamState
    ) -> AsyncItems[models.MemoryEvent]:
        response: httpx.Response | None = await self._open_events(fields, last_event_id, state)
        while response is not None:
            parser = EventParser()
            chunks = self._transport.read(operations.EVENTS, response, state)
            try:
                async for chunk in chunks:
                    for event in parser.parse(chunk):
                        last_event_id = event.id or last_event_id
                        yield event
            except Unavailable:
                pass  # The stream is opened again.
            finally:
                await chunks.aclose()
            response = await self._reopen_events(fields, last_event_id, state)
            if response is not None and last_event_id is None:
                # Without an id, the service cannot tell whether events are missing.
                yield create_gap()

    async def _reopen_events(
        self, fields: Mapping[str, object], last_event_id: str | None, state: AsyncStreamState
    ) -> httpx.Response | None:
        """Returns a new response, or None if the stream or the client is closed."""
        deadline = time.monotonic() + self._options.reconnect_timeout
        attempt = 2
        while not (state.is_closed or self._transport.is_closed):
            await sleep(get_backoff(attempt, self._options.retry_delay))
            try:
                return await self._open_events(fields, last_event_id, state)
            except (Unavailable, RateLimited, InternalError):
                if time.monotonic() >= deadline:
                    raise
            except Invalid:
                if not self._transport.is_closed:
                    raise
            attempt += 1
        return None

    async def _open_events(
        self, fields: Mapping[str, object], last_event_id: str | None, state: AsyncStreamState
    ) -> httpx.Response:
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        request = create_request(operations.EVENTS, query=fields, headers=headers)
        return await self._transport.open(request, self._options, state, EVENT_SILENCE_SECONDS)

    def export_memories(self, **options: Unpack[ExportOptions]) -> AsyncStream[str]:
        r"""Streams the lines of an export: a header, then one memory per line, as JSON without line terminators.

        An export that is cut off raises `Unavailable`. An export that has started is not repeated.

        Example:
            >>> async for line in memory.export_memories():
            ...     file.write(line + "\n")
        """
        query = self._scope.reading(to_fields(options))
        return AsyncStream(partial(self._read_lines, operations.EXPORT_MEMORIES, query))

    async def _read_lines(
        self, operation: Operation, query: Mapping[str, object], state: AsyncStreamState
    ) -> AsyncItems[str]:
        lines = LineSplitter()
        chunks = self._download(operation, query, state)
        try:
            async for chunk in chunks:
                for line in lines.split(chunk):
                    yield line
        finally:
            await chunks.aclose()
        for line in lines.end():
            yield line

    def backup(self) -> AsyncStream[bytes]:
        """Streams a copy of the database with all namespaces, as an SQLite file. Raises `Forbidden` in a scope.

        A copy that is cut off raises `Unavailable`.
        """
        self._scope.require_namespace("backup")
        return AsyncStream(partial(self._download, operations.BACKUP, {}))

    async def _download(
        self, operation: Operation, query: Mapping[str, object], state: AsyncStreamState
    ) -> AsyncItems[bytes]:
        response = await self._transport.open(create_request(operation, query=query), self._options, state)
        chunks = self._transport.read(operation, response, state)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()

    # Imports

    async def import_memories(
        self, lines: AnyAsyncIterable[str | bytes], **options: Unpack[OwnScope]
    ) -> models.ImportResponse:
        """Imports the lines of an export, which are sent while they are read. Never repeated by itself.

        Memories that exist already stay the same, so that you can repeat an interrupted import.

        Args:
            lines: Lines as from `export_memories`, with or without line terminators.
            user_id, agent_id: The owner of lines without one. Lines of another owner are refused.

        Raises:
            Invalid: The first line is not the header of an export.
        """
        require_items("lines", lines)
        query = self._scope.writing(to_fields(options))
        stream = _to_lines(lines)
        return await self._call(operations.IMPORT_MEMORIES, models.ImportResponse, query=query, stream=stream)

    async def import_texts(
        self,
        texts: AnyAsyncIterable[models.ImportedText | Mapping[str, object]],
        *,
        from_: models.ImportFormat,
        **options: Unpack[ImportTextsOptions],
    ) -> models.ImportTextsResponse:
        """Stores texts of another program, which are sent while they are read. Never repeated by itself.

        Each text has the `external_id` of the other program, so a second call imports only new texts. A large import may need `with_options(total_timeout=…)`.

        Args:
            texts: The texts, as objects or dicts.
            from_: The format that the texts come from, such as `jsonl`.
            name: The name of the file, shown in the list of imports.
            content_key: A digest of the content. An import with the same digest continues the earlier one.
            expected_count: Number of texts, for the progress in events.
            redact: Remove secrets of known formats. Defaults to True.
            user_id, agent_id: The owner of the texts. Texts of another owner are refused.

        Example:
            >>> await memory.import_texts([{"external_id": "chat:1", "content": "The figs are ripe"}], from_="jsonl")
        """
        require_items("texts", texts)
        query = self._scope.writing(to_fields({"from_": from_, **options}))
        stream = _to_text_lines(texts)
        return await self._call(operations.IMPORT_TEXTS, models.ImportTextsResponse, query=query, stream=stream)

    async def import_file(
        self, file: bytes | bytearray | memoryview | AnyAsyncIterable[bytes], **options: Unpack[ImportFileOptions]
    ) -> models.FileImportResponse | models.ImportResponse:
        """Imports a file that another program exported, as it is. Never repeated by itself.

        A call with the same file continues an interrupted import. A large file may need `with_options(total_timeout=…)`.

        Args:
            file: Bytes, chunks of bytes, or a file that is open for reading in binary mode, which is read in chunks of
                64 KiB.
            from_: The format, such as `chatgpt`. `auto`, the default, recognizes it by its content.
            name: The name of the file. A changed file with the same name updates its memories.
            dry_run: Only return what an import would do.
            source_user: The user of the file whose memories are imported.
            map: The column for each field of a memory, for `csv` and `jsonl`: `content=text,created_at=date`.
            rest: `metadata` keeps columns without a place in a memory.
            capture: `prompts` or `turns` of agent programs. Defaults to `prompts`.
            timezone: IANA time zone of times without one.
            redact: Remove secrets of known formats.
            user_id, agent_id: The owner of the memories.

        Returns:
            The result of a file, or a `models.ImportResponse` if the file is an export of memoryd.

        Example:
            >>> with open("chatgpt-export.zip", "rb") as file:
            ...     preview = await memory.import_file(file, from_="chatgpt", dry_run=True)
        """
        query = self._scope.writing(to_fields({"from_": "auto", **options}))
        headers = {"Content-Type": "application/octet-stream"}
        stream = iterate_file_async(to_file(file))
        request = create_request(operations.IMPORT_MEMORIES, query=query, headers=headers, stream=stream)
        body = await self._transport.send(request, self._options)
        try:
            return decode_json(models.FileImportResponse, body)
        except DecodeError:
            return decode_response(models.ImportResponse, body)

    async def imports(self, **options: Unpack[ImportsOptions]) -> models.ImportsResponse:
        """Returns one page of the imports, newest first."""
        query = self._scope.writing(to_fields(options))
        return await self._call(operations.IMPORTS, models.ImportsResponse, query=query)

    async def undo_import(self, import_id: str, **options: Unpack[OwnScope]) -> models.UndoImportResponse:
        """Forgets the memories that an import created, except memories that were changed since, and the import.

        Raises:
            NotFound: The import does not exist in the scope, or was undone, perhaps by the first attempt.
            Conflict: The import is running.
        """
        return await self._call(
            operations.UNDO_IMPORT,
            models.UndoImportResponse,
            path=get_path(operations.UNDO_IMPORT, import_id),
            query=self._scope.writing(to_fields(options)),
            is_repeatable=True,
        )

    # Iterators over all pages. `limit` is the size of a page.

    async def each_memory(self, **options: Unpack[MemoriesOptions]) -> AsyncItems[models.Memory]:
        """Iterates over all memories that match the conditions, by default newest first.

        Fetches a page when it is needed. In another `order` than `created`, pages are read by their offset. Then changes
        during the iteration can move memories past it, and reading more than 10,000 memories raises `Invalid`. By `use`
        and `retention`, the iteration has the newest 10,000 memories.

        Example:
            >>> async for each in memory.each_memory(session_id="kitchen"):
            ...     print(each.created_at, each.content)
        """
        offset = options.get("offset") or 0
        page = await self.memories(**options)
        while True:
            for memory in page.memories:
                yield memory
            offset += len(page.memories)
            if page.next_cursor is not None:
                options["cursor"], options["offset"] = page.next_cursor, None
            elif has_next_page(options.get("order"), page, offset):
                options["offset"] = offset
            else:
                return
            page = await self.memories(**options)

    def each_session(self, **options: Unpack[SessionsOptions]) -> AsyncItems[models.Session]:
        """Iterates over all sessions with memories that match the conditions, ordered by id and user."""
        return _each(partial(self.sessions, **options), options, lambda page: page.sessions)

    def each_recall(self, **options: Unpack[RecallsOptions]) -> AsyncItems[models.RememberedRecall]:
        """Iterates over all remembered recalls, newest first."""
        return _each(partial(self.recalls, **options), options, lambda page: page.recalls)

    def each_session_memory(
        self, session_id: str, **options: Unpack[TranscriptOptions]
    ) -> AsyncItems[models.SessionMemory]:
        """Iterates over the whole transcript of a session, oldest first."""
        return _each(partial(self.session, session_id, **options), options, lambda page: page.memories)

    def each_user(self, **options: Unpack[Page]) -> AsyncItems[models.UserSummary]:
        """Iterates over all users of the namespace, ordered by id."""
        return _each(partial(self.users, **options), options, lambda page: page.users)

    def each_text(self, memory_id: str, **options: Unpack[HistoryOptions]) -> AsyncItems[models.MemoryText]:
        """Iterates over all texts that a memory has had, oldest first."""
        return _each(partial(self.history, memory_id, **options), options, lambda page: page.texts)

    def each_consolidation(self, **options: Unpack[Page]) -> AsyncItems[models.Consolidation]:
        """Iterates over all consolidation runs, newest first."""
        return _each(partial(self.consolidations, **options), options, lambda page: page.consolidations)

    def each_change(self, consolidation_id: str, **options: Unpack[Page]) -> AsyncItems[models.ConsolidationChange]:
        """Iterates over all changes of a consolidation run, in the order in which the run made them."""
        return _each(partial(self.consolidation, consolidation_id, **options), options, lambda page: page.changes)

    def each_correction(self, **options: Unpack[CorrectionsOptions]) -> AsyncItems[models.Correction]:
        """Iterates over all suggested corrections in a state, latest first."""
        return _each(partial(self.corrections, **options), options, lambda page: page.corrections)

    def each_import(self, **options: Unpack[ImportsOptions]) -> AsyncItems[models.Import]:
        """Iterates over all imports, newest first."""
        return _each(partial(self.imports, **options), options, lambda page: page.imports)

    async def _call(
        self,
        operation: Operation,
        hint: type[T],
        *,
        path: str | None = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        stream: AsyncItems[bytes] | None = None,
        is_repeatable: bool | None = None,
        accepts: Callable[[int, bytes], bool] | None = None,
    ) -> T:
        request = create_request(
            operation,
            path=path,
            query=query,
            headers=headers,
            body=body,
            stream=stream,
            is_repeatable=is_repeatable,
            accepts=accepts,
        )
        return decode_response(hint, await self._transport.send(request, self._options))


async def _each(
    fetch: Callable[..., Awaitable[R]], options: Mapping[str, object], get_items: Callable[[R], Sequence[T]]
) -> AsyncItems[T]:
    cursor = options.get("cursor")
    next_cursor = None if cursor is None else str(cursor)
    while True:
        page = await fetch(cursor=next_cursor)
        for item in get_items(page):
            yield item
        next_cursor = page.next_cursor
        if next_cursor is None:
            return


async def _to_lines(lines: AnyAsyncIterable[str | bytes]) -> AsyncItems[bytes]:
    async for line in iterate_async(lines):
        encoded = to_line(line)
        yield encoded if encoded.endswith(b"\n") else encoded + b"\n"


async def _to_text_lines(texts: AnyAsyncIterable[models.ImportedText | Mapping[str, object]]) -> AsyncItems[bytes]:
    async for text in iterate_async(texts):
        yield to_json_body(to_object(text, "texts")) + b"\n"
