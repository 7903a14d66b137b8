"""Converts arguments to the JSON and the query strings of requests."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from ._unset import UNSET
from .errors import create_field_error
from .filters import Filter


def to_fields(options: Mapping[str, object], clearable: frozenset[str] = frozenset()) -> dict[str, object]:
    """Returns the given arguments by their names in requests: `from_` becomes `from`.

    Arguments with the value `UNSET` are left out, and so are arguments with the value None that are not in `clearable`.

    Raises:
        Invalid: `user_id` or `agent_id` is None: the request would affect the memories of all users.
    """
    for name in ("user_id", "agent_id"):
        if name in options and options[name] is None:
            raise create_field_error(name, "not be None; leave it out of a request that is not limited to one")
    return {
        name.removesuffix("_"): value
        for name, value in options.items()
        if value is not UNSET and (value is not None or name in clearable)
    }


def to_json_body(value: object) -> bytes:
    """Serializes a body as JSON.

    Raises:
        Invalid: The body has a value that JSON cannot represent, or a datetime without a time zone.
    """
    try:
        return _dump(to_json(value, "")).encode()
    except RecursionError:
        raise create_field_error("body", "not contain itself, and have fewer levels") from None


def to_path(template: str, identifier: str) -> str | None:
    """Replaces the parameter of a path with an id. Returns None for ids that no URL can contain.

    These are the empty string, `.` and `..`, which URL parsers resolve even if escaped (URL Standard, section 4.4), and
    strings with lone surrogates.

    Raises:
        Invalid: The id is not a string.
    """
    _require_string(identifier)
    if identifier in ("", ".", ".."):
        return None
    try:
        segment = quote(identifier, safe="")
    except UnicodeEncodeError:
        return None
    start, _, rest = template.partition("{")
    return start + segment + rest.partition("}")[2]


def to_query_string(fields: Mapping[str, object]) -> str:
    """Encodes fields as a query string with a leading question mark, or as the empty string.

    Lists become repeated parameters, metadata fields become parameters such as `metadata[room]`, and filters become JSON.

    Raises:
        Invalid: A value is empty, which the service would treat as absent, or cannot be encoded.
    """
    pairs = [pair for name, value in fields.items() for pair in _get_pairs(name, value)]
    return f"?{'&'.join(pairs)}" if pairs else ""


def _get_pairs(name: str, value: object) -> Iterable[str]:
    if name == "filter":
        return [_to_pair(name, _dump(to_json(value, name)))]
    if isinstance(value, Mapping):
        return [_to_pair(f"{name}[{key}]", inner, to_metadata_text) for key, inner in value.items()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (list, tuple, set, frozenset)):
        if not value:
            raise _create_empty_error(name)
        return [_to_pair(name, item) for item in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return [_to_pair(name, value)]


def _to_pair(name: str, value: object, to_text: Callable[[object, str], str] | None = None) -> str:
    if value == "" or value is None:
        raise _create_empty_error(name)
    try:
        return f"{quote(name, safe='')}={quote((to_text or to_parameter)(value, name), safe='')}"
    except UnicodeEncodeError:
        raise create_field_error(name, "not contain a lone surrogate") from None


def _create_empty_error(name: str) -> Exception:
    return create_field_error(name, "not be None or empty; leave it out")


def to_parameter(value: object, name: str) -> str:
    """Returns a value as a query parameter. Numbers are plain decimals, such as 0.0000001."""
    encoded = to_json(value, name)
    if isinstance(encoded, float):
        return _to_decimal(encoded)
    return encoded if isinstance(encoded, str) else _dump(encoded)


def to_metadata_text(value: object, name: str) -> str:
    """Returns the text that a metadata field must equal. Numbers have the form of JSON in the service, such as 1 or 1e-7."""
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        raise create_field_error(name, "be a string, a number or a boolean; use filter for other conditions")
    if isinstance(value, float) and 0 < abs(value) < 1e-6:
        digits, _, exponent = repr(value).partition("e")
        return f"{digits}e{int(exponent)}"
    return to_parameter(value, name)


def _to_decimal(value: float) -> str:
    """Returns the shortest decimal without an exponent: 1.0 becomes 1."""
    text = format(Decimal(repr(value)), "f")
    return "0" if value == 0 else text.removesuffix(".0")


def _require_string(identifier: object) -> None:
    if not isinstance(identifier, str):
        raise create_field_error("id", f"be a string, but has the type {type(identifier).__name__}")


def to_json(value: Any, place: str) -> Any:
    """Returns a value that `json.dumps` accepts. `place` is the name of the field in errors.

    Raises:
        Invalid: The value has a datetime without a time zone, or an object that JSON cannot represent.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise create_field_error(place, "be a finite number")
        return value
    if isinstance(value, datetime):
        return to_time(value, place)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        raise create_field_error(place or "body", "be a string; decode the bytes, or encode them as base64")
    if isinstance(value, Filter):
        return to_json(value.to_json(), place)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return to_json(to_request_object({name: getattr(value, name) for name in names}), place)
    if isinstance(value, Mapping):
        return {str(key): to_json(inner, _join(place, key)) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(inner, _join(place, i)) for i, inner in enumerate(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    rule = f"be JSON, a date or a datetime, but has the type {type(value).__name__}; convert it, for example with str()"
    raise create_field_error(place or "body", rule)


def to_request_object(fields: Mapping[str, object]) -> dict[str, object]:
    """Returns the fields of a request object, without those that are None."""
    return {name.removesuffix("_"): value for name, value in fields.items() if value is not None}


def to_time(value: datetime, place: str) -> str:
    """Returns a time in ISO 8601, in UTC: the offset of a local time before 1900 has seconds, which are not allowed.

    Raises:
        Invalid: The datetime has no time zone, or is outside the years 1 to 9999 in UTC.
    """
    if value.utcoffset() is None:
        raise create_field_error(place, "have a time zone, such as datetime.now(timezone.utc)")
    try:
        return value.astimezone(timezone.utc).isoformat()
    except OverflowError:
        raise create_field_error(place, "be in the years 1 to 9999 in UTC") from None


def _join(place: str, name: object) -> str:
    return f"{place}/{name}" if place else str(name)


def _dump(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
