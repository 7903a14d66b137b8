"""The client and the OpenAPI document of the service name the same operations and arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import pytest

from memoryd import _operations as operations
from memoryd import _options as options
from memoryd._request import Operation

PACKAGE = Path(__file__).parent.parent

# For the address line of a browser, for the hooks of agent programs, and for probes of a machine.
NOT_FOR_PROGRAMS = {("GET", "/context"), ("POST", "/hooks/{program}"), ("GET", "/readyz"), ("GET", "/livez")}

CALLS: list[tuple[Operation, type, set[str]]] = [
    (operations.STORE, options.StoreOptions, {"content"}),
    (operations.RECALL, options.RecallOptions, {"query"}),
    (operations.RECALL_BY_BODY, options.RecallOptions, {"query"}),
    (operations.CONTEXT, options.ContextOptions, {"query"}),
    (operations.SESSION, options.TranscriptOptions, set()),
    (operations.SESSIONS, options.SessionsOptions, set()),
    (operations.USERS, options.Page, set()),
    (operations.MEMORY, options.ReadScope, set()),
    (operations.HISTORY, options.HistoryOptions, set()),
    (operations.MEMORIES, options.MemoriesOptions, set()),
    (operations.FACETS, options.FacetsOptions, {"field"}),
    (operations.GROWTH, options.GrowthOptions, {"step"}),
    (operations.MAP, options.ListOptions, set()),
    (operations.RELATED, options.RelatedOptions, set()),
    (operations.RECALLS, options.RecallsOptions, set()),
    (operations.UPDATE_MANY, options.UpdateManyOptions, set()),
    (operations.UNDO_CHANGE, options.OwnScope, set()),
    (operations.UPDATE, options.UpdateOptions, set()),
    (operations.FORGET, options.ForgetOptions, set()),
    (operations.FORGET_MANY, options.ForgetManyOptions, set()),
    (operations.CONSOLIDATE, options.ConsolidateOptions, set()),
    (operations.CONSOLIDATIONS, options.Page, set()),
    (operations.CONSOLIDATION, options.Page, set()),
    (operations.UNDO, options.UndoOptions, set()),
    (operations.CORRECTIONS, options.CorrectionsOptions, set()),
    (operations.DECIDE_CORRECTION, options.OwnScope, {"accept"}),
    (operations.STATS, options.ReadScope, set()),
    (operations.EVENTS, options.EventsOptions, set()),
    (operations.EXPORT_MEMORIES, options.ExportOptions, set()),
    (operations.IMPORT_MEMORIES, options.ImportFileOptions, set()),
    (operations.IMPORT_TEXTS, options.ImportTextsOptions, {"from"}),
    (operations.IMPORTS, options.ImportsOptions, set()),
    (operations.UNDO_IMPORT, options.OwnScope, set()),
]

# Keyword arguments that the service reads from headers.
HEADERS = {"Idempotency-Key": "idempotency_key", "If-Match": "if_versions", "Last-Event-ID": "last_event_id"}

# The body and the query string of one operation have a field with this name.
RENAMED = {"set_metadata": "metadata"}

# The client has no cache.
CACHE_HEADERS = {"If-None-Match"}


@pytest.fixture(scope="module")
def document(url: str) -> Any:
    return httpx.get(f"{url}/openapi.json").json()


def get_known_operations() -> dict[str, Operation]:
    return {name: value for name, value in vars(operations).items() if isinstance(value, Operation)}


def test_the_client_has_every_operation_of_the_openapi_document(document: Any) -> None:
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    known = {(operation.method, operation.path) for operation in get_known_operations().values()}
    assert known == described - NOT_FOR_PROGRAMS


@pytest.mark.parametrize(("operation", "arguments", "positional"), CALLS, ids=lambda value: getattr(value, "path", ""))
def test_a_call_has_every_argument_of_its_operation(
    document: Any, operation: Operation, arguments: type, positional: set[str]
) -> None:
    described = document["paths"][operation.path][operation.method.lower()]
    parameters = described.get("parameters", [])
    names = {parameter["name"] for parameter in parameters if parameter["in"] == "query"}
    headers = {parameter["name"] for parameter in parameters if parameter["in"] == "header"}
    names |= {HEADERS[name] for name in headers - CACHE_HEADERS}
    names |= set(get_body(document, described).get("properties", {}))
    known = {RENAMED.get(name, name.removesuffix("_")) for name in get_type_hints(arguments)}
    assert known | positional == names


def get_body(document: Any, described: Any) -> Any:
    schema = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def test_a_download_expects_the_media_type_of_its_operation(document: Any) -> None:
    for operation in get_known_operations().values():
        described = document["paths"][operation.path][operation.method.lower()]
        content = described["responses"]["200"].get("content", {"application/json": {}})
        assert operation.media_type in content, operation


def test_models_are_what_the_openapi_document_describes(url: str, tmp_path: Path) -> None:
    path = tmp_path / "openapi.json"
    path.write_bytes(httpx.get(f"{url}/openapi.json").content)
    assert_current("generate_models.py", str(path))


def test_the_synchronous_client_is_what_the_asynchronous_one_becomes() -> None:
    assert_current("generate_sync.py")


def assert_current(script: str, *arguments: str) -> None:
    """Fails with the difference if a script would write other files than those of the package."""
    command = [sys.executable, str(PACKAGE / "scripts" / script), *arguments, "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
