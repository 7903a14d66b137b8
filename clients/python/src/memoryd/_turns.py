"""The turns of a conversation, and the choice of those that fit into a token budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from .errors import create_field_error
from .filters import Filter, FilterLike
from .models import ContextMemory, SessionMemory

ROLE_TAG = "role:"
"""Prefix of the tag that has the role of a message."""

MAX_ROLE_CHARS = 123
"""The service limits a tag to 128 characters."""

MIN_CONTEXT_TOKENS = 50
MAX_CONTEXT_TOKENS = 20_000
MAX_QUERY_CHARS = 8192
MAX_KNOWN_TEXTS = 1000
MAX_TEXT_CHARS = 20_000
MAX_KNOWN_CHARS = 200_000

_REJECTED = re.compile(r"[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn of a conversation."""

    id: str
    """The id of its memory."""
    role: str | None
    """The speaker. None for memories that were not added as messages."""
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """The memories and turns that an agent needs for its next turn."""

    text: str
    """The memories, as a fenced text for the prompt. Empty if there is nothing to tell."""
    memories: tuple[ContextMemory, ...]
    """The memories in the text."""
    turns: tuple[Turn, ...]
    """The newest turns of the conversation without gaps, oldest first."""
    tokens: int
    """Tokens of the text and the turns."""


def estimate_tokens(text: str) -> int:
    """Estimates the tokens of a text: one for every three bytes of UTF-8.

    This is more than the tokens of prose in o200k_base, and less than those of random letters, such as hashes.
    """
    return -(-len(text.encode("utf-8", "replace")) // 3)


def require_no_owner(fields: Mapping[str, Any], place: str) -> None:
    """Raises `Invalid` for an owner or a session: those of a conversation never change."""
    for name in ("user_id", "agent_id", "shared", "session_id"):
        if name in fields:
            rule = "be left out: a conversation belongs to the scope of its client; use scope() before open_session()"
            raise create_field_error(f"{place}/{name}" if place else name, rule)


def require_tokens(tokens: object) -> None:
    """Raises `Invalid` for another value than a number of tokens."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise create_field_error("tokens", "be a whole number from 0")


def to_store_fields(message: Mapping[str, Any], session_id: str, place: str) -> dict[str, object]:
    """Returns a message as the fields of a memory. The role becomes the first tag, such as `role:user`.

    Raises:
        Invalid: The message has no role, or has an owner or a session.
    """
    require_no_owner(message, place)
    fields = dict(message)
    role = fields.pop("role", None)
    if not isinstance(role, str) or not role:
        raise create_field_error(f"{place}/role", f"be a string of 1 to {MAX_ROLE_CHARS} characters, such as user")
    tags = cast("Sequence[str]", fields.pop("tags", None) or ())
    return {**fields, "tags": [ROLE_TAG + role, *tags], "session_id": session_id}


def to_turn(memory: SessionMemory) -> Turn:
    """Returns a memory of a session as a turn."""
    roles = (tag.removeprefix(ROLE_TAG) for tag in memory.tags if tag.startswith(ROLE_TAG))
    return Turn(id=memory.id, role=next(roles, None), content=memory.content, created_at=memory.created_at)


def take_newest(
    turns: Sequence[Turn], tokens: int, get_cost: Callable[[Turn], int], given: Collection[str] = ()
) -> tuple[list[Turn], int]:
    """Returns the newest turns and their tokens, up to the first that exceeds the budget or is given."""
    used = 0
    first = len(turns)
    while first > 0 and turns[first - 1].id not in given:
        cost = get_cost(turns[first - 1])
        if used + cost > tokens:
            break
        used += cost
        first -= 1
    return list(turns[first:]), used


def without_message(turns: Sequence[Turn], query: str) -> list[Turn]:
    """Returns the turns without the last one whose text is the query: the message that is being answered."""
    matching = [i for i, turn in enumerate(turns) if turn.content.strip() == query.strip()]
    return [turn for i, turn in enumerate(turns) if i != (matching[-1] if matching else None)]


def without_turns_since(first: Turn | None, session_id: str, filter_: FilterLike | None) -> FilterLike | None:
    """Returns a filter that also leaves out the turns of the session since a turn."""
    if first is None:
        return filter_
    others = ~Filter({"session_id": session_id, "created_at": {"$gte": first.created_at}})
    return others if filter_ is None else others & filter_


def get_known_texts(turns: Sequence[Turn]) -> list[str]:
    """Returns the texts of the last turns, as many as the service compares."""
    return take_known_texts([turn.content for turn in turns])


def take_known_texts(texts: Sequence[str]) -> list[str]:
    """Returns the last texts, as many as the service compares."""
    last: list[str] = []
    chars = 0
    for text in reversed(texts[-MAX_KNOWN_TEXTS:]):
        compared = to_accepted(text[:MAX_TEXT_CHARS])
        chars += len(compared)
        if chars > MAX_KNOWN_CHARS:
            break
        last.insert(0, compared)
    return last


def to_accepted(text: str) -> str:
    """Replaces the characters that the service rejects, U+0000 and lone surrogates, by U+FFFD."""
    return _REJECTED.sub("\ufffd", text)
