"""A service of the package `memoryd-server` that lives as long as the Python process that uses it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import weakref
from asyncio import CancelledError, to_thread
from collections import deque
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import IO, TYPE_CHECKING, Any

from .errors import Invalid, Unavailable

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["LocalService"]

START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 10.0
"""Time after which the process is killed. The service stops within 9 s."""
MAX_LOG_LINES = 100
MAX_LOG_LINE_BYTES = 16_384

if sys.platform == "win32":
    _NEW_GROUP = subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _NEW_GROUP = 0


class LocalService:
    """A service for one database file, on a free port of 127.0.0.1. `Memory.local` starts one.

    Requests need the key `api_key`, so other users of the machine and web pages cannot use the service. The service
    ends with `stop`, with this object, and with the Python process, even if SIGKILL ends that process. Processes that
    were forked from it keep the service running.

    Several services, of one process or of many, can use the same file at the same time.

    Attributes:
        path: Absolute path of the database file.
        api_key: A key for this service only, with the scope `operate` for the namespace `default`.
        pid: Process id of the service.

    Example:
        >>> with LocalService("memory.db") as service:
        ...     print(service.url)
    """

    def __init__(self, path: str | os.PathLike[str], *, embedder: str | None = None) -> None:
        """Starts the process. Use `wait` or a `with` block until the service is ready.

        Args:
            path: The database file. Missing folders and a missing file are created. There is no database in memory: for
                a test, use a temporary file.
            embedder: A value of the setting `SERVICE_EMBEDDER`, such as `none` for recall by words only. Defaults to
                this variable, or to `minilm`, the model inside of memoryd-server.

        Raises:
            Invalid: The path is empty or `:memory:`.
            ImportError: The package memoryd-server is not installed.
        """
        if os.fspath(path) in ("", ":memory:"):
            raise Invalid(f"path must name a database file, but is {path!r}; for a test, use a temporary file")
        server = _import_server()
        self.path = Path(path).absolute()
        self.api_key = secrets.token_hex(32)
        flags = ["--host", "127.0.0.1", "--port", "0", "--db-path", str(self.path), "--log-level", "info"]
        if embedder is not None:
            flags += ["--embedder", embedder]
        command: list[str] = server.get_command("serve", "--stop-with-stdin", *flags)
        process = subprocess.Popen(  # noqa: S603 - memoryd-server names the program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A settings file in the working directory must not decide where texts are sent.
            cwd=Path(str(server.__file__)).parent,
            # The key is a variable, because other users of the machine may read the arguments of a process.
            env={**_get_environment(), "SERVICE_API_KEY": self.api_key},
            # Ctrl+C does not reach the service, so a program can use it until the program ends.
            start_new_session=True,
            creationflags=_NEW_GROUP,
        )
        self.pid = process.pid
        self._log = _Log(process.stdout)
        # Also runs when the interpreter ends.
        self._stop = weakref.finalize(self, _stop, process, os.getpid())
        self._kill = process.kill

    @property
    def url(self) -> str:
        """Address of the service, such as `http://127.0.0.1:41234`.

        Raises:
            Unavailable: The service is not ready.
        """
        if self._log.url is None:
            raise Unavailable(f"the service of {self.path} is not ready; call wait()")
        return self._log.url

    def wait(self) -> None:
        """Waits until the service is ready.

        Raises:
            Unavailable: The service did not start within 60 s. The message contains the end of its log.
        """
        self._log.changed.wait(START_TIMEOUT_SECONDS)
        if self._log.url is None:
            self._kill()
            self.stop()
            raise Unavailable(f"the service of {self.path} did not start: {self._log.text() or 'its log is empty'}")

    async def wait_async(self) -> None:
        """Like `wait`, in a thread. Ends the service if the task is cancelled."""
        try:
            await to_thread(self.wait)
        except CancelledError:
            self._kill()
            raise

    def stop(self) -> None:
        """Stops the service, which first completes pending requests. Further calls do nothing."""
        self._stop()

    async def stop_async(self) -> None:
        """Like `stop`, in a thread."""
        await to_thread(self.stop)

    def __enter__(self) -> Self:
        self.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Log:
    """The last lines that a service wrote. A thread reads them, so that the service never waits for a reader."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self.url: str | None = None
        self.changed = Event()
        """Set when the service is ready, and when it has ended."""
        self._lines: deque[str] = deque(maxlen=MAX_LOG_LINES)
        Thread(target=self._read, args=(stream,), name="memoryd-log", daemon=True).start()

    def text(self) -> str:
        return "\n".join(self._lines)

    def _read(self, stream: IO[bytes]) -> None:
        try:
            with stream:
                while line := stream.readline(MAX_LOG_LINE_BYTES):
                    text = line.decode("utf-8", "replace").rstrip()
                    self._lines.append(text)
                    if self.url is None and '"event":"server_started"' in text:
                        self.url = str(json.loads(text)["url"])
                        self.changed.set()
        finally:
            self.changed.set()


def _import_server() -> Any:
    try:
        return import_module("memoryd_server")
    except ImportError as error:
        message = "a local service needs the package memoryd-server: pip install 'memoryd[server]'"
        raise ImportError(message, name="memoryd_server") from error


def _get_environment() -> dict[str, str]:
    """Returns the environment variables of this process, without settings that name another database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SERVICE_DATABASE_")}


def _stop(process: subprocess.Popen[bytes], owner: int) -> None:
    """Closes the standard input of the service, which makes it stop on every platform."""
    # A forked process has a copy of the object, but the service belongs to its parent.
    if os.getpid() != owner or process.stdin is None:
        return
    process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
