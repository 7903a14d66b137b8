"""Writes `src/memoryd/models.py` from the OpenAPI document of the service.

Usage: `python scripts/generate_models.py openapi.json`, which needs ruff. The document is what the service returns for `/openapi.json`.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

TARGET = Path(__file__).parent.parent / "src" / "memoryd" / "models.py"
REFERENCE = "#/components/schemas/"
WIDTH = 120

#: Requests that callers create as objects. The fields of other requests are keyword arguments.
REQUESTS = ("StoreRequest", "ImportedText")

#: Components that are no data of a response.
LEFT_OUT = re.compile(r"Request$|^(NewKey|HookSettingsChange|LivenessResponse|Error|RequestError)$")

#: Names of objects that have no name in the document, by the name of the object that contains them and their field.
NAMES = {
    ("ConsolidationChange", "before"): "ValuesBefore",
    ("ConsolidationPlan", "promote"): "PlannedPromotions",
    ("ConsolidationPlan", "merge"): "PlannedMerges",
    ("ConsolidationPlan", "distil"): "PlannedDistillations",
    ("ConsolidationPlan", "evict"): "PlannedEvictions",
    ("RememberedRecall", "results"): "RememberedResult",
    ("Explanation", "evidence"): "Evidence",
    ("Explanation", "weights"): "EvidenceWeights",
}

HEADER = '''"""Data of requests and responses, with the names of the service's OpenAPI document.

Objects are immutable. Times are aware datetimes, and lists of responses are tuples. A field that a response leaves out is
None. Fields that this version does not know are ignored.

`scripts/generate_models.py` writes this module from the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

