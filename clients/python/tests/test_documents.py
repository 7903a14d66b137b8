"""Runs the Python code of the documentation, each document as one program against a service."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from documents import BLOCK, find_documents, get_expected_output, get_program
from memoryd import Memory

DOCUMENTS = find_documents()


def test_the_list_of_documents_has_all_documents_about_python() -> None:
    assert {"clients/python/README.md", "docs/guide/python.md", "docs/quick-start.md"} <= DOCUMENTS.keys()


def test_more_than_half_of_all_blocks_run() -> None:
    blocks = [block for text in DOCUMENTS.values() for block in BLOCK.finditer(text)]
    assert len([block for block in blocks if block["reason"] is None]) > len(blocks) / 2


@pytest.mark.parametrize("path", [path for path, text in DOCUMENTS.items() if get_program(text).strip() != ""])
def test_the_code_of_a_document_runs_and_prints_what_its_comments_say(
    path: str, url_by_meaning: str, tmp_path: Path
) -> None:
    program = get_program(DOCUMENTS[path]).replace("http://127.0.0.1:8090", url_by_meaning)
    # A traceback names the document and its lines.
    file = tmp_path / f"{Path(path).name}.py"
    file.write_text(program, "utf8")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SERVICE_")}
    run = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=tmp_path,
        env={**variables, "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf8",
        timeout=600,
    )
    assert run.returncode == 0, f"{path}\n{run.stdout}\n{run.stderr}"
    printed = iter(run.stdout.splitlines())
    missing = [line for line in get_expected_output(program) if line not in printed]
    assert missing == [], f"{path}\n{run.stdout}"


async def test_the_web_application_of_the_guide_answers_each_user_with_own_memories(url_by_meaning: str) -> None:
    text = DOCUMENTS["docs/guide/python.md"]
    (block,) = [block["code"] for block in BLOCK.finditer(text) if "async def app" in block["code"]]
    names: dict[str, Any] = {}
    exec(compile(block.replace("http://127.0.0.1:8090", url_by_meaning), "docs/guide/python.md", "exec"), names)
    with Memory(url_by_meaning) as memory:
        memory.scope(user_id="web-ada").store("Ada waters the figs on Mondays")
        memory.scope(user_id="web-ben").store("Ben waters the figs on Fridays")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(names["app"]), base_url="http://app") as browser:
        for user, day in {"web-ada": "Mondays", "web-ben": "Fridays"}.items():
            response = await browser.get("/", params={"user": user, "question": "When are the figs watered?"})
            assert response.text == f"{user.removeprefix('web-').title()} waters the figs on {day}"
        assert (await browser.get("/")).status_code == 400
    await names["client"].aclose()
