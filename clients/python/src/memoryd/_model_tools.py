"""The tools of the service for models, whose names, descriptions and schemas `model_tools.json` contains.

The service runs them, as it does for the Model Context Protocol, so a model reads the same texts everywhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from . import AsyncMemory
from ._encode import to_json_body, to_query_string
from ._request import CallOptions, Operation, Request
from .errors import InternalError, MemorydError


@dataclass(frozen=True)
class ModelTool:
    """A tool of the service. `input_schema` fits OpenAI's strict mode: null leaves an optional argument out."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True)
class ToolResult:
    """The text that a model reads."""

    text: str
    is_error: bool = False


def _load_tools() -> tuple[ModelTool, ...]:
    text = files(__package__ or "memoryd").joinpath("model_tools.json").read_text(encoding="utf-8")
    return tuple(ModelTool(tool["name"], tool["description"], tool["inputSchema"]) for tool in json.loads(text))


MODEL_TOOLS = _load_tools()
"""The tools that a model needs in a conversation: memory_store, memory_recall, memory_session, memory_update, memory_forget."""

_CALL = Operation(method="POST", path="/mcp", media_type="text/event-stream")
_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def call_tool(memory: AsyncMemory, name: str, arguments: object, timezone: str | None) -> ToolResult:
    """Calls a tool of the service once, in the scope of `memory`. The result has errors of the arguments too.

    Args:
        memory: The memories that the model may use.
        name: Name of the tool.
        arguments: A JSON object, as the model sent it.
        timezone: IANA name of the time zone of all times.

    Raises:
        MemorydError: The service does not respond, or refuses the call.
    """
    zone = {} if timezone is None else {"timezone": timezone}
    query = to_query_string({**memory._scope.reading({}), **zone})  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    params = {"name": name, "arguments": arguments}
    body = to_json_body({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    request = Request(operation=_CALL, path=f"/mcp{query}", headers=_HEADERS, body=body, is_repeatable=False)
    options = CallOptions(retries=0)
    response = await memory._transport.send(request, options)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return _parse_result(response)


def _parse_result(response: bytes) -> ToolResult:
    """Returns the result in an event stream, whose last event is the response to the call."""
    lines = [line for line in response.decode("utf-8").split("\n") if line.startswith("data:")]
    try:
        message: dict[str, Any] = json.loads(lines[-1].removeprefix("data:"))
        if "error" in message:
            return ToolResult(f"INVALID_REQUEST: {message['error']['message']}", is_error=True)
        result: dict[str, Any] = message["result"]
        return ToolResult(result["content"][0]["text"], is_error=result.get("isError", False))
    except (ValueError, LookupError) as cause:
        raise InternalError(
            "the response does not contain the result of a tool; check the address of the service"
        ) from cause


def format_failure(error: MemorydError) -> str:
    """Formats an error of a call that the service did not answer, for a model."""
    return f"{error.code}: {error}. If the message names a fix, tell the user; otherwise go on without memories."
