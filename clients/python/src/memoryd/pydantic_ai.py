"""memoryd for Pydantic AI: a capability that gives an agent the memories of the user of a run.

Install it with `pip install 'memoryd[pydantic-ai]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from datetime import timezone as time_zone
from typing import Any, Generic
from uuid import uuid4

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, TextPart, UserContent, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, AgentToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from . import AsyncMemory
from ._agent_memory import DEFAULT_TIMEOUT_SECONDS, DEFAULT_TOKENS, AgentMemory, resolve_user
from ._model_tools import MODEL_TOOLS
from ._turns import ROLE_TAG
from .models import StoreRequest

__all__ = ["MemorydCapability"]

_ANY_ARGUMENTS = SchemaValidator(core_schema.any_schema())


class MemorydCapability(AbstractCapability[AgentDepsT], Generic[AgentDepsT]):
    """Gives an agent the memory of the user of a run.

    Before the last user prompt, the model gets the context for it, from all conversations of the user: standing notes,
    and memories about the prompt. The text is fenced, and has the authority of user input. It is not part of the message
    history. Texts that the messages contain are left out. All steps of a run use one context for a prompt.

    The tools `memory_store`, `memory_recall`, `memory_session`, `memory_update` and `memory_forget` have no user
    argument, so a model cannot access other users. An error of a tool is a result that tells the model what to do.

    While the service is unavailable, runs go on without memories: the context is tried once, within `timeout`, and after
    a failure not for 30 seconds. Tools that read then fail at once, and tools that write after a failed write. Failures
    are logged as warnings of the logger `memoryd`.

    Args:
        memory: The service. The capability does not close it.
        user_id: The end user, or a function that returns the user of a run, such as `lambda ctx: ctx.deps.user_id`, so
            that one agent serves many people. None if the store has only one user.
        agent_id: The agent that works for the user. Any agent if None.
        shared: Whether memories without a user are included.
        tokens: Maximum tokens of the memories, 50 to 20,000.
        tools: Whether the model gets the tools.
        capture: Whether each run stores the user's prompt and the answer, unless the answer is not text. The session is
            the `conversation_id` of the run. Storing takes at most `timeout`; after a failed recall, the run does not wait for it. While the service is unavailable, at most
            1,000 turns, or 8,388,608 characters, wait in memory. A later run or `flush` stores them.
        timeout: Seconds, at most 60. Writes of tools may take 5 more seconds.
        timezone: IANA name, such as `Europe/Berlin`, for dates. Defaults to the time zone of the service.

    Raises:
        ValueError: `tokens` or `timeout` is out of range.

    Example:
        >>> agent = Agent(model, deps_type=User, capabilities=[MemorydCapability(memory, lambda ctx: ctx.deps.id)])
        >>> result = await agent.run("Plan a dinner", deps=user)
    """

    def __init__(
        self,
        memory: AsyncMemory,
        user_id: str | Callable[[RunContext[AgentDepsT]], str] | None,
        *,
        agent_id: str | None = None,
        shared: bool = False,
        tokens: int = DEFAULT_TOKENS,
        tools: bool = True,
        capture: bool = False,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        timezone: str | None = None,
    ) -> None:
        self._agent = AgentMemory(
            memory, agent_id=agent_id, shared=shared, tokens=tokens, timeout=timeout, timezone=timezone
        )
        self._user_id = user_id
        self._tools = tools
        self._capture = capture
        self._contexts: dict[str, str] = {}

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Returns None: a service and a function cannot be written into a specification."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> MemorydCapability[AgentDepsT]:  # noqa: ARG002
        """Returns a copy, because the contexts belong to one run."""
        run = copy(self)
        run._contexts = {}  # noqa: SLF001
        return run

    def get_toolset(self) -> AgentToolset[AgentDepsT] | None:
        """Returns the tools of the model."""
        return _MemoryToolset(self._agent, self._user_id) if self._tools else None

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Adds the memories for the last user prompt to the request."""
        messages = request_context.messages
        index = next((i for i in reversed(range(len(messages))) if _get_prompts(messages[i])), None)
        if index is None:
            return request_context
        query = _get_text(_get_prompts(messages[index])[-1].content)
        text = self._contexts.get(query)
        if text is None:
            user = resolve_user(self._user_id, ctx)
            text = await self._agent.get_context(user, query, _get_texts(messages))
            self._contexts[query] = text
        if text == "":
            return request_context
        noted = _add_note(messages[index], text)
        return replace(request_context, messages=[*messages[:index], noted, *messages[index + 1 :]])

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Stores the turn, if asked."""
        if not self._capture:
            return result
        asked = [prompts for message in result.all_messages() if (prompts := _get_prompts(message))]
        question = "\n".join(_get_text(prompt.content) for prompt in asked[-1]) if asked else ""
        answer: object = result.output
        if question.strip() and isinstance(answer, str) and answer.strip():
            session_id, now = ctx.conversation_id, datetime.now(time_zone.utc)
            turn = [
                StoreRequest(content=content, tags=(ROLE_TAG + role,), session_id=session_id, created_at=now)
                for role, content in (("user", question), ("assistant", answer))
            ]
            await self._agent.store(resolve_user(self._user_id, ctx), turn, f"turn {ctx.run_id or uuid4()}")
        return result

    async def flush(self, timeout: float = 10.0) -> None:
        """Stores the turns that wait, of all capabilities of this service. For programs that end.

        Raises:
            Unavailable: Some turns are not stored after `timeout` seconds. They still wait.
        """
        await self._agent.flush(timeout)


class _MemoryToolset(AbstractToolset[AgentDepsT], Generic[AgentDepsT]):
    """The tools of the service."""

    def __init__(self, agent: AgentMemory, user_id: str | Callable[[RunContext[AgentDepsT]], str] | None) -> None:
        self._agent = agent
        self._user_id = user_id

    @property
    def id(self) -> str | None:
        return "memoryd"

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:  # noqa: ARG002
        definitions = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=_without_type_lists(tool.input_schema),
            )
            for tool in MODEL_TOOLS
        ]
        return {
            # The service checks the arguments. The model gets one chance to correct arguments that are not JSON.
            each.name: ToolsetTool(toolset=self, tool_def=each, max_retries=1, args_validator=_ANY_ARGUMENTS)
            for each in definitions
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],  # noqa: ARG002
    ) -> str:
        result = await self._agent.call_tool(resolve_user(self._user_id, ctx), name, tool_args)
        if result.is_error:
            raise ToolFailed(result.text)
        return result.text


def _without_type_lists(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of arguments with alternatives in place of lists of types, which `TestModel` does not know."""
    properties: dict[str, dict[str, Any]] = schema["properties"]
    return {**schema, "properties": {name: _split_types(each) for name, each in properties.items()}}


