"""memoryd for the OpenAI Agents SDK: sessions, the memories of a user in a prompt, and tools.

Install it with `pip install 'memoryd[openai-agents]'`.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias, cast
from uuid import uuid4

from agents import FunctionTool, SessionSettings, Tool, TResponseInputItem
from agents.run import CallModelData, ModelInputData
from agents.tool_context import ToolContext
from openai.types.responses import EasyInputMessageParam

from . import AsyncMemory, F
from ._agent_memory import (
    DEFAULT_TIMEOUT_SECONDS,
    DEFAULT_TOKENS,
    AgentMemory,
    resolve_user,
    scope_to_user,
)
from ._model_tools import MODEL_TOOLS, ModelTool
from ._turns import ROLE_TAG, to_accepted
from .errors import Invalid, MemorydError, NotFound, PreconditionFailed, to_exception
from .filters import Filter
from .models import Memory, SessionMemory, StoreBatchError, StoreBatchResponse, StoreRequest

__all__ = ["MemorydSession", "memory_input_filter", "memory_tools"]

Item: TypeAlias = Mapping[str, Any]

UserId: TypeAlias = "str | Callable[[Any], str] | None"
"""The id of the end user, or a function that returns it for the `context` of a run. None if the store has only one user."""

_SOURCE = "openai-agents"
"""Marks the memories that are items of a session. Tools can store other memories in the same session."""

_MAX_ITEM_BYTES = 1024 * 1024
_MAX_ITEMS = 10_000
_MAX_PAGE = 10_000
_MAX_ROLE_CHARS = 123
"""The tag `role:ROLE` has at most 128 characters."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")

_MAX_ARGUMENT_CHARS = 1000
"""Maximum characters of the arguments of a tool call in the text of its memory."""

_MAX_CACHED_CONTEXTS = 200


