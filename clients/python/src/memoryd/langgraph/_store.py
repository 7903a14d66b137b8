"""The stores. See `MemorydStore`."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from memoryd import AsyncMemory, Conflict, Forbidden, Memory, NotFound, PreconditionFailed
from memoryd import models as m
from memoryd.errors import to_exception

from ._filters import Condition, check_filter, matches, to_service_conditions
from ._items import (
    AGENT,
    INDEXED,
    NAMESPACE,
    SOURCE,
    USER,
    Owner,
    Row,
    is_storable,
    parse_row,
    parse_session_id,
    to_expiry,
    to_external_id,
    to_path,
    to_refreshed_metadata,
    to_store_request,
)
from ._steps import (
    Steps,
    arun,
    forget_many,
    list_memories,
    list_sessions,
    read_session,
    recall,
    run,
    store_batch,
    together,
    update,
)

T = TypeVar("T")

MAX_REQUESTS = 8
"""Maximum number of concurrent requests of an asynchronous store."""
MAX_PAGE_ITEMS = 1000
MAX_LOADED_ITEMS = 64
"""Maximum number of items whose attachments are loaded at once for a filter."""
MAX_RESULTS = 1000
"""Maximum number of results of a recall."""
MAX_ID_BYTES = 4500
"""Maximum size of the external ids in one filter. The service accepts filters of 8 KiB, which also name the owner."""
MAX_ATTACHMENTS = 8
"""Maximum number of attachments in one request."""
MAX_BATCH_BYTES = 8 * 1024 * 1024
"""Maximum size of a batch. The service accepts 16 MiB."""
MAX_BATCH_ITEMS = 1000
MAX_READS = 5
"""Number of times that an item is read while other programs change it."""
MAX_PREFIX_CHARS = 250
"""Maximum length of a namespace prefix that is left to the service."""

LoadedRow = tuple[Row, dict[str, Any]]
"""An item and its value."""


class _Operations:
    """The operations of a store, for a client of either kind."""

    def __init__(self, owner: Owner, fields: Sequence[str]) -> None:
        self._owner = owner
        self._fields = tuple(fields)
        self._is_owner_checked = False

    def batch(self, ops: Iterable[Op]) -> Steps[list[Result]]:
        """Runs operations. Reads see the state before the batch. The last put of an item wins."""
        # Checks all operations before the first request, so that an invalid one changes nothing.
        listed = list(ops)
        results: list[Result] = [None] * len(listed)
        gets: dict[int, GetOp] = {}
        reads: dict[int, Steps[Result]] = {}
        puts: dict[str, m.StoreRequest | None] = {}
        for i, op in enumerate(listed):
            _check(op)
            if isinstance(op, GetOp):
                gets[i] = op
            elif isinstance(op, SearchOp):
                reads[i] = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                reads[i] = self._list_namespaces(op)
            else:
                external_id = to_external_id(op.namespace, op.key)
                puts[external_id] = None if op.value is None else to_store_request(op, self._owner, self._fields)
        found = yield from together([self._get(gets), *map(_numbered, reads.keys(), reads.values())])
        for numbered in found:
            for i, result in numbered.items():
                results[i] = result
        yield from self._forget([external_id for external_id, request in puts.items() if request is None])
        yield from self._store([request for request in puts.values() if request is not None])
        return results

    def _get(self, gets: dict[int, GetOp]) -> Steps[dict[int, Result]]:
        ids = {i: to_external_id(op.namespace, op.key) for i, op in gets.items()}
        loaded = {row.external_id: (row, value) for row, value in (yield from self._read(list(ids.values())))}
        refreshed = {ids[i]: loaded[ids[i]][0] for i, op in gets.items() if op.refresh_ttl and ids[i] in loaded}
        yield from _refresh(refreshed.values())
        return {i: _to_item(*loaded[external_id]) for i, external_id in ids.items() if external_id in loaded}

    def _search(self, op: SearchOp) -> Steps[Result]:
        if op.limit == 0:
            return []
        found: Sequence[tuple[Row, dict[str, Any], float | None]]
        if op.query and op.query.strip():
            found = yield from self._recall(op, op.query)
        else:
            found = [(row, value, None) for row, value in (yield from self._list(op))]
        if op.refresh_ttl:
            yield from _refresh([row for row, _, _ in found])
        return [_to_search_item(row, value, score) for row, value, score in found]

    def _list(self, op: SearchOp) -> Steps[list[LoadedRow]]:
        """Lists items, latest created first."""
        wanted = op.offset + op.limit
        conditions = self._to_conditions(op)
        rows: list[Row] = []
        loaded: list[LoadedRow] = []
        cursor: str | None = None
        limit = wanted
        while True:
            limit = min(limit, MAX_PAGE_ITEMS)
            page = yield from list_memories(filter=conditions, limit=limit, cursor=cursor, shared=False)
            # The next page is larger, because only this store can evaluate some filters.
            limit *= 4
            listed = [row for row in self._parse(page.memories) if _is_below(row, op.namespace_prefix)]
            if op.filter:
                for chunk in _chunk(listed, MAX_LOADED_ITEMS):
                    loaded += [pair for pair in (yield from self._load(chunk)) if matches(pair[1], op.filter)]
            else:
                rows += listed
            cursor = page.next_cursor
            if cursor is None or max(len(rows), len(loaded)) >= wanted:
                break
        if op.filter:
            return loaded[op.offset : wanted]
        return (yield from self._load(rows[op.offset : wanted]))

    def _recall(self, op: SearchOp, query: str) -> Steps[Sequence[tuple[Row, dict[str, Any], float | None]]]:
        """Recalls items, best first. Items without an indexed text are not found."""
        wanted = op.offset + op.limit
        conditions: Condition = {**self._to_conditions(op), f"metadata.{INDEXED}": True}
        top_k = min(wanted, MAX_RESULTS)
        while True:
            response = yield from recall(query, top_k=top_k, filter=conditions, shared=False)
            scores = {result.external_id: result.score for result in response.results if result.external_id}
            loaded = {row.external_id: (row, value) for row, value in (yield from self._read(list(scores)))}
            found = [
                (*loaded[external_id], score)
                for external_id, score in scores.items()
                if external_id in loaded
                and _is_below(loaded[external_id][0], op.namespace_prefix)
                and matches(loaded[external_id][1], op.filter)
            ]
            # The service may have returned items that only this store can leave out.
            if len(found) >= wanted or len(response.results) < top_k or top_k == MAX_RESULTS:
                return found[op.offset : wanted]
            top_k = MAX_RESULTS

    def _list_namespaces(self, op: ListNamespacesOp) -> Steps[Result]:
        prefixes = [each.path for each in op.match_conditions or () if each.match_type == "prefix"]
        literal = max((_get_literal_prefix(path) for path in prefixes), key=len, default=())
        conditions = self._get_base_conditions(literal)
        namespaces: set[tuple[str, ...]] = set()
        cursor: str | None = None
        while True:
            page = yield from list_sessions(filter=conditions, limit=MAX_PAGE_ITEMS, cursor=cursor, shared=False)
            for session in page.sessions:
                namespace = parse_session_id(session.session_id)
                if namespace is None:
                    namespace = yield from self._read_namespace(session.session_id, conditions)
                if namespace is not None and all(_is_match(namespace, each) for each in op.match_conditions or ()):
                    namespaces.add(namespace if op.max_depth is None else namespace[: op.max_depth])
            cursor = page.next_cursor
            if cursor is None:
                return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _read_namespace(self, session_id: str, conditions: Condition) -> Steps[tuple[str, ...] | None]:
        """Reads the namespace of a session whose id is a digest, from one of its items."""
        page = yield from list_memories(session_id=session_id, filter=conditions, limit=1, shared=False)
        return next((row.namespace for row in self._parse(page.memories)), None)

    def _read(self, external_ids: Sequence[str]) -> Steps[list[LoadedRow]]:
        rows = yield from self._read_rows(external_ids)
        return (yield from self._load(rows))

    def _read_rows(self, external_ids: Sequence[str]) -> Steps[list[Row]]:
        unique = list(dict.fromkeys(external_ids))
        pages = yield from together(map(self._read_chunk, _chunk_ids(unique)))
        return [row for page in pages for row in page]

    def _read_chunk(self, external_ids: list[str]) -> Steps[list[Row]]:
        conditions = self._get_id_conditions(external_ids)
        rows: list[Row] = []
        cursor: str | None = None
        while True:
            page = yield from list_memories(filter=conditions, cursor=cursor, shared=False)
            rows += self._parse(page.memories)
            cursor = page.next_cursor
            if cursor is None:
                return rows

    def _load(self, rows: Sequence[Row]) -> Steps[list[LoadedRow]]:
        """Loads the values that stand in attachments. Leaves out items that have been deleted since."""
        order = {row.external_id: i for i, row in enumerate(rows)}
        loaded: dict[str, LoadedRow] = {}
        pending = list(rows)
        for _ in range(MAX_READS):
            attachments = yield from self._read_attachments([row for row in pending if row.value is None])
            changed: list[str] = []
            for row in pending:
                attachment = attachments.get(row.external_id)
                value = row.value if attachment is None else json.loads(attachment)
                if value is None:
                    changed.append(row.external_id)
                else:
                    loaded[row.external_id] = (row, value)
            if not changed:
                return sorted(loaded.values(), key=lambda pair: order[pair[0].external_id])
            pending = yield from self._read_rows(changed)
        raise Conflict(f"an item was changed by other programs during each of {MAX_READS} reads; retry")

    def _read_attachments(self, rows: Sequence[Row]) -> Steps[dict[str, str]]:
        sessions: dict[str, list[str]] = {}
        for row in rows:
            sessions.setdefault(row.session_id, []).append(row.external_id)
        pages = yield from together(
            self._read_session(session_id, chunk)
            for session_id, external_ids in sessions.items()
            for chunk in _chunk_ids(external_ids, MAX_ATTACHMENTS)
        )
        return {external_id: attachment for page in pages for external_id, attachment in page.items()}

    def _read_session(self, session_id: str, external_ids: list[str]) -> Steps[dict[str, str]]:
        conditions = self._get_id_conditions(external_ids)
        attachments: dict[str, str] = {}
        cursor: str | None = None
        while True:
            page = yield from read_session(session_id, filter=conditions, attachments=True, cursor=cursor, shared=False)
            for each in page.memories:
                if each.external_id and each.attachment:
                    attachments[each.external_id] = each.attachment
            cursor = page.next_cursor
            if cursor is None:
                return attachments

    def _store(self, requests: Sequence[m.StoreRequest]) -> Steps[None]:
        for chunk in _chunk_requests(requests):
            response = yield from store_batch(chunk)
            for result in response.results:
                if not isinstance(result, m.StoreResponse):
                    raise to_exception(result.error)
        if requests and not self._is_owner_checked:
            yield from self._check_owner([request.external_id or "" for request in requests])

    def _check_owner(self, external_ids: Sequence[str]) -> Steps[None]:
        """Checks once that the service has not stored items for another owner, whom only the API key names.

        Reads would not return such items.
        """
        page = yield from list_memories(filter=self._get_id_conditions(external_ids[:1]), shared=False)
        if page.memories and not self._parse(page.memories):
            yield from self._forget(external_ids)
            raise Forbidden(
                "the API key is restricted to a user or agent; create the store with the same scope, such as "
                'MemorydStore(memory.scope(user_id="ada"))'
            )
        # An item may have expired already.
        self._is_owner_checked = bool(page.memories)

    def _forget(self, external_ids: Sequence[str]) -> Steps[None]:
        yield from together(forget_many(filter=self._get_id_conditions(ids)) for ids in _chunk_ids(external_ids))

    def _parse(self, memories: Iterable[m.Memory]) -> list[Row]:
        rows = (parse_row(memory, self._owner) for memory in memories)
        return [row for row in rows if row is not None]

    def _get_owner_conditions(self) -> Condition:
        """Returns the conditions that the items of other owners in the scope do not meet."""
        return {f"metadata.{USER}": self._owner.user, f"metadata.{AGENT}": self._owner.agent}

    def _get_id_conditions(self, external_ids: Sequence[str]) -> Condition:
        return {**self._get_owner_conditions(), "external_id": {"$in": list(external_ids)}}

    def _get_base_conditions(self, namespace_prefix: Sequence[str]) -> Condition:
        return {
            **self._get_owner_conditions(),
            "external_id": {"$prefix": f"{SOURCE}:"},
            f"metadata.{NAMESPACE}": {"$prefix": to_path(namespace_prefix)[:MAX_PREFIX_CHARS]},
        }

    def _to_conditions(self, op: SearchOp) -> Condition:
        base = self._get_base_conditions(op.namespace_prefix)
        conditions = to_service_conditions(op.filter)
        return {**base, "$and": conditions} if conditions else base


class MemorydStore(BaseStore):
    """A store of LangGraph whose items are memories of one user, one agent, or all users.

    It has all operations of `BaseStore`. As in `PostgresStore`, an overwritten item keeps its `created_at`, and reads in
    a batch see the state before the batch. A search with a query recalls by meaning and words. A search without one
    lists the latest created items first.

    Args:
        memory: The client. The store reads and writes only items in its scope: `memory.scope(user_id="ada")` gives a
            store of Ada, and an unscoped client a store of items that belong to no user. With an API key that is
            restricted to a user or agent, use the scope of that user or agent.
        fields: Paths of the fields to index, such as `("text", "messages[*].content")`. `"$"` stands for all fields.
            A put may state its own.
        ttl: `default_ttl` in minutes, and whether reads extend the expiry (`refresh_on_read`). The service hides
            expired items at once, so it needs no sweep. The clock of this program determines when an item expires.

    Raises:
        ValueError: A value has more than about 1 MiB of JSON, a namespace and key together more than 15 KiB, or a
            namespace or key contains U+0000 or a lone surrogate. Nothing of the batch is stored.
        MemorydError: The service refused a request. `Forbidden` if the API key is restricted to a user or agent that
            is not in the scope of the client.

    Example:
        >>> store = MemorydStore(memory.scope(user_id="ada"), fields=["text"])
        >>> store.put(("notes",), "tea", {"text": "Ada drinks green tea", "cups": 3})
        >>> store.search(("notes",), query="What does Ada drink?", filter={"cups": {"$gte": 2}})[0].key
        'tea'
    """

    supports_ttl = True

    def __init__(self, memory: Memory, *, fields: Sequence[str] = ("$",), ttl: TTLConfig | None = None) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._memory = memory
        self._operations = _Operations(_get_owner(memory), fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations, one request after another. Returns one result per operation, in order."""
        return run(self._memory, self._operations.batch(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs `batch` in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, partial(self.batch, list(ops)))


class AsyncMemorydStore(BaseStore):
    """`MemorydStore` over an `AsyncMemory`. Has at most eight requests under way at once.

    The synchronous methods can be called in other threads than that of the event loop, as LangGraph does for
    synchronous tools.

    Example:
        >>> store = AsyncMemorydStore(memory.scope(user_id="ada"))
        >>> await store.aput(("notes",), "tea", {"text": "Ada drinks green tea"})
        >>> (await store.aget(("notes",), "tea")).value
        {'text': 'Ada drinks green tea'}
    """

    supports_ttl = True

    def __init__(self, memory: AsyncMemory, *, fields: Sequence[str] = ("$",), ttl: TTLConfig | None = None) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._memory = memory
        self._operations = _Operations(_get_owner(memory), fields)
        self._slots = asyncio.Semaphore(MAX_REQUESTS)
        self._loop = _get_running_loop()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations, independent ones concurrently. Returns one result per operation, in order."""
        self._loop = asyncio.get_running_loop()
        return await arun(self._memory, self._operations.batch(ops), self._slots)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs `abatch` in the event loop of the store, and waits for it.

        Raises:
            RuntimeError: The call is in the thread of the event loop, or no running event loop has used the store.
        """
        if self._loop is None or not self._loop.is_running() or _get_running_loop() is self._loop:
            raise RuntimeError(
                "the synchronous methods of AsyncMemorydStore must be called in another thread than that of its event "
                "loop; use aget, aput, asearch, adelete and alist_namespaces, or a MemorydStore"
            )
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), self._loop).result()


