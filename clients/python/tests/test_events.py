"""Streams of events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timezone
from typing import Any

import pytest

from memoryd import AsyncMemory, F, Invalid, Memory, models
from memoryd._events import EventParser
from service import StartService

#: The service responds to an id that it does not know with an event at once, which shows that the stream is open.
UNKNOWN_ID = "unknown"


def test_events_arrive_in_order(memory: Memory, user_id: str) -> None:
    with memory.events(type=["stored", "forgotten"], last_event_id=UNKNOWN_ID) as events:
        assert isinstance(next(events), models.GapEvent)
        memory.forget(memory.store("text", session_id="s").id)
        stored, forgotten = next(events), next(events)
    assert isinstance(stored, models.MemoriesEvent)
    assert isinstance(forgotten, models.MemoriesEvent)
    assert (stored.type, forgotten.type) == ("stored", "forgotten")
    assert stored.memory_ids == forgotten.memory_ids
    assert (stored.user_id, stored.session_id, stored.at.tzinfo) == (user_id, "s", timezone.utc)


def test_events_resume_after_last_event_id(memory: Memory) -> None:
    with memory.events(type="stored", last_event_id=UNKNOWN_ID) as events:
        assert isinstance(next(events), models.GapEvent)
        for i in range(3):
            memory.store(f"text {i}")
        first = next(events)
    with memory.events(type="stored", last_event_id=first.id) as events:
        assert [type(next(events)) for _ in range(2)] == [models.MemoriesEvent] * 2


def test_events_are_filtered(memory: Memory) -> None:
    with memory.events(filter=F.tag == "wanted", last_event_id=UNKNOWN_ID) as events:
        assert isinstance(next(events), models.GapEvent)
        for tag in ("other", "wanted"):
            memory.store("text", tags=[tag])
        event = next(events)
        assert isinstance(event, models.MemoriesEvent)
        assert memory.memory(event.memory_ids[0]).tags == ("wanted",)


def test_a_stream_that_the_service_refuses_raises_an_error(memory: Memory) -> None:
    options: dict[str, str] = {"last_event_id": "unknown"}
    with memory.events(filter={"color": "red"}, **options) as events, pytest.raises(Invalid):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        next(events)


@pytest.mark.parametrize("close", ["stream", "client"])
def test_a_stream_that_waits_ends_when_another_thread_closes(url: str, user_id: str, close: str) -> None:
    memory = Memory(url)
    events = memory.scope(user_id=user_id).events(last_event_id=UNKNOWN_ID)
    received: list[models.MemoryEvent] = []
    reader = threading.Thread(target=lambda: received.extend(events))
    assert isinstance(next(events), models.GapEvent)
    reader.start()
    # The reader may or may not wait yet.
    closing: Callable[[], None] = events.close if close == "stream" else memory.close
    closing()
    reader.join(10)
    assert not reader.is_alive()
    assert received == []
    assert list(events) == []
    memory.close()


@pytest.mark.parametrize("delay", [0, 0.3])
@pytest.mark.parametrize("close", ["stream", "client"])
async def test_a_stream_that_waits_ends_when_another_task_closes(
    url: str, user_id: str, close: str, delay: float
) -> None:
    async with AsyncMemory(url) as memory:
        events = memory.scope(user_id=user_id).events(last_event_id=UNKNOWN_ID)
        assert isinstance(await events.__anext__(), models.GapEvent)

        async def read() -> list[Any]:
            return [event async for event in events]

        reader = asyncio.create_task(read())
        await asyncio.sleep(delay)
        await (events.aclose() if close == "stream" else memory.aclose())
        assert await asyncio.wait_for(reader, 10) == []


def test_a_stream_that_connects_again_ends_when_another_thread_closes(start_service: StartService) -> None:
    service = start_service()
    with Memory(service.url) as memory:
        events = memory.events(last_event_id=UNKNOWN_ID)
        assert isinstance(next(events), models.GapEvent)
        reader = threading.Thread(target=lambda: list(events))
        reader.start()
        service.kill()
        events.close()
        reader.join(20)
        assert not reader.is_alive()


async def test_events_continue_with_a_gap_after_the_service_was_killed(start_service: StartService) -> None:
    service = start_service()
    async with AsyncMemory(service.url) as memory, memory.events(last_event_id=UNKNOWN_ID) as events:
        assert isinstance(await events.__anext__(), models.GapEvent)
        await memory.store("before")
        assert isinstance(await events.__anext__(), models.MemoriesEvent)
        following = asyncio.ensure_future(events.__anext__())
        await asyncio.to_thread(service.kill)
        await asyncio.to_thread(service.start)
        # The process that numbered the first event has ended.
        assert isinstance(await following, models.GapEvent)
        after = asyncio.ensure_future(events.__anext__())
        stored = await memory.store("after")
        event = await after
        assert isinstance(event, models.MemoriesEvent)
        assert event.memory_ids == (stored.id,)


async def test_events_without_an_id_continue_with_a_gap(start_service: StartService) -> None:
    service = start_service()
    async with AsyncMemory(service.url) as memory, memory.events() as events:
        first = asyncio.ensure_future(events.__anext__())
        # httpx has no public way to tell that the response has begun.
        while events._state.response is None:  # noqa: ASYNC110  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0.01)
        await asyncio.to_thread(service.kill)
        await asyncio.to_thread(service.start)
        gap = await first
        assert isinstance(gap, models.GapEvent)
        assert gap.id == ""


def test_an_event_is_parsed_from_chunks_of_any_size() -> None:
    text = (
        ': comment\n\nid: 1\ndata: {"type":"gap","id":"ü",\ndata: "at":"2026-01-31T09:30:00Z"}\n\n'
        'data: {"type":"polished","id":"2"}\r\n\r\ndata: {"type":"gap","id":"3","at":"2026-01-31T09:30:00Z"}\r\n\r\n'
    ).encode()
    for size in (1, 2, 7, len(text)):
        parser = EventParser()
        events = [event for i in range(0, len(text), size) for event in parser.parse(text[i : i + size])]
        assert [event.id for event in events] == ["ü", "3"]