class MemorydSession:
    """A session of the Agents SDK for one user. Each item is a memory, so all sessions of the user can be recalled.

    Items come back unchanged and in order, also tool calls, reasoning and images: the JSON of an item is the attachment
    of its memory, and its text is the content. The tag `role:ROLE` names the speaker. Calls raise `MemorydError` if the
    service fails: a run without its history would give wrong answers.

    Args:
        memory: The service. The session does not close it.
        session_id: Names the conversation, 1 to 256 characters.
        user_id: The end user. None if the store has only one user, to whom all memories belong.
        agent_id: The agent that works for the user. Any agent if None.
        session_settings: `SessionSettings(limit=N)` makes runs read the newest N items.

    Example:
        >>> session = MemorydSession(memory, "chat-1", user_id="ada")
        >>> result = await Runner.run(agent, "Hello", session=session)
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        memory: AsyncMemory,
        session_id: str,
        *,
        user_id: str | None,
        agent_id: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._memory = scope_to_user(memory, user_id, agent_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the newest `limit` items, oldest first, or all items without a limit in the call and the settings."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is None:
            return _parse_items(await self._read())
        oldest = await self._find_newest(limit)
        return _parse_items(await self._read(oldest.created_at))[-limit:] if oldest else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items in order: all of them, or none.

        If the service refuses some of the items, for example because of a quota, the others are forgotten again. They
        stay if the service becomes unavailable before that.

        Raises:
            Invalid: There are more than 10,000 items, or an item is not JSON, or has more than 1 MiB of JSON.
            PayloadTooLarge: All items together are larger than a batch of the service, which is 16 MiB by default.
            MemorydError: The service refuses an item, or fails. After `Unavailable`, the items may be stored.
        """
        if len(items) > _MAX_ITEMS:
            raise Invalid(
                f"items must have at most {_MAX_ITEMS:,} elements, but has {len(items):,}; add them in several calls"
            )
        requests = [self._to_request(item, index) for index, item in enumerate(items)]
        if not requests:
            return
        response = await self._memory.store_batch(requests, idempotency_key=str(uuid4()))
        if response.failed_count == 0:
            return
        stored = [result.id for result in response.results if not isinstance(result, StoreBatchError)]
        for memory_id in stored:
            await self._memory.forget(memory_id)
        raise _to_error(response)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item for good and returns it; None if the session is empty.

        Of several calls at once, each returns another item. If no response arrives from the service, the call raises
        `Unavailable`, and the item may be removed.
        """
        # A further attempt is needed only after another call has removed or changed the newest item.
        while (newest := await self._find_newest(1)) is not None:
            memories = await self._read(newest.created_at)
            try:
                await self._memory.forget(newest.id, if_versions=[newest.version])
            except (NotFound, PreconditionFailed):
                continue
            popped = _parse_items([memory for memory in memories if memory.id == newest.id])
            if popped:
                return popped[0]
        return None

    async def clear_session(self) -> None:
        """Forgets all memories of this session of this user for good, including those that tools have stored in it."""
        await self._memory.forget_many(session_id=self.session_id)

    async def _find_newest(self, count: int) -> Memory | None:
        """Returns the oldest of the newest `count` items."""
        if count < 1:
            return None
        limit = min(count, _MAX_PAGE)
        oldest: Memory | None = None
        page = await self._memory.memories(session_id=self.session_id, source=_SOURCE, limit=limit)
        while page.memories:
            oldest = page.memories[min(count, len(page.memories)) - 1]
            count -= len(page.memories)
            if count <= 0 or page.next_cursor is None:
                break
            page = await self._memory.memories(
                session_id=self.session_id, source=_SOURCE, limit=limit, cursor=page.next_cursor
            )
        return oldest

    async def _read(self, since: datetime | None = None) -> list[SessionMemory]:
        """Returns the memories of the items that were added at or after a time, oldest first, with attachments."""
        is_item: Filter = F.source == _SOURCE
        selected = is_item if since is None else is_item & (F.created_at >= since)
        memories = self._memory.each_session_memory(self.session_id, filter=selected, attachments=True)
        return [memory async for memory in memories]

    def _to_request(self, item: TResponseInputItem, index: int) -> StoreRequest:
        fields = cast("Item", item)
        attachment = _to_json(fields, index)
        return StoreRequest(
            content=to_accepted(_describe(fields)),
            tags=(to_accepted(ROLE_TAG + _get_role(fields)),),
            source=_SOURCE,
            session_id=self.session_id,
            # Consolidation merges memories with the same text and metadata, and a session may repeat an item.
            metadata={"item": str(uuid4())},
            attachment=attachment,
        )


def memory_input_filter(
    memory: AsyncMemory,
    *,
    user_id: UserId,
    agent_id: str | None = None,
    shared: bool = False,
    tokens: int = DEFAULT_TOKENS,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    timezone: str | None = None,
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """Returns a filter for `RunConfig(call_model_input_filter=...)` that adds the memories of the user to a prompt.

    Before the last user message, the model gets the context for it, from all sessions of the user: standing notes, and
    memories about the message. The text is fenced, and has the authority of user input. Sessions do not store it. Texts
    that the prompt contains are left out. All steps of a turn use one context.

    While the service is unavailable, runs go on without memories: the context is tried once, within `timeout`, and after
    a failure not for 30 seconds. Failures are logged as warnings of the logger `memoryd`.

    Args:
        memory: The service.
        user_id: The end user, or a function that returns the user for the `context` of a run, so that one agent serves
            many people. None if the store has only one user.
        agent_id: The agent that works for the user. Any agent if None.
        shared: Whether memories without a user are included.
        tokens: Maximum tokens of the memories, 50 to 20,000.
        timeout: Seconds, at most 60.
        timezone: IANA name, such as `Europe/Berlin`, for dates. Defaults to the time zone of the service.

    Raises:
        ValueError: `tokens` or `timeout` is out of range.

    Example:
        >>> config = RunConfig(call_model_input_filter=memory_input_filter(memory, user_id=lambda user: user.id))
        >>> result = await Runner.run(agent, "Plan a dinner", context=user, run_config=config)
    """
    agent = AgentMemory(memory, agent_id=agent_id, shared=shared, tokens=tokens, timeout=timeout, timezone=timezone)
    contexts: OrderedDict[str, str] = OrderedDict()

    async def add_memories(data: CallModelData[Any]) -> ModelInputData:
        items = data.model_data.input
        messages = [cast("Item", item) for item in items]
        last = next((i for i in reversed(range(len(messages))) if messages[i].get("role") == "user"), None)
        if last is None:
            return data.model_data
        user = resolve_user(user_id, data.context)
        texts = [_get_text(message) for message in messages if "role" in message]
        key = _to_digest([user, [_get_text(message) for message in messages[: last + 1] if "role" in message]])
        # The first step of a turn ends with the message of the user, and the others with results of tools.
        text = contexts.get(key) if last < len(messages) - 1 else None
        if text is None:
            text = await agent.get_context(user, _get_text(messages[last]), texts)
            contexts[key] = text
            if len(contexts) > _MAX_CACHED_CONTEXTS:
                contexts.popitem(last=False)
        if text == "":
            return data.model_data
        note: EasyInputMessageParam = {"role": "user", "content": text}
        return ModelInputData([*items[:last], note, *items[last:]], data.model_data.instructions)

    return add_memories


def memory_tools(
    memory: AsyncMemory,
    *,
    user_id: UserId,
    agent_id: str | None = None,
    shared: bool = False,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    timezone: str | None = None,
) -> list[Tool]:
    """Returns tools for the memories of the user.

    These are `memory_store`, `memory_recall`, `memory_session`, `memory_update` and `memory_forget`. No tool has a user
    argument, so a model cannot access other users. Errors are results that tell the model what to do. A call is tried
    once, a read within `timeout`, and a write within 5 more seconds. After a failed read, reads fail at once
    for 30 seconds; after a failed write, writes do. For the arguments, see `memory_input_filter`.

    Example:
        >>> agent = Agent(name="Cook", tools=memory_tools(memory, user_id=lambda user: user.id))
    """
    agent = AgentMemory(memory, agent_id=agent_id, shared=shared, timeout=timeout, timezone=timezone)
    return [_to_function_tool(tool, agent, user_id) for tool in MODEL_TOOLS]


def _to_function_tool(tool: ModelTool, agent: AgentMemory, user_id: UserId) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        user = resolve_user(user_id, context.context)
        try:
            parsed: object = json.loads(arguments)
        except ValueError:
            return "INVALID_REQUEST: the arguments must be a JSON object. Correct the arguments and call again."
        return (await agent.call_tool(user, tool.name, parsed)).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
    )


def _to_error(response: StoreBatchResponse) -> MemorydError:
    """Returns the first error of a batch."""
    first = next(result.error for result in response.results if isinstance(result, StoreBatchError))
    message = f"no item was added, because {response.failed_count} were refused: {first.message}"
    return to_exception(replace(first, message=message))


def _to_json(item: Item, index: int) -> str:
    """Returns the JSON of an item. Raises `Invalid` if the item is too large, or not JSON."""
    try:
        text = json.dumps(item, ensure_ascii=False)
        # UTF-8 cannot contain lone surrogates, but JSON can escape them.
        size = len(text.encode("utf-8", "surrogatepass"))
        if _SURROGATE.search(text):
            text = json.dumps(item)
            size = len(text)
    except (TypeError, ValueError) as cause:
        raise Invalid(f"items/{index} must be JSON, but is not: {cause}") from cause
    if size > _MAX_ITEM_BYTES:
        limit = f"items/{index} must have at most {_MAX_ITEM_BYTES:,} bytes of JSON, but has {size:,}"
        raise Invalid(f"{limit}; store large data such as images elsewhere, and add their address")
    return text


def _parse_items(memories: Iterable[SessionMemory]) -> list[TResponseInputItem]:
    """Returns the items of memories. Leaves out a memory whose attachment another program has replaced by other data."""
    parsed = (_parse_object(memory.attachment) for memory in memories)
    return [cast("TResponseInputItem", item) for item in parsed if item is not None]


def _parse_object(text: str | None) -> Item | None:
    try:
        parsed: object = json.loads(text or "null")
    except ValueError:
        return None
    return cast("Item", parsed) if isinstance(parsed, dict) else None


def _get_role(item: Item) -> str:
    """Returns the speaker of an item: `tool` for the result of a tool, `assistant` for messages and calls of the model."""
    kind = str(item.get("type", ""))
    role = str(item.get("role") or ("tool" if kind.endswith("_output") else "assistant"))
    return role[:_MAX_ROLE_CHARS]


def _describe(item: Item) -> str:
    """Returns the readable text of an item, or its type, because a memory must not be blank."""
    text = _get_text(item)
    return text if text.strip() else f"[{item.get('type') or item.get('role') or 'item'}]"


def _get_text(item: Item) -> str:
    if "name" in item and "arguments" in item:
        return f"{item['name']}({str(item['arguments'])[:_MAX_ARGUMENT_CHARS]})"
    parts = next((item[name] for name in ("content", "output", "summary") if item.get(name)), "")
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, (list, tuple)):
        return ""
    return "\n".join(_get_part_text(part) for part in cast("Sequence[object]", parts))


def _get_part_text(part: object) -> str:
    fields: Item = cast("Item", part) if isinstance(part, dict) else {}
    text = fields.get("text") or fields.get("refusal") or ""
    return text if isinstance(text, str) else ""


def _to_digest(value: object) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()
