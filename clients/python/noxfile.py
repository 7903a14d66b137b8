"""Checks of the Python client. `npm run test:python` runs them all; `npm run test:python -- -s types` runs one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
# Tests run on the Pythons of the machine. The summary names the missing ones as skipped.
nox.options.download_python = "never"
nox.options.sessions = ["lint", "types", "tests", "postgres", "wheel", "server"]

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
PACKAGES = [".", "../python-server"]

# Use every operation and every adapter once. They run on the Pythons between the oldest and the newest of the machine.
SMOKE_TESTS = [f"tests/test_{name}.py" for name in ("memory", "models", "session", "langgraph_graph", "openai_agents")]
# The tests whose results could depend on the database.
DATABASE_TESTS = [f"tests/test_{name}.py" for name in ("memory", "filters", "events", "session", "langgraph")]


def is_installed(version: str) -> bool:
    """Returns whether a Python runs. A shim of pyenv may exist for a version that is not installed."""
    program = shutil.which(f"python{version}")
    return (
        program is not None and subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
    )


def install(session: nox.Session) -> None:
    """Installs both packages from the clone, and the pinned versions of all tools and frameworks."""
    session.install("--require-hashes", "-r", "requirements-dev.txt")
    session.install("--no-deps", *(argument for folder in PACKAGES for argument in ("--editable", folder)))


@nox.session
def lint(session: nox.Session) -> None:
    """Checks the format and the rules of ruff."""
    install(session)
    session.run("ruff", "format", "--check", *PACKAGES)
    session.run("ruff", "check", *PACKAGES)


@nox.session
def types(session: nox.Session) -> None:
    """Checks the types of the packages, the tests and the code in documents with mypy and pyright, in strict mode."""
    install(session)
    # For the types of this file.
    session.install("--require-hashes", "-r", "requirements-nox.txt")
    documents = f"{session.create_tmp()}/documents"
    session.run("python", "tests/documents.py", documents)
    session.run("mypy")
    session.run("mypy", documents)
    for package in PACKAGES:
        session.run("pyright", "--project", package)
    with session.chdir("../python-server"):
        session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Runs all tests on the oldest and the newest Python of the machine, and `SMOKE_TESTS` on the others."""
    install(session)
    found = [version for version in PYTHONS if is_installed(version)]
    is_full = session.python in (found[0], found[-1]) or os.environ.get("LONG_TESTS") == "1"
    session.run("pytest", *(session.posargs or ([] if is_full else SMOKE_TESTS)))


@nox.session
def postgres(session: nox.Session) -> None:
    """Runs the tests that depend on the database on PostgreSQL."""
    if "TEST_DATABASE_URL" not in os.environ:
        session.skip("TEST_DATABASE_URL is not set")
    install(session)
    session.run("pytest", *DATABASE_TESTS, env={"CONFORMANCE_DATABASE": "postgres"})


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """Builds the wheel of the client, installs it into an environment with nothing else, and uses a service."""
    # An environment that is used again would have the packages of the last run. Its folder has the temporary folder too.
    session.run_install(
        "uv", "venv", "--quiet", "--clear", "--python", str(session.python), session.virtualenv.location
    )
    folder = Path(session.create_tmp()) / "dist"
    pinned = ("--build-constraints", "requirements-dev.txt")
    session.run("uv", "build", "--quiet", "--wheel", *pinned, "--out-dir", str(folder), external=True)
    (built,) = folder.glob("*.whl")
    session.install("--constraints", "requirements-dev.txt", str(built))
    session.run("python", "-I", "tests/use_wheel.py", str(built.stat().st_size))


@nox.session
def server(session: nox.Session) -> None:
    """Builds the wheel of the service, and installs it on each Python."""
    install(session)
    with session.chdir("../python-server"):
        session.run("pytest", *session.posargs)


@nox.session
def pin(session: nox.Session) -> None:
    """Writes the newest allowed versions to requirements-*.txt."""
    shared = ("uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.10")
    form = ("--generate-hashes", "--no-header", "--no-annotate")
    package = ("pyproject.toml", "--extra", "langgraph", "--extra", "openai-agents")
    for group, sources in {"dev": package, "nox": ()}.items():
        session.run(
            *shared, *form, "--group", group, *sources, "--output-file", f"requirements-{group}.txt", external=True
        )
