"""Rules of requests that OpenAPI or JSON Schema cannot state, and bodies with one JSON value per line.

The document states these rules in words. `before_call` lets valid requests keep to them, so that they reach the logic
of the service. It leaves invalid requests as they are.
"""

import json
import re

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData

LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
EVENTS = "text/event-stream"

FILTER = {"$or": [{"tag": {"$in": ["a", "b"]}}, {"metadata.price": {"$gte": 1}}], "source": {"$ne": "mail"}}
EXPORT_HEADER = {"format": "memoryd", "version": 1}
FILE_OF_ANOTHER_PROGRAM = b'{"content": "The harbour opens at nine."}\n'

DELETION_FILTERS = (
    *("user_id", "agent_id", "id", "session_id", "tag", "source", "external_id", "metadata", "filter", "before"),
)
CHANGE_FILTERS = (
    *("user_id", "agent_id", "session_id", "tag", "source", "external_id", "metadata", "filter"),
    *("q", "tier", "since", "until"),
)
CHANGES = ("add_tags", "remove_tags", "importance", "metadata")
MAX_MEMORIES_WITH_SIMILAR = 1000
MAX_WORDS_CHARS = 256
MAX_EXACT_INTEGER = 2**53 - 1

# For each operation that makes something: the field of the response, and the path parameter and the operations that
# take it.
LINKS = {
    "storeMemory": ("id", "memory_id", ("getMemory", "getMemoryHistory", "updateMemory", "forgetMemory")),
    "consolidateMemories": ("id", "id", ("getConsolidation", "undoConsolidation")),
    "importTexts": ("import_id", "id", ("undoImport",)),
    "addKey": ("id", "id", ("revokeKey",)),
    "updateMemories": ("change_id", "id", ("undoChange",)),
}


@schemathesis.hook
def before_load_schema(_context, raw_schema):
    """Adds links, and what OpenAPI 3.1 has no keywords for: the schemas of lines and of the data of events."""
    operations = [operation for path in raw_schema["paths"].values() for operation in path.values()]
    for operation in operations:
        field, parameter, targets = LINKS.get(operation["operationId"], ("", "", ()))
        operation["responses"]["200"]["links"] = {
            target: {"operationId": target, "parameters": {parameter: f"$response.body#/{field}"}} for target in targets
        }
        for message in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media_type, media in message.get("content", {}).items():
                schema = media.get("schema", {})
                if "x-line-schema" in schema:
                    media["schema"] = {"type": "array", "items": schema["x-line-schema"]}
                elif media_type == EVENTS:
                    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}
                    media["schema"] = {"type": "object", "properties": {"data": data}}


@schemathesis.serializer(*LINES)
def to_lines(_context, value):
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@schemathesis.deserializer(*LINES)
def from_lines(_context, response):
    return [json.loads(line) for line in response.content.splitlines()]


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    operation = (case.method, case.path)
    body = case.body
    query = case.query
    for fields in (query, body, *(body if isinstance(body, list) else ())):
        if isinstance(fields, dict):
            repair(fields)
    if query.get("filter"):
        query["filter"] = json.dumps(FILTER)
    # The tool ignores the pattern of this header when it covers the values of other parameters.
    if case.headers.get("If-Match") == "0":
        case.headers["If-Match"] = "*"
    if operation in (("DELETE", "/memories"), ("PATCH", "/memories"), ("GET", "/export")):
        # These operations refuse every empty parameter, whatever its schema.
        for name in [name for name, value in query.items() if value == ""]:
            del query[name]
    if operation == ("DELETE", "/memories") and not any(query.get(name) for name in DELETION_FILTERS):
        query["before"] = "1900-01-01"
    if operation == ("PATCH", "/memories"):
        repair_change(query, body)
    if operation == ("PUT", "/update/{memory_id}") and all(value is None for value in body.values()):
        body["importance"] = 0.5
    if operation == ("POST", "/store/batch") and len(body) > MAX_MEMORIES_WITH_SIMILAR:
        query.pop("similar", None)
    if operation == ("PUT", "/namespaces/{name}"):
        # A namespace with any other name must exist already.
        case.path_parameters["name"] = "team"
    if operation == ("POST", "/import"):
        repair_import(case)


