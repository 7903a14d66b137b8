"""Tests of `Memory.local` and of the service that it starts."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoryd import AsyncMemory, Invalid, Memory, Unauthorized, Unavailable
from memoryd.local import LocalService

TIMEOUT_SECONDS = 30.0
PEANUTS = "Ada is allergic to peanuts"


@pytest.fixture(autouse=True)
def environment_of_a_python_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes Node from the PATH, and the settings of the machine."""
    monkeypatch.setenv("PATH", "")
    for name in [name for name in os.environ if name.startswith("SERVICE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "memory.db"


def get_pid(memory: Memory | AsyncMemory) -> int:
    assert memory.service is not None
    return memory.service.pid


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_ended(pid: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while is_running(pid):
        assert time.monotonic() < deadline, f"the process {pid} still runs"
        time.sleep(0.02)


def start_program(body: str, database: Path) -> subprocess.Popen[str]:
    """Starts a program that has a local service, in a process group of its own. It prints the process id first."""
    program = f"""
import os, sys, time
from memoryd import Memory
memory = Memory.local({str(database)!r}, embedder="none")
print(memory.service.pid, flush=True)
{body}
"""
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_memory_local_stores_and_recalls_by_meaning_without_node_on_the_path(database: Path) -> None:
    with Memory.local(database) as memory:
        ada = memory.scope(user_id="ada")
        ada.store(PEANUTS)
        ada.store("Ada plays the violin")
        # The query and the memory have no word in common.
        assert ada.recall("which snack is dangerous", top_k=1).results[0].content == PEANUTS
        assert memory.scope(user_id="ben").recall("which snack is dangerous").results == ()


async def test_async_memory_local_stores_and_recalls_by_meaning(database: Path) -> None:
    async with await AsyncMemory.local(database) as memory:
        await memory.store(PEANUTS)
        assert (await memory.recall("which snack is dangerous")).results[0].content == PEANUTS
        pid = get_pid(memory)
    assert not is_running(pid)


def test_memory_local_ends_the_service_when_the_client_is_closed(database: Path) -> None:
    memory = Memory.local(str(database), embedder="none")
    pid = get_pid(memory)
    memory.scope(user_id="ada").close()
    assert is_running(pid)
    memory.close()
    assert not is_running(pid)
    memory.close()


def test_a_service_ends_when_nothing_refers_to_it(database: Path) -> None:
    service = LocalService(database, embedder="none")
    service.wait()
    pid = service.pid
    del service
    gc.collect()
    assert not is_running(pid)


def test_two_services_of_one_file_have_the_same_memories(database: Path) -> None:
    with Memory.local(database, embedder="none") as first, Memory.local(database, embedder="none") as second:
        assert get_pid(first) != get_pid(second)
        first.store(PEANUTS)
        assert [result.content for result in second.recall("peanuts").results] == [PEANUTS]
        second.store("Ben likes peanuts")
        assert first.recall("peanuts").total == 2


def test_two_processes_can_use_one_file(database: Path) -> None:
    with Memory.local(database, embedder="none") as memory:
        program = start_program(f"memory.store({PEANUTS!r})", database)
        _, errors = program.communicate(timeout=TIMEOUT_SECONDS)
        assert errors == ""
        assert [result.content for result in memory.recall("peanuts").results] == [PEANUTS]


def test_a_local_service_refuses_requests_without_its_key(database: Path) -> None:
    with LocalService(database, embedder="none") as service:
        with Memory(service.url) as stranger, pytest.raises(Unauthorized):
            stranger.recall("peanuts")
        with Memory(service.url, api_key=service.api_key) as memory:
            assert memory.recall("peanuts").total == 0


def test_a_local_service_listens_on_the_loopback_address_whatever_the_settings_of_the_environment(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memoryd.config.json").write_text('{"embedder": "not an embedder"}')
    monkeypatch.setenv("SERVICE_HOST", "0.0.0.0")
    monkeypatch.setenv("SERVICE_PORT", "1")
    monkeypatch.setenv("SERVICE_LOG_LEVEL", "error")
    monkeypatch.setenv("SERVICE_DATABASE_URL", "postgres://127.0.0.1:1/none")
    monkeypatch.setenv("SERVICE_EMBEDDER", "none")
    with LocalService("folder/memory.db") as service:
        assert service.url.startswith("http://127.0.0.1:")
        assert service.path == database
    assert database.exists()


def test_memory_local_uses_no_proxy_of_the_environment(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with Memory.local(database, embedder="none", retries=0) as memory:
        memory.store(PEANUTS)


def test_a_killed_service_raises_unavailable_and_loses_no_acknowledged_memory(database: Path) -> None:
    acknowledged: list[str] = []

    def store_and_kill(memory: Memory) -> None:
        for number in range(100_000):
            if number == 50:
                os.kill(get_pid(memory), signal.SIGKILL)
            acknowledged.append(memory.store(f"memory {number}").id)

    with Memory.local(database, embedder="none", retries=1) as memory, pytest.raises(Unavailable):
        store_and_kill(memory)
    assert len(acknowledged) >= 50
    with Memory.local(database, embedder="none") as memory:
        assert {stored.id for stored in memory.each_memory()} >= set(acknowledged)


async def test_calls_of_a_killed_service_all_raise_unavailable(database: Path) -> None:
    async with await AsyncMemory.local(database, embedder="none", retries=1) as memory:
        stores = [asyncio.create_task(memory.store(f"memory {number}")) for number in range(100)]
        await stores[0]
        os.kill(get_pid(memory), signal.SIGKILL)
        results = await asyncio.gather(*stores, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    assert {type(error) for error in errors} <= {Unavailable}
    acknowledged = {result.id for result in results if not isinstance(result, BaseException)}
    async with await AsyncMemory.local(database, embedder="none") as memory:
        assert {stored.id async for stored in memory.each_memory()} >= acknowledged


def test_a_service_ends_after_its_program_is_killed(database: Path) -> None:
    with start_program("time.sleep(600)", database) as program:
        pid = int(read_line(program))
        assert is_running(pid)
        program.kill()
    wait_until_ended(pid)


def test_a_service_ends_with_a_program_that_does_not_close_the_client(database: Path) -> None:
    with start_program("", database) as program:
        pid = int(read_line(program))
        _, errors = program.communicate(timeout=TIMEOUT_SECONDS)
    assert (program.returncode, errors) == (0, "")
    assert not is_running(pid)


def test_a_program_can_store_after_ctrl_c(database: Path) -> None:
    # Tests in the background of a shell inherit that Ctrl+C is ignored.
    body = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("ready", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    memory.store({PEANUTS!r})
    print("stored", flush=True)
"""
    with start_program(body, database) as program:
        pid = int(read_line(program))
        assert read_line(program) == "ready"
        # A terminal sends Ctrl+C to the whole process group.
        os.killpg(program.pid, signal.SIGINT)
        assert read_line(program) == "stored"
    assert program.returncode == 0
    assert not is_running(pid)


def test_the_end_of_a_forked_process_does_not_end_the_service(database: Path) -> None:
    body = f"""
if os.fork() == 0:
    sys.exit()
os.wait()
memory.store({PEANUTS!r})
print("stored", flush=True)
"""
    with start_program(body, database) as program:
        pid = int(read_line(program))
        assert read_line(program) == "stored"
    assert not is_running(pid)


def test_the_error_of_a_failed_start_contains_the_reason_of_the_service(tmp_path: Path) -> None:
    file = tmp_path / "no.db"
    file.write_text("not a database" * 1000)
    with pytest.raises(Unavailable, match=r"no\.db did not start: cannot open .*no\.db") as raised:
        Memory.local(file)
    assert raised.value.status is None


async def test_a_cancelled_start_ends_the_service(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    wait = LocalService.wait_async

    async def note_and_wait(service: LocalService) -> None:
        started.append(service.pid)
        await wait(service)

    monkeypatch.setattr(LocalService, "wait_async", note_and_wait)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(AsyncMemory.local(database, embedder="none"), 0.05)
    (pid,) = started
    wait_until_ended(pid)


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_memory_local_refuses_a_path_that_names_no_file(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Invalid, match="path must name a database file"):
        Memory.local(path)
    assert list(tmp_path.iterdir()) == []


def test_memory_local_without_memoryd_server_says_how_to_install_it(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "memoryd_server", None)
    with pytest.raises(ImportError, match=r"pip install 'memoryd\[server\]'"):
        Memory.local(database)
    assert not database.exists()
