"""Writes the synchronous client from the asynchronous one, so that both stay the same.

Usage: `python scripts/generate_sync.py`. Needs ruff, which formats the result.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "memoryd"
SOURCE = PACKAGE / "_async"
TARGET = PACKAGE / "_sync"

#: Patterns in the asynchronous source, and their replacements in the synchronous source.
REPLACEMENTS = [
    (r"from asyncio import", "from time import"),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\b(\w+)_async\b", r"\1"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncClient\b", "Client"),
    (r"\bAnyAsyncIterable\b", "AnyIterable"),
    (r"\bAsync(\w+)\b", r"\1"),
    (r"\bMany tasks\b", "Several threads"),
    (r"\bthat task\b", "that thread"),
    (r"\banother task\b", "another thread"),
    (
        r"^\"\"\"The asynchronous client, from .*$",
        '"""The synchronous client, which `scripts/generate_sync.py` writes."""',
    ),
]


def to_sync(source: str) -> str:
    """Returns the synchronous form of a module."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    # `yield from` and plain comprehensions exist only in synchronous code.
    fixed = run_ruff(["check", "--fix-only", "--unsafe-fixes", "--select=I,UP028,C416"], source)
    return run_ruff(["format"], fixed)


def run_ruff(arguments: list[str], source: str) -> str:
    """Returns a source after a command of ruff, with the settings of the package."""
    command = [sys.executable, "-m", "ruff", *arguments, "--quiet", f"--stdin-filename={TARGET / 'client.py'}", "-"]
    return subprocess.run(command, input=source, capture_output=True, check=True, text=True).stdout  # noqa: S603


def get_modules() -> dict[Path, str]:
    """Returns the text of each synchronous module, by its path."""
    return {TARGET / path.name: to_sync(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.glob("*.py"))}


def main() -> None:
    """Writes the modules. With `--check`, only compares them, and exits with 1 if they are not current."""
    modules = get_modules()
    if "--check" in sys.argv:
        stale = [path.name for path, text in modules.items() if path.read_text(encoding="utf-8") != text]
        extra = sorted({path.name for path in TARGET.glob("*.py")} - {path.name for path in modules})
        sys.exit(f"run scripts/generate_sync.py: {', '.join(stale + extra)}" if stale + extra else 0)
    TARGET.mkdir(exist_ok=True)
    for path, text in modules.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
