"""Many calls at once, and calls that end early."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from memoryd import AsyncMemory, Invalid, Memory, Unavailable
from service import StartService


async def test_a_hundred_recalls_at_once_each_find_their_own_memory(async_memory: AsyncMemory) -> None:
    await async_memory.store_batch([{"content": f"the code of door {i} is {i * 7}"} for i in range(100)])
    responses = await asyncio.gather(*(async_memory.recall(f"code of door {i}", top_k=1) for i in range(100)))
    assert [response.results[0].content for response in responses] == [
        f"the code of door {i} is {i * 7}" for i in range(100)
    ]


async def test_two_people_recall_at_once_and_get_only_their_own_memories(url: str, user_id: str) -> None:
    async with AsyncMemory(url) as root:
        people = [root.scope(user_id=f"{user_id}-{i}") for i in range(2)]
        for i, person in enumerate(people):
            await person.store(f"the secret of person {i}")
        responses = await asyncio.gather(*(people[i % 2].recall("the secret") for i in range(100)))
        for i, response in enumerate(responses):
            assert [result.content for result in response.results] == [f"the secret of person {i % 2}"]


def test_several_threads_share_a_client(memory: Memory) -> None:
    def store_and_read(i: int) -> str:
        stored = memory.store(f"text {i}")
        return memory.memory(stored.id).content

    with ThreadPoolExecutor(20) as threads:
        contents = list(threads.map(store_and_read, range(100)))
    assert contents == [f"text {i}" for i in range(100)]
    assert memory.memories().total == 100


async def test_a_cancelled_call_ends_and_leaves_the_client_usable(start_service: StartService) -> None:
    service = start_service()
    async with AsyncMemory(service.url) as memory:
        service.pause()
        # Cancelled before, while and after the calls connect.
        for milliseconds in (0, 1, 2, 5, 10, 20, 30, 50, 100, 200):
            calls = [asyncio.create_task(memory.stats()) for _ in range(20)]
            await asyncio.sleep(milliseconds / 1000)
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(each) for each in ended] == [asyncio.CancelledError] * 20
            assert count_open_connections(memory) == 0
        service.resume()
        assert (await memory.stats()).working_count == 0


async def test_a_cancelled_wait_between_retries_ends_at_once() -> None:
    async with AsyncMemory("http://127.0.0.1:1", retries=1000) as memory:
        call = asyncio.create_task(memory.stats())
        await asyncio.sleep(0.2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_timeout_of_the_caller_ends_a_call(start_service: StartService) -> None:
    service = start_service()
    service.pause()
    async with AsyncMemory(service.url) as memory:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(memory.stats(), 0.2)
    service.resume()


async def test_a_stream_that_is_closed_early_leaves_no_connection_open(async_memory: AsyncMemory, url: str) -> None:
    await async_memory.store_batch([{"content": f"text {i}"} for i in range(300)])
    async with async_memory.export_memories() as lines:
        async for _ in lines:
            break
    assert count_open_connections(async_memory) == 0
    async with AsyncMemory(url) as root:
        backup = root.backup()
        assert (await backup.__anext__()).startswith(b"SQLite format 3\0")
        await backup.aclose()
        assert count_open_connections(root) == 0
        with pytest.raises(StopAsyncIteration):
            await backup.__anext__()


async def test_a_cancelled_task_closes_its_stream_of_events(async_memory: AsyncMemory) -> None:
    started = asyncio.Event()

    async def listen() -> None:
        async with async_memory.events() as events:
            started.set()
            async for _ in events:
                pass

    task = asyncio.create_task(listen())
    await started.wait()
    await asyncio.sleep(0.2)
    assert count_open_connections(async_memory) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert count_open_connections(async_memory) == 0


def count_open_connections(memory: AsyncMemory | Memory) -> int:
    """Returns the number of connections that are in use. httpx has no public way to count them."""
    client: Any = memory._transport._client  # pyright: ignore[reportPrivateUsage]
    return sum(not connection.is_idle() for connection in client._transport._pool.connections)


def test_a_synchronous_stream_that_is_left_early_closes_its_connection(memory: Memory) -> None:
    memory.store_batch([{"content": f"text {i}"} for i in range(300)])
    for _ in memory.export_memories():
        break
    gc.collect()
    with memory.export_memories() as lines:
        next(lines)
    assert count_open_connections(memory) == 0
    assert memory.memories().total == 300


def run_in_child(work: Callable[[], bool]) -> int:
    """Forks a process that does some work, and returns its id. It exits with 0 if the work returns True."""
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if work() else 2
        os._exit(code)
    return pid


def get_exit_codes(children: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Python 3.12 warns of a fork of a process with several threads, which other tests may have left.
ignores_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@needs_fork
@ignores_threads
def test_forked_processes_get_only_their_own_memories(url: str, user_id: str) -> None:
    with Memory(url) as root:
        people = [root.scope(user_id=f"{user_id}-{i}") for i in range(4)]
        for i, person in enumerate(people):
            person.store(f"the secret of person {i}")

        def read(i: int) -> bool:
            expected = [f"the secret of person {i}"]
            return all([each.content for each in people[i].memories().memories] == expected for _ in range(50))

        children = [run_in_child(lambda i=i: read(i)) for i in range(4)]  # type: ignore[misc]
        assert [read(i) for i in range(4)] == [True] * 4
        assert get_exit_codes(children) == [0] * 4


@needs_fork
@ignores_threads
def test_a_forked_process_closes_no_connection_of_its_parent(url: str, user_id: str) -> None:
    with Memory(url) as root:
        root.store_batch([{"content": "fig " * 1000, "user_id": user_id} for _ in range(200)])
        with root.export_memories(user_id=user_id) as lines:
            next(lines)

            def close() -> bool:
                lines.close()
                root.close()
                return True

            assert get_exit_codes([run_in_child(close)]) == [0]
            assert len(list(lines)) == 200
        assert root.health().status == "healthy"


@needs_fork
@ignores_threads
def test_a_forked_process_does_not_read_a_stream_of_its_parent(url: str, user_id: str) -> None:
    with Memory(url) as root:
        root.store_batch([{"content": "fig " * 1000, "user_id": user_id} for _ in range(200)])
        with root.export_memories(user_id=user_id) as lines:
            next(lines)

            def read() -> bool:
                with pytest.raises(Invalid, match="a stream must be read in the process that opened it"):
                    list(lines)
                return True

            assert get_exit_codes([run_in_child(read)]) == [0]
            assert len(list(lines)) == 200


@needs_fork
@ignores_threads
def test_a_forked_process_does_not_use_an_http_client_of_its_parent(url: str) -> None:
    with httpx.Client(trust_env=False) as client, Memory(url, http_client=client) as root:
        assert root.health().status == "healthy"

        def call() -> bool:
            with pytest.raises(Invalid, match="http_client must belong to this process"):
                root.health()
            return True

        assert get_exit_codes([run_in_child(call)]) == [0]
        assert root.health().status == "healthy"


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_asynchronous_client_works_in_several_event_loops(url: str) -> None:
    memory = AsyncMemory(url)

    async def call(memory: AsyncMemory) -> str:
        return (await memory.health()).status

    assert [asyncio.run(call(memory)) for _ in range(4)] == ["healthy"] * 4
    asyncio.run(memory.aclose())
    # The connections of the other event loops are closed here, with a warning.
    del memory
    gc.collect()


class TestClosed:
    """Clients that were closed."""

    def test_a_call_of_a_closed_client_is_refused(self, url: str) -> None:
        memory = Memory(url)
        scope = memory.scope(user_id="ada")
        assert memory.health().status == "healthy"
        memory.close()
        for call in (memory.health, scope.stats, lambda: next(memory.events()), lambda: next(memory.backup())):
            with pytest.raises(Invalid, match="the client is closed; create a new one"):
                call()

    async def test_a_call_of_a_closed_asynchronous_client_is_refused(self, url: str) -> None:
        async with AsyncMemory(url) as memory:
            pass
        with pytest.raises(Invalid, match="the client is closed; create a new one"):
            await memory.health()

    def test_a_call_with_a_closed_http_client_is_refused(self, url: str) -> None:
        client = httpx.Client(trust_env=False)
        with Memory(url, http_client=client) as memory:
            client.close()
            with pytest.raises(Invalid, match="http_client is closed; create a new one"):
                memory.health()

    def test_an_export_of_a_closed_client_is_cut_off(self, url: str, user_id: str) -> None:
        with Memory(url) as memory:
            memory.store_batch([{"content": "fig " * 1000, "user_id": user_id} for _ in range(500)])
            lines = memory.export_memories(user_id=user_id)
            next(lines)
            memory.close()
            with pytest.raises(Unavailable, match="the client was closed before the end of the response"):
                list(lines)


def test_a_stream_that_was_not_read_sends_no_request() -> None:
    with Memory("http://127.0.0.1:1", retries=0) as memory:
        memory.export_memories().close()
        memory.events().close()
        with pytest.raises(Unavailable):
            next(memory.events())
