"""A conversation of an agent with one user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memoryd import models
from memoryd._options import ContextFields, Message, MessageFields
from memoryd._turns import (
    MAX_CONTEXT_TOKENS,
    MAX_QUERY_CHARS,
    MIN_CONTEXT_TOKENS,
    SessionContext,
    Turn,
    get_known_texts,
    require_no_owner,
    require_tokens,
    take_newest,
    to_store_fields,
    to_turn,
    without_message,
    without_turns_since,
)
from memoryd._typing import Unpack
from memoryd.errors import PayloadTooLarge, to_exception

if TYPE_CHECKING:
    from .client import Memory

FIRST_PAGE_TURNS = 1000
PAGE_TURNS = 200
MAX_ATTEMPTS = 3


class MemorySession:
    """A conversation. `Memory.open_session` opens it. It belongs to the scope of its client.

    Keep the object during the conversation: it remembers where the newest turns are. An unavailable service raises
    `Unavailable`, also in `add`, after the retries of the client.
    """

    def __init__(
        self,
        memory: Memory,
        session_id: str,
        *,
        recent_turns: int,
        tokens_per_turn: int,
        count_tokens: Callable[[str], int],
    ) -> None:
        self.id = session_id
        self._memory = memory
        self._recent_turns = recent_turns
        self._tokens_per_turn = tokens_per_turn
        self._count_tokens = count_tokens
        # Cursor of the second to last page. None before the first read, and if that page is the first one.
        self._cursor: str | None = None
        self._limit = FIRST_PAGE_TURNS

    def add(self, role: str, content: str, **fields: Unpack[MessageFields]) -> str:
        """Stores a message and returns its id. When the call returns, the message is on disk.

        Args:
            role: The speaker, such as `user` or `assistant`, at most 123 characters. Stored as the tag `role:user`.
            content: The text, with at least one non-blank character.
            fields: Fields of a memory, as for `Memory.store`, without an owner and a session.

        Example:
            >>> talk.add("user", "Let us cook tonight", metadata={"channel": "phone"})
        """
        (stored,) = self.add_many([{"role": role, "content": content, **fields}])
        return stored

    def add_many(self, messages: Sequence[Message], *, idempotency_key: str | None = None) -> tuple[str, ...]:
        """Stores messages in order, and returns their ids.

        Args:
            messages: Dicts with `role`, `content`, and the fields of `add`; at most 10,000.
            idempotency_key: As for `Memory.store`. A repeated call must have the same messages.

        Raises:
            Invalid: A message has no role, or a field of another owner or session. Nothing is stored.
            MemorydError: The error of the first message that the service refuses. The other messages are stored.

        Example:
            >>> talk.add_many([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}])
        """
        requests = [to_store_fields(message, self.id, f"messages/{i}") for i, message in enumerate(messages)]
        response = self._memory.store_batch(requests, idempotency_key=idempotency_key)
        for result in response.results:
            if isinstance(result, models.StoreBatchError):
                raise to_exception(result.error)
        return tuple(result.id for result in response.results if isinstance(result, models.StoreResponse))

    def context(self, query: str, *, tokens: int, **fields: Unpack[ContextFields]) -> SessionContext:
        """Returns the newest turns and what else the agent should know, within a token budget.

        Fills the budget in this order: the newest turns, memories (also from earlier turns), earlier turns. Considers at
        least the newest 200 turns of the session.

        Args:
            query: Such as the user's last message, of which the first 8,192 characters are used. A blank query gets the
                newest statements of other sessions.
            tokens: Maximum tokens of the memories and the turns together.
            fields: Arguments of `Memory.context`, such as `filter` and `timezone`.

        Example:
            >>> context = talk.context("Can Ada eat peanut butter?", tokens=2000)
        """
        require_no_owner(fields, "")
        require_tokens(tokens)
        all_turns = self._get_newest_turns()
        recent_turns = all_turns[-self._recent_turns :] if self._recent_turns > 0 else []
        recent, recent_tokens = take_newest(recent_turns, tokens, self._get_cost)
        text, memories = self._get_memories(query, tokens - recent_tokens, recent, fields)
        used = self._count(text)
        given = {memory.id for memory in memories} - {turn.id for turn in recent}
        turns, turn_tokens = take_newest(all_turns, tokens - used, self._get_cost, given)
        return SessionContext(text=text, memories=memories, turns=tuple(turns), tokens=used + turn_tokens)

    def _get_memories(
        self, query: str, budget: int, recent: Sequence[Turn], fields: ContextFields
    ) -> tuple[str, tuple[models.ContextMemory, ...]]:
        """Returns memories in a text that has at most `budget` tokens, without the recent turns."""
        limit = min(budget, MAX_CONTEXT_TOKENS)
        for _attempt in range(MAX_ATTEMPTS):
            if limit < MIN_CONTEXT_TOKENS:
                break
            response = self._get_context(query, limit, recent, fields)
            used = self._count(response.text)
            if used <= budget:
                return response.text, response.memories
            # The function of the caller counts more tokens than the service.
            limit = min(limit - 1, response.tokens * budget // used)
        return "", ()

    def _get_context(
        self, query: str, budget: int, recent: Sequence[Turn], fields: ContextFields
    ) -> models.ContextResponse:
        options: ContextFields = {**fields}
        first = recent[0] if recent else None
        options["filter"] = without_turns_since(first, self.id, fields.get("filter"))
        known = [*(fields.get("exclude_texts") or ()), *get_known_texts(without_message(recent, query))]
        asked = query.strip()[:MAX_QUERY_CHARS]
        # With `session_id`, the service leaves out this session. An early turn of it may answer a query.
        asking = None if asked else self.id
        if known:
            try:
                options["exclude_texts"] = known
                return self._memory.context(asked, budget=budget, once=False, session_id=asking, **options)
            except PayloadTooLarge:
                # The text may then repeat turns.
                options["exclude_texts"] = None
        return self._memory.context(asked, budget=budget, once=False, session_id=asking, **options)

    def _get_newest_turns(self) -> list[Turn]:
        """Returns the valid turns of the last two pages of the transcript, oldest first.

        The service lists transcripts from the beginning.
        """
        limit = self._limit
        previous: tuple[models.SessionMemory, ...] = ()
        cursor = previous_cursor = self._cursor
        while True:
            page = self._memory.session(self.id, current=True, limit=limit, cursor=cursor)
            if page.next_cursor is None:
                self._cursor = previous_cursor
                self._limit = PAGE_TURNS
                return [to_turn(memory) for memory in (*previous, *page.memories)]
            previous = page.memories
            previous_cursor = cursor
            cursor = page.next_cursor

    def _get_cost(self, turn: Turn) -> int:
        return self._count(turn.content) + self._tokens_per_turn

    def _count(self, text: str) -> int:
        return self._count_tokens(text) if text else 0
