"""Finds the Python programs of the documentation. `python documents.py FOLDER` writes them there, for type checkers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

BLOCK = re.compile(
    r"^(?:<!-- (?:not run: (?P<reason>[^\n]+)|needs: Python 3\.(?P<minor>\d+)) -->\n)?```python\n(?P<code>.*?)^```$",
    re.M | re.S,
)


def find_documents() -> dict[str, str]:
    """Returns the texts of the documents with Python code, by path."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    paths = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf8").stdout.splitlines()
    texts = {path: (ROOT / path).read_text("utf8") for path in paths if (ROOT / path).exists()}
    return {path: text for path, text in texts.items() if BLOCK.search(text)}


def get_program(text: str) -> str:
    """Returns the blocks of a document as one program, without those that are not run, or not on this Python.

    Each line has the number that it has in the document.
    """
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        if block["reason"] is None and sys.version_info >= (3, int(block["minor"] or 0)):
            start = text.count("\n", 0, block.start("code"))
            code = block["code"].splitlines()
            lines[start : start + len(code)] = code
    return "\n".join(lines) + "\n"


def get_expected_output(program: str) -> list[str]:
    """Returns the lines that a program says it prints, in comments such as `print(name)  # Ada`."""
    return re.findall(r"^ *print\(.*\)  # (.+)$", program, re.M)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in find_documents().items():
        name = re.sub(r"\W+", "_", path.removesuffix(".md")).lower()
        (folder / f"{name}.py").write_text(get_program(text), "utf8")
