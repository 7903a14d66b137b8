"""Conversations of agents."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from memoryd import AsyncMemory, Invalid, Memory, estimate_tokens

MOMENT = datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)


def test_messages_are_stored_at_once_with_their_role(memory: Memory) -> None:
    talk = memory.open_session("dinner")
    identifier = talk.add("user", "Let us cook tonight", tags=["food"], metadata={"channel": "phone"})
    read = memory.memory(identifier)
    assert (read.content, read.tags, read.session_id) == ("Let us cook tonight", ("role:user", "food"), "dinner")
    assert read.metadata == {"channel": "phone"}


def test_a_context_has_the_turns_and_memories_of_other_sessions(memory: Memory) -> None:
    memory.store("Ada is allergic to peanuts", session_id="health")
    talk = memory.open_session("dinner")
    talk.add_many(
        [
            {"role": "user", "content": "Let us cook tonight"},
            {"role": "assistant", "content": "With pleasure"},
            {"role": "user", "content": "Can Ada eat peanut butter?"},
        ]
    )
    context = talk.context("Can Ada eat peanut butter?", tokens=2000)
    assert [(turn.role, turn.content) for turn in context.turns] == [
        ("user", "Let us cook tonight"),
        ("assistant", "With pleasure"),
        ("user", "Can Ada eat peanut butter?"),
    ]
    assert "Ada is allergic to peanuts" in context.text
    assert "Let us cook tonight" not in context.text
    assert [each.content for each in context.memories] == ["Ada is allergic to peanuts"]
    assert 0 < context.tokens <= 2000
    # The prompt is built again for each turn, so a memory may be given again.
    assert talk.context("Can Ada eat peanut butter?", tokens=2000).text == context.text


@pytest.mark.parametrize("tokens", [0, 10, 60, 200, 1000])
def test_a_context_fits_into_its_budget_and_prefers_the_newest_turns(memory: Memory, tokens: int) -> None:
    for i in range(30):
        memory.store(f"Ada bought {i} lemons at the market for the dinner", session_id="shopping")
    talk = memory.open_session("dinner")
    talk.add_many([{"role": "user", "content": f"Turn {i} about lemons and the market"} for i in range(40)])
    context = talk.context("lemons", tokens=tokens)
    assert context.tokens <= tokens
    assert context.tokens == sum(
        [estimate_tokens(context.text), *(estimate_tokens(turn.content) + 4 for turn in context.turns)]
    )
    newest = [f"Turn {i} about lemons and the market" for i in range(40)]
    assert [turn.content for turn in context.turns] == newest[40 - len(context.turns) :]
    if tokens >= 60:
        assert context.turns


def test_a_context_counts_with_the_function_of_the_caller(memory: Memory) -> None:
    memory.store_batch([{"content": f"Ada bought {i} lemons", "session_id": "shopping"} for i in range(20)])
    talk = memory.open_session("dinner", count_tokens=len, tokens_per_turn=0)
    talk.add("user", "Hello")
    context = talk.context("", tokens=600)
    assert context.tokens == len(context.text) + len("Hello")
    assert context.tokens <= 600
    assert context.memories


def test_a_long_conversation_gives_its_newest_turns(memory: Memory) -> None:
    talk = memory.open_session("dinner")
    talk.add_many(
        [{"role": "user", "content": f"turn {i}", "created_at": MOMENT + timedelta(seconds=i)} for i in range(1500)]
    )
    for count in (1500, 1501):
        context = talk.context("", tokens=100)
        assert [turn.content for turn in context.turns][-1] == f"turn {count - 1}"
        talk.add("user", f"turn {count}", created_at=MOMENT + timedelta(seconds=count))


def test_a_conversation_of_another_person_stays_unknown(url: str, user_id: str) -> None:
    with Memory(url) as root:
        ada = root.scope(user_id=f"{user_id}-ada").open_session("dinner")
        bob = root.scope(user_id=f"{user_id}-bob").open_session("dinner")
        ada.add("user", "My safe has the code 4711")
        bob.add("user", "Hello")
        context = bob.context("What is the code of the safe?", tokens=2000)
        assert "4711" not in context.text
        assert [turn.content for turn in context.turns] == ["Hello"]


@pytest.mark.parametrize("name", ["user_id", "agent_id", "session_id", "shared"])
def test_a_conversation_has_no_other_owner(url: str, user_id: str, name: str) -> None:
    options: Any = {name: user_id}
    with Memory(url) as root:
        talk = root.open_session(user_id)
        for call in (
            lambda: talk.add("user", "Hello", **options),
            lambda: talk.add_many([options | {"role": "user", "content": "Hello"}]),
            lambda: talk.context("Hello", tokens=100, **options),
        ):
            with pytest.raises(Invalid, match=f"{name} must be left out: a conversation belongs to the scope"):
                call()
        assert root.session(user_id).total == 0


def test_a_message_that_the_service_refuses_raises_its_error(memory: Memory) -> None:
    talk = memory.open_session("dinner")
    with pytest.raises(Invalid, match="content must be a string with at least one non-blank character"):
        talk.add_many([{"role": "user", "content": "Hello"}, {"role": "user", "content": " "}])
    assert [turn.content for turn in talk.context("x", tokens=100).turns] == ["Hello"]


async def test_an_asynchronous_session_returns_the_same_context(async_memory: AsyncMemory) -> None:
    talk = async_memory.open_session("dinner")
    await talk.add("user", "Hello")
    context = await talk.context("Hello", tokens=100)
    assert [turn.role for turn in context.turns] == ["user"]