def repair(fields):
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = to_existing_time(value)
        elif isinstance(value, list):
            fields[name] = [to_existing_time(item) if isinstance(item, str) else item for item in value]
    # Only the service makes cursors.
    fields.pop("cursor", None)
    if fields.get("timezone"):
        fields["timezone"] = "Europe/Berlin"
    if fields.get("filter"):
        fields["filter"] = FILTER
    owner = fields.get("user_id") or fields.get("agent_id")
    if not owner:
        fields.pop("shared", None)
    if fields.get("as_of"):
        fields.pop("current", None)
    if fields.get("q"):
        # Words must contain a letter, a number or a symbol.
        fields["q"] = f"a{fields['q']}"[:MAX_WORDS_CHARS]
        fields.pop("known_at", None)
    if fields.get("memory_id"):
        fields.pop("with_later", None)
    if not fields.get("session_id"):
        for name in ("once", "reset"):
            fields.pop(name, None)
    if isinstance(fields.get("metadata"), dict):
        fields["metadata"] = to_exact_integers(fields["metadata"])
    # The end must be later than the beginning.
    if fields.get("valid_to"):
        fields["valid_to"] = "9999-01-01"
    # A key of a user or an agent has one of two scopes.
    if owner and fields.get("scope"):
        fields["scope"] = "read"


def repair_change(query, body):
    """Gives a change of many memories a condition and a change, and no tag both to add and to remove."""
    if not body.get("ids") and not any(query.get(name) for name in CHANGE_FILTERS):
        query["until"] = "1900-01-01"
    if set(body.get("add_tags", ())) & set(body.get("remove_tags", ())):
        del body["remove_tags"]
    if not any(name in body for name in CHANGES):
        body["importance"] = 0.5


def to_exact_integers(value):
    """Returns JSON without integers that a float cannot represent exactly."""
    if isinstance(value, dict):
        return {name: to_exact_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_exact_integers(item) for item in value]
    is_too_large = isinstance(value, (int, float)) and float(value).is_integer() and abs(value) > MAX_EXACT_INTEGER
    return 1 if is_too_large else value


def to_existing_time(text):
    """Returns a time that exists. The pattern of times also matches February 30 and any leap second."""
    if not re.match(r"\d{4}-\d\d-\d\d([Tt ]|$)", text):
        return text
    existing_day = re.sub(r"^(\d{4}-\d\d)-(29|3.)", r"\1-28", text).replace(":60", ":59")
    # An offset may lead to a year without four digits.
    return re.sub(r"^(0000|9999)", "2000", existing_day)


def repair_import(case):
    """Gives an export its header, and a file of another program its format."""
    if not isinstance(case.body, list):
        case.query.pop("map", None)
        case.query["from"] = "jsonl"
        case.media_type = "application/octet-stream"
        case.body = FILE_OF_ANOTHER_PROGRAM
        return
    # An export has no other options.
    for name in set(case.query) - {"user_id", "agent_id"}:
        del case.query[name]
    case.body.insert(0, EXPORT_HEADER)


@schemathesis.hook
def filter_failure(_context, failure, case, response):
    """Returns whether a failure is a finding."""
    if not isinstance(failure, AcceptedNegativeData):
        return True
    # `repair_import` made this file of a valid request. The tool takes its bytes for an invalid text.
    if response.request.body == FILE_OF_ANOTHER_PROGRAM:
        return False
    has_body = bool(response.request.body)
    # Any body is answered, even none, because a hook must not disturb its program.
    if case.path == "/hooks/{program}":
        return has_body
    # The items of a list are refused one by one, and an empty stream has no items.
    results = response.json()
    refused = results.get("failed_count", results.get("refused_count"))
    return refused is None or (refused == 0 and has_body)
