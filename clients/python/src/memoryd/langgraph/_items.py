"""The memories that are items of a store.

One memory is one item. Its fields:

- `external_id`: the namespace and the key. See `to_external_id`.
- `session_id`: the namespace, so that the sessions of the service are the namespaces of the store. See `to_session_id`.
- `content`: the texts of the indexed fields, which recall searches.
- `metadata.langgraph`: the namespace, the key, the owner and the value.
- `attachment`: the value, if it is too large for metadata.
- `expires_at`: always set. A store request cannot remove the time of an earlier one, and consolidation does not quote
  memories that expire, so no summary repeats the words of an item.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, TypeGuard

from langgraph.store.base import PutOp, get_text_at_path, tokenize_path

from memoryd import models as m

SOURCE = "langgraph"
"""The field `source` of all memories of items."""

FIELD = "langgraph"
"""The field of `metadata` that describes an item."""
NAMESPACE = f"{FIELD}.namespace"
KEY = f"{FIELD}.key"
USER = f"{FIELD}.user"
AGENT = f"{FIELD}.agent"
INDEXED = f"{FIELD}.indexed"
VALUE = f"{FIELD}.value"
VALUE_FORM = f"{FIELD}.form"

Form = Literal["object", "text", "attachment"]
"""Where a value is: in metadata as a JSON object, in metadata as JSON text, or in the attachment."""

NEVER = datetime(9999, 12, 31, tzinfo=timezone.utc)
"""The field `expires_at` of an item without a time to live."""

MAX_EXTERNAL_ID_CHARS = 512
MAX_SESSION_ID_CHARS = 256
MAX_SAFE_INTEGER = 2**53 - 1
MAX_METADATA_BYTES = 16_000
"""Maximum size of metadata as JSON. The service accepts 16,384 bytes, and may write a number in another way."""
MAX_METADATA_DEPTH = 29
"""Maximum levels of a value in metadata. The service accepts 32 levels of metadata."""
MAX_VALUE_BYTES = 1024 * 1024
"""Maximum size of a value as JSON. The service accepts attachments of 1 MiB."""
MAX_CONTENT_CHARS = 100_000
"""Maximum characters of the indexed texts of an item. Recall does not search the rest."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The user and the agent whose items a store has."""

    user: str | None
    agent: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A memory that is an item, whose value may not have been loaded yet."""

    memory: m.Memory
    external_id: str
    session_id: str
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any] | None
    """None if the value is in the attachment."""
    ttl_minutes: float | None
    updated_at: datetime


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Returns whether a value becomes an object in JSON."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Returns whether a value becomes an array in JSON."""
    return isinstance(value, (list, tuple))


def is_storable(text: str) -> bool:
    """Returns whether the service can store a text: it has no U+0000 and no lone surrogates."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def to_path(namespace: Sequence[str]) -> str:
    """Returns a namespace as a text. Each label ends with a dot, which no label contains.

    The path of a namespace is a prefix of the paths of the namespaces below it, and of no others.
    """
    return "".join(f"{label}." for label in namespace)


def to_external_id(namespace: Sequence[str], key: str) -> str:
    """Returns the external id of an item.

    The first two dots in sequence, or a dot at the beginning, end the namespace, because no label is empty. So the id
    of one item is the id of no other. An id that would be too long is a digest, which contains no dot.
    """
    return _shorten(f"{to_path(namespace)}.{key}", MAX_EXTERNAL_ID_CHARS)


def to_session_id(namespace: Sequence[str]) -> str:
    """Returns the session of the items in a namespace: its path, or a digest of a path that is too long."""
    return _shorten(to_path(namespace), MAX_SESSION_ID_CHARS)


def parse_session_id(session_id: str) -> tuple[str, ...] | None:
    """Returns the namespace of a session. None if the id is a digest."""
    path = session_id.removeprefix(f"{SOURCE}:")
    if path and not path.endswith("."):
        return None
    return _parse_path(path)


def _shorten(text: str, limit: int) -> str:
    identifier = f"{SOURCE}:{text}"
    # The service counts UTF-16 code units or characters. A text has at least as many of the former.
    if len(identifier.encode("utf-16-le")) // 2 <= limit:
        return identifier
    return f"{SOURCE}:sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _parse_path(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")[:-1])


def to_store_request(op: PutOp, owner: Owner, fields: Sequence[str]) -> m.StoreRequest:
    """Returns the request that stores an item.

    Args:
        op: A put with a value.
        owner: The owner of the store.
        fields: Paths of the fields to index, unless the put states its own.

    Raises:
        TypeError: The value is not JSON.
        ValueError: The value, the key or the namespace is too large, or the value contains NaN or an infinity.
    """
    name = f"the value of {op.key!r} in {op.namespace!r}"
    if op.value is None:
        raise ValueError(f"{name} must not be None; delete the item instead")
    text, value = _to_json(op.value, name)
    size = len(text.encode())
    if size > MAX_VALUE_BYTES:
        limit = f"must have at most {MAX_VALUE_BYTES:,} bytes of JSON, but has {size:,}"
        raise ValueError(f"{name} {limit}; store large data elsewhere and put its address into the value")
    content = _to_content(value, fields, op)
    described: dict[str, Any] = {
        "namespace": to_path(op.namespace),
        "key": op.key,
        "user": owner.user,
        "agent": owner.agent,
        "indexed": content is not None,
        # Different for each put, so that a put of an equal value also changes `updated_at`.
        "put_id": uuid.uuid4().hex,
    }
    if op.ttl is not None:
        described["ttl_minutes"] = op.ttl
    forms: list[tuple[Form, dict[str, Any]]] = [("text", {"text": text}), ("attachment", {})]
    if _is_exact(value, MAX_METADATA_DEPTH):
        forms.insert(0, ("object", {"value": value}))
    for form, field in forms:
        metadata = {FIELD: {**described, "form": form, **field}}
        if len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode()) <= MAX_METADATA_BYTES:
            return m.StoreRequest(
                content=content or " ".join([*op.namespace, op.key]).strip() or SOURCE,
                source=SOURCE,
                external_id=to_external_id(op.namespace, op.key),
                session_id=to_session_id(op.namespace),
                expires_at=to_expiry(op.ttl),
                metadata=metadata,
                attachment=text if form == "attachment" else None,
            )
    limit = f"must together have at most {MAX_METADATA_BYTES - 500:,} bytes"
    raise ValueError(f"the namespace and the key of an item {limit}; shorten the key {op.key[:100]!r}…")


def to_expiry(ttl_minutes: float | None) -> datetime:
    """Returns the time at which an item expires that is put or read now."""
    if ttl_minutes is None:
        return NEVER
    try:
        return min(NEVER, datetime.now(timezone.utc) + timedelta(minutes=ttl_minutes))
    except OverflowError:
        return NEVER


def parse_row(memory: m.Memory, owner: Owner) -> Row | None:
    """Returns the item that a memory is. None if the memory is not an item of the owner's store."""
    described: object = memory.metadata.get(FIELD)
    if not is_object(described) or (memory.user_id, memory.agent_id) != (owner.user, owner.agent):
        return None
    path, key = described.get("namespace"), described.get("key")
    if not isinstance(path, str) or not isinstance(key, str):
        return None
    namespace = _parse_path(path)
    if memory.external_id is None or memory.external_id != to_external_id(namespace, key):
        return None
    ttl_minutes = described.get("ttl_minutes")
    updated_at = described.get("updated_at")
    return Row(
        memory=memory,
        external_id=memory.external_id,
        session_id=to_session_id(namespace),
        namespace=namespace,
        key=key,
        value=_get_value(described),
        ttl_minutes=ttl_minutes if isinstance(ttl_minutes, (int, float)) else None,
        updated_at=datetime.fromisoformat(updated_at) if isinstance(updated_at, str) else memory.updated_at,
    )