'''


class Generator:
    """Collects the classes and type aliases of a document."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.schemas = schemas
        self.classes: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.unions: dict[str, str] = {}

    def write(self) -> str:
        """Returns the text of the module."""
        for name, schema in self.schemas.items():
            if name in REQUESTS or not LEFT_OUT.search(name):
                self.add(name, schema)
        names = sorted([*self.aliases, *self.classes, *self.unions])
        exported = "".join(f'    "{name}",\n' for name in names)
        parts = [
            *(self.aliases[name] for name in sorted(self.aliases)),
            *(self.classes[name] for name in sorted(self.classes)),
            *(self.unions[name] for name in sorted(self.unions)),
        ]
        return f"{HEADER}__all__ = [\n{exported}]\n\n" + "\n".join(parts)

    def add(self, name: str, schema: Schema) -> None:
        """Adds a named component, if it is an object, a choice of words or a union of objects."""
        if schema.get("properties"):
            self.add_class(name, schema)
        elif "enum" in schema:
            self.aliases[name] = f"{name}: TypeAlias = {to_literal(schema['enum'])}\n{to_docstring(schema, '')}"
        elif is_union_of_objects(schema):
            members = " | ".join(self.to_type(name, "", member) for member in schema["anyOf"])
            self.unions[name] = f"{name}: TypeAlias = {members}\n{to_docstring(schema, '')}"

    def add_class(self, name: str, schema: Schema) -> None:
        """Adds a class for an object."""
        required = schema.get("required", [])
        lines = [
            "@dataclass(frozen=True, slots=True, kw_only=True)",
            f"class {name}:",
            to_docstring(describe(name, schema), "    ", is_class=True),
        ]
        for field, inner in schema["properties"].items():
            hint = self.to_type(name, field, inner)
            is_optional = field not in required
            if is_optional and not hint.endswith("| None") and hint != "Any":
                hint += " | None"
            lines.append(f"    {to_identifier(field)}: {hint}{' = None' if is_optional else ''}")
            if inner.get("description"):
                lines.append(to_docstring(inner, "    ").rstrip())
        self.classes[name] = "\n".join(lines) + "\n\n"

    def to_type(self, owner: str, field: str, schema: Schema) -> str:
        """Returns the type hint of a schema, and adds the class of an object that has no name."""
        if "$ref" in schema:
            return self.to_reference(owner, schema["$ref"].removeprefix(REFERENCE))
        if "anyOf" in schema:
            hints = [self.to_type(owner, field, member) for member in schema["anyOf"]]
            return " | ".join(sorted(set(hints), key=lambda hint: hint == "None"))
        if "const" in schema or "enum" in schema:
            return to_literal(schema.get("enum", [schema.get("const")]))
        return self.to_plain_type(owner, field, schema)

    def to_plain_type(self, owner: str, field: str, schema: Schema) -> str:
        """Returns the type hint of a schema with the keyword `type`."""
        match schema.get("type"):
            case "string":
                is_time = schema.get("format") == "date-time" or schema.get("pattern", "").startswith(r"^\d{4}-")
                return "datetime" if is_time else "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "null":
                return "None"
            case "array":
                item = self.to_type(owner, field, schema["items"])
                return f"Sequence[{item}]" if owner in REQUESTS else f"tuple[{item}, ...]"
            case "object":
                return self.to_object_type(owner, field, schema)
            case _:
                return "Any"

    def to_object_type(self, owner: str, field: str, schema: Schema) -> str:
        """Returns the type hint of an object: a map, or a class, which it adds."""
        if not schema.get("properties"):
            kind = "Mapping" if owner in REQUESTS else "dict"
            return f"{kind}[str, {self.to_type(owner, field, get_value_schema(schema))}]"
        name = NAMES[owner, field]
        self.add_class(name, schema)
        return name

    def to_reference(self, owner: str, name: str) -> str:
        """Returns the type hint of a component: its name, or the hint of a component that is no class."""
        schema = self.schemas[name]
        is_named = bool(schema.get("properties")) or "enum" in schema or is_union_of_objects(schema)
        return name if is_named else self.to_type(owner, "", schema)


def get_value_schema(schema: Schema) -> Schema:
    """Returns the schema of the values of a map."""
    values: Schema | bool = schema.get("additionalProperties", True)
    return values if isinstance(values, dict) else {}


def is_union_of_objects(schema: Schema) -> bool:
    """Returns true for a choice between components."""
    members = schema.get("anyOf", [])
    return bool(members) and all("$ref" in member for member in members)


def to_literal(values: list[Any]) -> str:
    """Returns the type hint of a choice between values."""
    words = ", ".join(json.dumps(value) if isinstance(value, str) else repr(value) for value in values)
    return f"Literal[{words}]"


def to_identifier(field: str) -> str:
    """Returns the name of a field in Python: `from` becomes `from_`."""
    return f"{field}_" if keyword.iskeyword(field) else field


def describe(name: str, schema: Schema) -> Schema:
    """Returns the schema with a description: the words of the name if the document has none."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return {"description": f"{words.capitalize()}.", **schema}


def to_docstring(schema: Schema, indent: str, is_class: bool = False) -> str:
    """Returns the description of a schema as a docstring. That of a class begins with a paragraph of one sentence."""
    text = schema.get("description", "").replace("\\", "\\\\")
    if not text:
        return ""
    if len(indent) + len(text) + 6 <= WIDTH:
        return f'{indent}"""{text}"""\n'
    summary, _, rest = text.partition(". ") if is_class else (text, "", "")
    paragraphs = [f"{summary}.", rest] if rest else [text]
    body = f"\n\n{indent}".join(f"\n{indent}".join(wrap(each, indent)) for each in paragraphs)
    return f'{indent}"""{body}\n{indent}"""\n'


def wrap(text: str, indent: str) -> list[str]:
    """Returns the lines of a paragraph, with room for the quotes."""
    return textwrap.wrap(text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    """Writes the module. With `--check`, only compares it, and exits with 1 if it is not current."""
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    text = format_source(Generator(document["components"]["schemas"]).write())
    if "--check" in sys.argv:
        is_current = TARGET.read_text(encoding="utf-8") == text
        sys.exit(0 if is_current else f"{TARGET.name} is not current; run scripts/generate_models.py openapi.json")
    TARGET.write_text(text, encoding="utf-8")


def format_source(source: str) -> str:
    """Returns a source in the format of the package."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", f"--stdin-filename={TARGET}", "-"]
    return subprocess.run(command, input=source, capture_output=True, check=True, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    main()
