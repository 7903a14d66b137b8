"""The descriptions of the tools for models, which the adapters share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parent.parent


def test_model_tools_are_those_of_the_service(url: str) -> None:
    command = [sys.executable, str(CLIENT / "scripts" / "write_model_tools.py"), url, "--check"]
    run = subprocess.run(command, capture_output=True, encoding="utf8")
    assert run.returncode == 0, run.stdout + run.stderr