def to_refreshed_metadata(row: Row) -> dict[str, Any]:
    """Returns the metadata of an item whose expiry is extended, which does not change the item's `updated_at`."""
    described: dict[str, Any] = row.memory.metadata[FIELD]
    return {FIELD: {**described, "updated_at": row.updated_at.isoformat()}}


def _get_value(described: Mapping[str, Any]) -> dict[str, Any] | None:
    match described.get("form"):
        case "object":
            value = described["value"]
        case "text":
            value = json.loads(described["text"])
        case _:
            return None
    return value if is_object(value) else None


def _to_json(value: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    """Returns the JSON text of a value, and a copy that consists of JSON types."""
    try:
        text = json.dumps(dict(value), allow_nan=False, separators=(",", ":"))
        return text, json.loads(text)
    except TypeError as error:
        raise TypeError(f"{name} must be JSON: {error}") from error
    except ValueError as error:
        raise ValueError(f"{name} must be JSON: {error}") from error


def _is_exact(value: Any, depth: int) -> bool:
    """Returns whether the service returns a JSON value exactly as it is.

    JavaScript reads 1.0 as 1, rounds integers above 2^53, and moves keys that are array indices. The service refuses
    U+0000 and lone surrogates.
    """
    if isinstance(value, str):
        return is_storable(value)
    if isinstance(value, float):
        return not value.is_integer()
    if isinstance(value, int):
        return abs(value) <= MAX_SAFE_INTEGER
    if is_array(value):
        return depth > 0 and all(_is_exact(element, depth - 1) for element in value)
    if is_object(value):
        return depth > 0 and all(_is_exact_name(name) and _is_exact(value[name], depth - 1) for name in value)
    return value is None


def _is_exact_name(name: str) -> bool:
    return is_storable(name) and not name.isdigit() and name != "__proto__"


def _to_content(value: dict[str, Any], fields: Sequence[str], op: PutOp) -> str | None:
    """Returns the text that recall searches. None if the item is not indexed or has no text."""
    if op.index is False:
        return None
    texts: list[str] = []
    for field in fields if op.index is None else op.index:
        texts += _to_lines(value) if field == "$" else get_text_at_path(value, tokenize_path(field))
    content = "\n".join(texts)[:MAX_CONTENT_CHARS]
    if not is_storable(content):
        content = "".join(char if is_storable(char) else "\N{REPLACEMENT CHARACTER}" for char in content)
    return content if content.strip() else None


def _to_lines(value: Any, path: str = "") -> Iterator[str]:
    """Yields each scalar in a value with its path, such as `address.city: Oslo`."""
    if is_object(value):
        for name, inner in value.items():
            yield from _to_lines(inner, f"{path}.{name}" if path else name)
    elif is_array(value):
        for element in value:
            yield from _to_lines(element, path)
    elif value is not None and value != "":
        yield f"{path}: {value}"
