"""Starts real services for tests."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path
from typing import Protocol

import httpx

ROOT = Path(__file__).resolve().parents[3]
"""The folder of the repository."""

BIN = ROOT / "node_modules" / ".bin"
SERVER = ROOT / "packages" / "server"

RUN_VARIABLE = "MEMORYD_TEST_RUN"
"""Environment variable that every process of a test run inherits, so that a process that is left over is found."""

START_TIMEOUT = 60.0
STOP_TIMEOUT = 20.0


class StartService(Protocol):
    """Type of the fixture `start_service`."""

    def __call__(self, settings: dict[str, str] | None = None, *, by_meaning: bool = False) -> Service:
        """Starts a service. See `Service`."""
        ...


class Service:
    """A process of the built service, with a database of its own.

    Args:
        folder: Empty folder for the database and the log.
        settings: Environment variables of the service, such as `{"SERVICE_REDACT": "on"}`.
        by_meaning: Whether the service runs the bundled model. Without it, recall works by words only.
        database_url: URL of a PostgreSQL database instead of a file.
    """

    def __init__(
        self,
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        by_meaning: bool = False,
        database_url: str | None = None,
    ) -> None:
        self.folder = folder
        self.database = database_url or str(folder / "memory.db")
        self.port = get_free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "log.ndjson"
        self._settings = {
            "SERVICE_CONSOLIDATION_INTERVAL_SECONDS": "0",
            **({} if by_meaning else {"SERVICE_EMBEDDER": "none"}),
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def pid(self) -> int:
        """Id of the running process."""
        if self._process is None:
            raise RuntimeError("the service is not running")
        return self._process.pid

    def start(self) -> None:
        """Starts the service on its port and database, and returns when it is ready. Use it after `kill` or `stop`."""
        if self._process is not None:
            raise RuntimeError("the service is running already")
        if not (SERVER / "dist" / "memoryd.js").exists():
            raise RuntimeError("the service is not built; run `npm ci && npm run build` in the repository")
        # SERVICE_ variables of the machine would change the service under test, so it inherits only these.
        environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            RUN_VARIABLE: os.environ[RUN_VARIABLE],
            **self._settings,
        }
        kind = "--database-url" if "://" in self.database else "--db-path"
        command = ["node", str(SERVER), "serve", "--port", str(self.port), kind, self.database]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + START_TIMEOUT
        while not self._is_ready():
            code = self._process.poll()
            if code is not None or time.monotonic() > deadline:
                self.kill()
                state = "is not ready in time" if code is None else f"exited with {code}"
                raise RuntimeError(f"the service {state}\n{self.log.read_text()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kills the process, as a crash would. Does nothing if it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stops the process as an operator would. Fails if it does not exit with 0. Does nothing if it has ended."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None
        if code != 0:
            raise RuntimeError(f"the service exited with {code}\n{self.log.read_text()}")

    def pause(self) -> None:
        """Stops the process from running, so that it accepts connections and does not respond, until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Lets the process run again after `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=5, trust_env=False).is_success
        except httpx.TransportError:
            return False


def get_free_port() -> int:
    """Returns a free local port below the range of outgoing connections, so that none of them takes it."""
    for _ in range(50):
        port = random.randint(10_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port found in 50 attempts")


class PostgresServer:
    """The PostgreSQL server at TEST_DATABASE_URL, on which tests create databases."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._created: list[str] = []

    def create_database(self) -> str:
        """Creates an empty database and returns its URL."""
        name = f"memoryd_python_{uuid.uuid4().hex[:12]}"
        self._run(f"CREATE DATABASE {name}")
        self._created.append(name)
        return str(httpx.URL(self._url).copy_with(path=f"/{name}"))

    def drop_databases(self) -> None:
        """Drops the databases that `create_database` created."""
        for name in self._created:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")
        self._created.clear()

    def _run(self, statement: str) -> None:
        # The driver of the service, so that tests need no other one.
        program = (
            "const { Client } = require('pg');"
            "const client = new Client({ connectionString: process.env.URL });"
            "client.connect().then(() => client.query(process.env.STATEMENT)).then(() => client.end())"
        )
        environment = {**os.environ, "URL": self._url, "STATEMENT": statement}
        node = BIN / "node"
        subprocess.run([str(node) if node.exists() else "node", "-e", program], cwd=ROOT, env=environment, check=True)


def find_leftover_processes(grace: float = 10.0) -> list[tuple[int, str]]:
    """Returns id and command of the processes of this test run that still run after some seconds. Linux only."""
    deadline = time.monotonic() + grace
    while True:
        found = _find_processes()
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def _find_processes() -> list[tuple[int, str]]:
    marker = f"{RUN_VARIABLE}={os.environ[RUN_VARIABLE]}".encode()
    found: list[tuple[int, str]] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if marker in variables and int(folder.name) != os.getpid() and command != "":
            found.append((int(folder.name), command))
    return found