def _split_types(schema: dict[str, Any]) -> dict[str, Any]:
    types: str | list[str] = schema["type"]
    if isinstance(types, str):
        return schema
    rules = {name: value for name, value in schema.items() if name not in ("type", "description")}
    alternatives = [{"type": each} if each == "null" else {"type": each, **rules} for each in types]
    return {"description": schema["description"], "anyOf": alternatives}


def _get_prompts(message: ModelMessage) -> list[UserPromptPart]:
    if not isinstance(message, ModelRequest):
        return []
    return [part for part in message.parts if isinstance(part, UserPromptPart)]


def _add_note(message: ModelMessage, text: str) -> ModelMessage:
    """Returns the message with a text before its last prompt. The message of the history stays as it is."""
    if not isinstance(message, ModelRequest):
        return message
    last = max(i for i, part in enumerate(message.parts) if isinstance(part, UserPromptPart))
    note = UserPromptPart([TextContent(text, metadata={"memoryd": "recalled"})])
    return replace(message, parts=[*message.parts[:last], note, *message.parts[last:]])


def _get_texts(messages: Sequence[ModelMessage]) -> list[str]:
    """Returns the texts of the prompts and of the answers."""
    return [text for message in messages for text in _each_text(message)]


def _each_text(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            yield _get_text(part.content)
        elif isinstance(part, TextPart):
            yield part.content


def _get_text(content: str | Sequence[UserContent]) -> str:
    """Returns the text of a prompt, without images and other files."""
    if isinstance(content, str):
        return content
    texts = [part.content if isinstance(part, TextContent) else part for part in content]
    return "\n".join(text for text in texts if isinstance(text, str))
