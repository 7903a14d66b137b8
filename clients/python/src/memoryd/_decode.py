"""Converts JSON to the dataclasses of `models`, as their type hints say."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from datetime import datetime, timezone
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class DecodeError(ValueError):
    """A value has another type than its type hint. The message names the field and the type."""


def decode_json(hint: type[T], body: bytes | str) -> T:
    """Parses JSON and converts it to a type. Raises `DecodeError` for another text or type."""
    try:
        value: object = json.loads(body)
    except ValueError as error:
        raise DecodeError("the body must be JSON") from error
    return decode(hint, value)


def decode(hint: type[T], value: object) -> T:
    """Converts a JSON value to a dataclass, ignoring fields that the class does not have. Raises `DecodeError`."""
    return typing.cast(T, _decode(hint, value, ""))


def _decode(hint: Any, value: Any, place: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is types.UnionType or origin is typing.Union:
        return _decode_union(typing.get_args(hint), value, place)
    if origin is tuple:
        items = _expect(list, value, place)
        item_hint = typing.get_args(hint)[0]
        return tuple(_decode(item_hint, item, f"{place}/{i}") for i, item in enumerate(items))
    if origin is dict:
        entries = _expect(dict, value, place)
        value_hint = typing.get_args(hint)[1]
        return {key: _decode(value_hint, inner, f"{place}/{key}") for key, inner in entries.items()}
    if origin is typing.Literal:
        # A newer service may know more words.
        word: object = typing.get_args(hint)[0]
        return _expect(type(word), value, place)
    return _decode_plain(hint, value, place)


def _decode_plain(hint: Any, value: Any, place: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _decode_object(hint, _expect(dict, value, place), place)
    if hint is Any:
        return value
    if hint is float and type(value) is int:
        return float(value)
    if hint is datetime:
        return _parse_time(_expect(str, value, place), place)
    return _expect(hint, value, place)


def _decode_object(hint: Any, value: dict[str, Any], place: str) -> Any:
    arguments: dict[str, Any] = {}
    for name, json_name, field_hint, is_required in _get_fields(hint):
        if json_name in value:
            arguments[name] = _decode(field_hint, value[json_name], f"{place}/{json_name}")
        elif is_required:
            raise DecodeError(f"{place or 'the body'} must have the field {json_name}")
    return hint(**arguments)


def _decode_union(hints: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and types.NoneType in hints:
        return None
    members = [hint for hint in hints if hint is not types.NoneType]
    if len(members) == 1:
        return _decode(members[0], value, place)
    for member in members:
        if dataclasses.is_dataclass(member) and _is_instance(member, value):
            return _decode(member, value, place)
    raise DecodeError(f"{place or 'the body'} must be one of {', '.join(member.__name__ for member in members)}")


def _is_instance(hint: Any, value: Any) -> bool:
    """Returns true if an object has the required fields and the words of a class."""
    if not isinstance(value, dict):
        return False
    for _name, json_name, field_hint, is_required in _get_fields(hint):
        if not is_required:
            continue
        if json_name not in value:
            return False
        if typing.get_origin(field_hint) is typing.Literal and value[json_name] not in typing.get_args(field_hint):
            return False
    return True


@cache
def _get_fields(hint: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    """Returns the name, the JSON name and the type hint of each field, and whether it is required."""
    hints = typing.get_type_hints(hint)
    return tuple(
        (field.name, field.name.removesuffix("_"), hints[field.name], field.default is dataclasses.MISSING)
        for field in dataclasses.fields(hint)
    )


def _parse_time(text: str, place: str) -> datetime:
    if text.startswith("0000-"):
        # The service knows the year 0. One such memory must not make whole lists unreadable.
        return datetime.min.replace(tzinfo=timezone.utc)
    try:
        # Python 3.10 does not know the zone Z.
        moment = datetime.fromisoformat(text.removesuffix("Z") + "+00:00" if text.endswith("Z") else text)
    except ValueError as error:
        raise DecodeError(f"{place} must be a time in the years 1 to 9999, such as 2026-01-31T09:30:00Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _expect(wanted: type, value: Any, place: str) -> Any:
    # True and False are integers in Python.
    if type(value) is wanted:
        return value
    raise DecodeError(f"{place or 'the body'} must be of the type {wanted.__name__}, but is {type(value).__name__}")