def _get_owner(memory: Memory | AsyncMemory) -> Owner:
    # The scope is private, because only the adapters need it.
    scope = memory._scope  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return Owner(user=scope.user_id, agent=scope.agent_id)


def _get_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _numbered(number: int, operation: Steps[Result]) -> Steps[dict[int, Result]]:
    return {number: (yield from operation)}


def _check(op: Op) -> None:
    """Raises ValueError for an operation that the store cannot run."""
    validate_op_namespace(op)
    if isinstance(op, (GetOp, PutOp)):
        if not all(map(is_storable, (*op.namespace, op.key))):
            raise ValueError("a namespace and a key must not contain U+0000 or a lone surrogate")
    else:
        if op.limit < 0 or op.offset < 0:
            raise ValueError("limit and offset must not be negative")
    if isinstance(op, PutOp) and op.ttl is not None and not math.isfinite(op.ttl):
        raise ValueError("ttl must be a finite number of minutes, or None")
    if isinstance(op, SearchOp):
        if not all(map(is_storable, op.namespace_prefix)):
            raise ValueError("namespace_prefix must not contain U+0000 or a lone surrogate")
        check_filter(op.filter)


def _refresh(rows: Iterable[Row]) -> Steps[None]:
    """Extends the expiry of items with a time to live."""
    yield from together(_refresh_row(row) for row in rows if row.ttl_minutes is not None)


