"""Writes src/memoryd/model_tools.json from a running service, or with --check compares the file with the service.

python scripts/write_model_tools.py http://127.0.0.1:8090 [--check]

`npx biome format --write clients/python` in the repository then formats the file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx

TARGET = Path(__file__).parent.parent / "src" / "memoryd" / "model_tools.json"


def read_tools(url: str) -> list[dict[str, object]]:
    """Returns the tools that the service offers models."""
    response = httpx.post(
        f"{url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers={"accept": "application/json, text/event-stream"},
    )
    response.raise_for_status()
    message = next(line for line in response.text.splitlines() if line.startswith("data:"))
    tools: list[dict[str, object]] = json.loads(message.removeprefix("data:"))["result"]["tools"]
    return [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools]


def main(url: str, *, is_check: bool) -> None:
    """Writes the file, or exits with 1 if it differs."""
    tools = read_tools(url)
    if not is_check:
        TARGET.write_text(json.dumps(tools, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    elif json.loads(TARGET.read_text(encoding="utf-8")) != tools:
        sys.exit(
            f"{TARGET.name} is outdated; run python scripts/write_model_tools.py URL with a service of this version"
        )


if __name__ == "__main__":
    main(sys.argv[1], is_check="--check" in sys.argv)
