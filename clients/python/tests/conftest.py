"""Fixtures of all tests: a real service, its address, and memories of a user of its own for each test."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from memoryd import AsyncMemory, Memory
from service import RUN_VARIABLE, PostgresServer, Service, StartService, find_leftover_processes

# Also for services that the package itself starts.
os.environ[RUN_VARIABLE] = uuid.uuid4().hex


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: runs only with LONG_TESTS=1, in `npm run test:long`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("LONG_TESTS") == "1":
        return
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.skip(reason="needs LONG_TESTS=1"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of asynchronous tests. The frameworks need asyncio."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def no_leftover_processes() -> Iterator[None]:
    """Fails the run if a process that it started still runs at its end, and kills the process.

    As an automatic fixture, it is set up before all others of the run, and torn down after them.
    """
    yield
    leftover = find_leftover_processes()
    for pid, _ in leftover:
        os.kill(pid, signal.SIGKILL)
    assert leftover == []


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer | None]:
    """The PostgreSQL server if CONFORMANCE_DATABASE is `postgres`. Otherwise, databases are files."""
    if os.environ.get("CONFORMANCE_DATABASE") != "postgres":
        yield None
        return
    server = PostgresServer(os.environ["TEST_DATABASE_URL"])
    yield server
    server.drop_databases()


def _start_services(folders: pytest.TempPathFactory, postgres: PostgresServer | None) -> Iterator[StartService]:
    services: list[Service] = []

    def start(settings: dict[str, str] | None = None, *, by_meaning: bool = False) -> Service:
        database_url = postgres.create_database() if postgres is not None else None
        service = Service(folders.mktemp("service"), settings, by_meaning=by_meaning, database_url=database_url)
        services.append(service)
        return service

    yield start
    for service in services:
        service.stop()


@pytest.fixture
def start_service(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer | None) -> Iterator[StartService]:
    """Starts services for one test, which may kill and start them. Stops them after the test."""
    yield from _start_services(tmp_path_factory, postgres)


@pytest.fixture(scope="session")
def start_shared_service(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer | None
) -> Iterator[StartService]:
    """Starts services for all tests of the run."""
    yield from _start_services(tmp_path_factory, postgres)


@pytest.fixture(scope="session")
def url(start_shared_service: StartService) -> str:
    """Address of the service that all tests share. It recalls by words only, so that no test waits for a model."""
    return start_shared_service().url


@pytest.fixture(scope="session")
def url_by_meaning(start_shared_service: StartService) -> str:
    """Address of a service with the bundled model, which all tests share."""
    return start_shared_service(by_meaning=True).url


@pytest.fixture
def user_id() -> str:
    """A user of the shared services who has no memories yet."""
    return f"user-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def memory(url: str, user_id: str) -> Iterator[Memory]:
    """Memories of a new user of the shared service."""
    with Memory(url) as root:
        yield root.scope(user_id=user_id)


@pytest.fixture
async def async_memory(url: str, user_id: str) -> AsyncIterator[AsyncMemory]:
    """The memories of `memory`, for asynchronous tests."""
    async with AsyncMemory(url) as root:
        yield root.scope(user_id=user_id)