def _refresh_row(row: Row) -> Steps[None]:
    try:
        yield from update(
            row.memory.id,
            expires_at=to_expiry(row.ttl_minutes),
            metadata=to_refreshed_metadata(row),
            if_versions=[row.memory.version],
        )
    except (NotFound, PreconditionFailed):
        # Another program has deleted, put or refreshed the item since.
        return


def _to_item(row: Row, value: dict[str, Any]) -> Item:
    return Item(
        value=value,
        key=row.key,
        namespace=row.namespace,
        created_at=row.memory.created_at,
        updated_at=row.updated_at,
    )


def _to_search_item(row: Row, value: dict[str, Any], score: float | None) -> SearchItem:
    return SearchItem(
        namespace=row.namespace,
        key=row.key,
        value=value,
        created_at=row.memory.created_at,
        updated_at=row.updated_at,
        score=score,
    )


def _is_below(row: Row, namespace_prefix: Sequence[str]) -> bool:
    return row.namespace[: len(namespace_prefix)] == tuple(namespace_prefix)


def _is_match(namespace: Sequence[str], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(expected in {"*", label} for label, expected in zip(labels, path, strict=True))


def _get_literal_prefix(path: Sequence[str]) -> tuple[str, ...]:
    """Returns the labels before the first wildcard."""
    return tuple(path[: path.index("*")] if "*" in path else path)


def _chunk(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for begin in range(0, len(values), size):
        yield values[begin : begin + size]


def _chunk_ids(external_ids: Sequence[str], max_items: int = MAX_PAGE_ITEMS) -> Iterator[list[str]]:
    """Yields lists of external ids that fit into a filter."""
    chunk: list[str] = []
    size = 0
    for external_id in external_ids:
        # The service measures the filter as JSON in UTF-8.
        length = len(json.dumps(external_id, ensure_ascii=False).encode()) + 1
        if chunk and (size + length > MAX_ID_BYTES or len(chunk) == max_items):
            yield chunk
            chunk, size = [], 0
        chunk.append(external_id)
        size += length
    if chunk:
        yield chunk


def _chunk_requests(requests: Sequence[m.StoreRequest]) -> Iterator[list[m.StoreRequest]]:
    """Yields lists of store requests that fit into a batch."""
    chunk: list[m.StoreRequest] = []
    size = 0
    for request in requests:
        length = len(json.dumps([request.content, request.metadata, request.attachment]).encode()) + 2000
        if chunk and (size + length > MAX_BATCH_BYTES or len(chunk) == MAX_BATCH_ITEMS):
            yield chunk
            chunk, size = [], 0
        chunk.append(request)
        size += length
    if chunk:
        yield chunk
