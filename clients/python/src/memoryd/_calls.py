"""The parts of calls that the asynchronous and the synchronous client share."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import TypeVar

from ._decode import DecodeError, decode_json
from ._encode import to_json, to_json_body, to_metadata_text, to_path, to_query_string
from ._request import Operation, Request, to_idempotency_key, to_if_match
from .errors import InternalError, Invalid, NotFound, create_field_error
from .filters import Filter
from .models import HealthResponse, ImportedText, MemoriesResponse, StoreRequest

T = TypeVar("T")


def create_request(
    operation: Operation,
    *,
    path: str | None = None,
    query: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    stream: AsyncIterable[bytes] | Iterable[bytes] | None = None,
    is_repeatable: bool | None = None,
    accepts: Callable[[int, bytes], bool] | None = None,
) -> Request:
    """Returns a request. Reads are repeatable, and other requests only if `is_repeatable`.

    Raises:
        Invalid: A value of the request cannot be sent.
    """
    content_type: dict[str, str] = {}
    if body is not None:
        content_type = {"Content-Type": "application/json"}
    elif stream is not None:
        content_type = {"Content-Type": "application/x-ndjson"}
    return Request(
        operation=operation,
        path=(path or operation.path) + to_query_string(query or {}),
        headers={**content_type, **(headers or {})},
        body=None if body is None else to_json_body(body),
        stream=stream,
        is_repeatable=operation.method == "GET" if is_repeatable is None else is_repeatable,
        accepts=accepts,
    )


def decode_response(hint: type[T], body: bytes) -> T:
    """Converts the body of a response.

    Raises:
        InternalError: The body does not have the type: another program or another version of memoryd responded.
    """
    try:
        return decode_json(hint, body)
    except DecodeError as error:
        advice = "check the address of the service, and that its version matches the client"
        raise InternalError(f"the response is not a {getattr(hint, '__name__', hint)}: {error}; {advice}") from error


def is_unhealthy(status: int, body: bytes) -> bool:
    """Returns true for the health of an unhealthy service. Other responses with the status 503 are errors."""
    try:
        return status == 503 and decode_json(HealthResponse, body).status == "unhealthy"
    except DecodeError:
        return False


def get_path(operation: Operation, identifier: str) -> str:
    """Returns the path of an operation on one object.

    Raises:
        NotFound: No URL can contain the id, so the service has no object with it.
        Invalid: The id is not a string.
    """
    path = to_path(operation.path, identifier)
    if path is None:
        match = re.match(r"/(consolidation|correction|import|key|namespace|user)s/", operation.path)
        item = match[1] if match else "memory"
        raise NotFound(f"{item} not found: the id cannot be encoded in a URL; use an id that the service returned")
    return path


def take(fields: dict[str, object], *names: str) -> dict[str, object]:
    """Removes the named fields, and returns the present ones."""
    return {name: fields.pop(name) for name in names if name in fields}


def take_idempotency_header(fields: dict[str, object]) -> dict[str, str]:
    """Removes the idempotency key, and returns it as a header. The default is a random key."""
    key = fields.pop("idempotency_key", None)
    return {"Idempotency-Key": to_idempotency_key(None if key is None else str(key))}


def take_condition_header(fields: dict[str, object]) -> dict[str, str]:
    """Removes the accepted versions, and returns them as a header. Without versions, there is no header."""
    versions = fields.pop("if_versions", None)
    if versions is None:
        return {}
    return {"If-Match": to_if_match(versions)}


def to_object(request: object, place: str) -> dict[str, object]:
    """Returns a memory to store as the fields of a request.

    Raises:
        Invalid: The request is neither a memory nor a dict.
    """
    if not isinstance(request, (StoreRequest, ImportedText, Mapping)):
        name = "an ImportedText" if place.startswith("texts") else "a StoreRequest"
        raise create_field_error(place, f"be {name} or a dict")
    encoded: dict[str, object] = to_json(request, "")
    return encoded


def to_line(line: object) -> bytes:
    """Returns a line of an import as bytes. Raises `Invalid` for other values than lines."""
    if isinstance(line, str):
        return line.encode()
    if not isinstance(line, (bytes, bytearray)):
        raise create_field_error("lines", f"be strings or bytes, but one has the type {type(line).__name__}")
    return bytes(line)


def require_text(name: str, text: object, max_chars: int) -> None:
    """Raises `Invalid` for an empty text and for a value that is not a string. The service checks the maximum."""
    if not isinstance(text, str) or not text:
        raise create_field_error(name, f"be a string of 1 to {max_chars:,} characters")


def require_condition(fields: Mapping[str, object], method: str, names: str) -> None:
    """Raises `Invalid` if no field limits the memories of a call. In a scope, they would be all memories of the user."""
    for name in ("filter", "metadata"):
        value = fields.get(name)
        if isinstance(value, Filter):
            value = value.to_json()
        if isinstance(value, Mapping) and not value:
            raise create_field_error(
                name, f"have at least one condition, because {method} applies to every memory that matches"
            )
    if not fields.keys() - {"shared"}:
        raise Invalid(f"{method} must have at least one condition that is not None: {names}")


def has_next_page(order: str | None, page: MemoriesResponse, offset: int) -> bool:
    """Returns whether a list without cursors has memories from an offset on. Lists by `created` have cursors."""
    count = page.total if page.ordered_count is None else page.ordered_count
    return order not in (None, "created") and len(page.memories) > 0 and offset < count


def to_filter_body(fields: Mapping[str, object]) -> dict[str, object]:
    """Returns the fields of a query string in the form of a body: a list of tags, and metadata as texts."""
    body = dict(fields)
    if isinstance(body.get("tag"), str):
        body["tag"] = [body["tag"]]
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        body["metadata"] = {key: to_metadata_text(value, f"metadata/{key}") for key, value in metadata.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return body
