"""Filters of LangGraph: their exact meaning, and the part of it that the service evaluates.

A filter compares top-level fields of a value: with a value, or by `$eq`, `$ne`, `$gt`, `$gte`, `$lt` and `$lte`. The
rules are those of `InMemoryStore`, except where it raises for a stored value that has no order with the operand: such a
value does not match. Two texts that are not both numbers are compared by their characters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ._items import MAX_SAFE_INTEGER, VALUE, VALUE_FORM, is_array, is_object, is_storable

Condition: TypeAlias = dict[str, Any]
"""A filter in the form of the REST interface."""

MAX_CONDITIONS = 48
"""Maximum number of comparisons that are left to the service, which accepts 64 in one filter."""
MAX_CONDITION_BYTES = 3000
"""Maximum size of the conditions that are left to the service, which accepts filters of 8 KiB. The comparisons of the owner
and the namespace need the rest."""
MAX_FIELD_CHARS = 200

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda value, operand: value > operand,
    "$gte": lambda value, operand: value >= operand,
    "$lt": lambda value, operand: value < operand,
    "$lte": lambda value, operand: value <= operand,
}


def check_filter(conditions: Mapping[str, Any] | None) -> None:
    """Raises ValueError for a filter with an unknown operator, or with an operand that has no order."""
    for field, condition in (conditions or {}).items():
        for operator, operand in _get_operators(condition).items():
            if operator in {"$eq", "$ne"}:
                continue
            if operator not in _COMPARISONS:
                known = ", ".join(["$eq", "$ne", *_COMPARISONS])
                raise ValueError(f"filter.{field} must use one of the operators {known}, not {operator}")
            if not isinstance(operand, (str, int, float)):
                raise ValueError(f"filter.{field}.{operator} must be a number or a string")


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Returns whether the value of an item matches a filter."""
    return all(_matches_field(value.get(field), condition) for field, condition in (conditions or {}).items())


def to_service_conditions(conditions: Mapping[str, Any] | None) -> list[Condition]:
    """Returns conditions of the service that every matching item meets. Other items may meet them too.

    Conditions that the service cannot evaluate are left out.
    """
    kept: list[Condition] = []
    size = 0
    for field, condition in (conditions or {}).items():
        if not field or "." in field or len(field) > MAX_FIELD_CHARS or not is_storable(field):
            continue
        path = f"metadata.{VALUE}.{field}"
        operators = _get_operators(condition) or {"$eq": condition}
        for operator, operand in operators.items():
            alternatives = _to_alternatives(path, operator, operand)
            if alternatives is None:
                continue
            # The service does not see the fields of values in another form.
            part: Condition = {"$or": [*alternatives, {f"metadata.{VALUE_FORM}": {"$ne": "object"}}]}
            size += len(json.dumps(part))
            if size > MAX_CONDITION_BYTES or 4 * (len(kept) + 1) > MAX_CONDITIONS:
                return kept
            kept.append(part)
    return kept


def _get_operators(condition: object) -> Mapping[str, Any]:
    """Returns the operators of a condition. Empty if the condition is a value."""
    if is_object(condition) and any(name.startswith("$") for name in condition):
        return condition
    return {}


def _matches_field(value: object, condition: object) -> bool:
    operators = _get_operators(condition)
    if operators:
        return all(_meets(value, operator, operand) for operator, operand in operators.items())
    if is_object(condition):
        return is_object(value) and all(_matches_field(value.get(name), inner) for name, inner in condition.items())
    if is_array(condition):
        return is_array(value) and len(value) == len(condition) and all(map(_matches_field, value, condition))
    return bool(value == condition)


def _meets(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    compare = _COMPARISONS[operator]
    number, limit = _to_number(value), _to_number(operand)
    if number is not None and limit is not None:
        return compare(number, limit)
    if isinstance(value, str) and isinstance(operand, str):
        return compare(value, operand)
    return False


def _to_number(value: Any) -> float | None:
    """Returns a number, also of a text that is one."""
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _to_alternatives(path: str, operator: str, operand: Any) -> list[Condition] | None:
    """Returns conditions of which each matching value that is stored as an object meets one. None if there are none."""
    if operator == "$eq":
        values = _to_equal_scalars(operand)
        if values is None:
            return None
        missing: list[Condition] = [{path: {"$exists": False}}] if operand is None else []
        return [{path: {"$in": values}}, *missing]
    if operator == "$ne":
        values = _to_equal_scalars(operand)
        # A missing field counts as None.
        if values is None or operand is None:
            return None
        return [{path: {"$nin": values}}]
    if isinstance(operand, str):
        # Texts that are numbers are compared with numbers.
        if _to_number(operand) is not None or not _is_scalar(operand):
            return None
        return [{path: {operator: operand}}]
    if not _is_scalar(operand):
        return None
    return [{path: {operator: operand + 0}}, {path: {"$prefix": ""}}, {path: {"$in": [True, False]}}]


def _to_equal_scalars(value: Any) -> list[Any] | None:
    """Returns the JSON scalars that Python considers equal to a value, such as `1` and `true`."""
    if not _is_scalar(value):
        return None
    for truth in (False, True):
        if value == truth:
            return [truth, int(truth)]
    return [value]


def _is_scalar(value: Any) -> bool:
    """Returns whether the service accepts a value in a filter."""
    if isinstance(value, str):
        return len(value) <= MAX_CONDITION_BYTES and is_storable(value)
    if isinstance(value, float):
        return math.isfinite(value) and abs(value) <= MAX_SAFE_INTEGER
    if isinstance(value, int):
        return abs(value) <= MAX_SAFE_INTEGER
    return value is None
