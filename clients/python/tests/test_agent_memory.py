"""The limits of the memory of agents that several frameworks share."""

from __future__ import annotations

import asyncio
import logging

import pytest

from memoryd import AsyncMemory, Unavailable
from memoryd._agent_memory import AgentMemory
from memoryd.models import StoreRequest
from service import StartService, get_free_port


@pytest.mark.parametrize(("size", "waiting"), [(1, 1000), (1024 * 1024, 8), (9 * 1024 * 1024, 0)])
async def test_turns_wait_within_limits_without_a_service(
    size: int, waiting: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncMemory(f"http://127.0.0.1:{get_free_port()}", retries=0) as memory:
        agent = AgentMemory(memory, agent_id=None, shared=False, timeout=30, timezone=None)
        with caplog.at_level(logging.WARNING, "memoryd"):
            for number in range(waiting + 2):
                await agent.store("ada", [StoreRequest(content="x" * size)], f"turn {number}")
        dropped = [record for record in caplog.records if "dropped 1 conversation turns" in record.getMessage()]
        assert len(dropped) == 2
        if waiting == 0:
            await agent.flush(30)
            return
        with pytest.raises(Unavailable, match="check the address of the service"):
            await agent.flush(30)


async def test_a_run_does_not_wait_to_store_its_turn_after_a_failed_recall(start_service: StartService) -> None:
    service = start_service()
    async with AsyncMemory(service.url) as memory:
        agent = AgentMemory(memory, agent_id=None, shared=False, timeout=0.3, timezone=None)
        service.pause()
        try:
            assert await agent.get_context("ada", "What is Ada allergic to?", []) == ""
            storing = agent.store("ada", [StoreRequest(content="Ada likes figs", session_id="talk")], "turn")
            # The coroutine ends at its first step.
            with pytest.raises(StopIteration):
                storing.send(None)
        finally:
            service.resume()
        await agent.flush(60)
        transcript = (await memory.scope(user_id="ada").session("talk")).memories
    assert [each.content for each in transcript] == ["Ada likes figs"]


async def test_flush_waits_for_a_turn_that_another_task_is_storing(url: str) -> None:
    async with AsyncMemory(url) as memory:
        agent = AgentMemory(memory, agent_id=None, shared=False, timeout=60, timezone=None)
        turn = [StoreRequest(content=f"message {number}", session_id="long") for number in range(3000)]
        run = asyncio.create_task(agent.store("flush-ada", turn, "long turn"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not agent._service.waiting  # pyright: ignore[reportPrivateUsage]
        await agent.flush(60)
        stored = await memory.scope(user_id="flush-ada").session("long", limit=1)
        assert stored.total == 3000
        await run
