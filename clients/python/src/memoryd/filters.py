"""A builder of filters, for the argument `filter` of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from .errors import Invalid

__all__ = ["F", "Fields", "Filter", "FilterLike", "Scalar"]

Scalar: TypeAlias = str | int | float | bool | None
"""A value of a metadata field that a filter compares with."""

V = TypeVar("V")


class Filter:
    """A condition on memories. Build filters with `F`, and join them with `&`, `|` and `~`.

    The service limits a filter to 64 comparisons, 6 levels and 8,192 bytes, and refuses others with `Invalid`.

    Example:
        >>> (F.tag == "receipt") & (F.metadata["price"]["amount"] >= 100)
        Filter({'$and': [{'tag': {'$eq': 'receipt'}}, {'metadata.price.amount': {'$gte': 100}}]})
    """

    __slots__ = ("_json",)

    def __init__(self, json: Mapping[str, Any]) -> None:
        """Wraps a filter in the form of the REST interface, such as `{"tag": "receipt"}`."""
        self._json = dict(json)

    def to_json(self) -> dict[str, Any]:
        """Returns the filter in the form of the REST interface."""
        return dict(self._json)

    def __and__(self, other: FilterLike) -> Filter:
        """Both filters match."""
        return Filter({"$and": [*_get_parts(self, "$and"), *_get_parts(other, "$and")]})

    def __or__(self, other: FilterLike) -> Filter:
        """At least one of both filters matches."""
        return Filter({"$or": [*_get_parts(self, "$or"), *_get_parts(other, "$or")]})

    def __rand__(self, other: Mapping[str, Any]) -> Filter:
        return Filter(other) & self

    def __ror__(self, other: Mapping[str, Any]) -> Filter:
        return Filter(other) | self

    def __invert__(self) -> Filter:
        """The filter does not match."""
        return Filter({"$not": self._json})

    def __bool__(self) -> bool:
        raise TypeError("a filter has no truth value; use & instead of and, | instead of or, ~ instead of not")

    def __repr__(self) -> str:
        return f"Filter({self._json!r})"


FilterLike: TypeAlias = Filter | Mapping[str, Any]
"""A filter of `F`, or the same as a dict in the form of the REST interface."""


def _get_parts(each: FilterLike, operator: str) -> list[Any]:
    """Returns the parts of a filter that already joins with the operator. The service limits the depth of filters."""
    fields = each.to_json() if isinstance(each, Filter) else dict(each)
    return list(fields[operator]) if list(fields) == [operator] else [fields]


class Field(Generic[V]):
    """A field of memories. Comparisons with a value return a `Filter`."""

    __slots__ = ("_name",)
    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    def __init__(self, name: str) -> None:
        self._name = name

    def _test(self, operator: str, value: object) -> Filter:
        return Filter({self._name: {operator: value}})

    def __eq__(self, value: V) -> Filter:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """The field has the value. A memory without the field does not match."""
        return self._test("$eq", value)

    def __ne__(self, value: V) -> Filter:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """The field does not have the value. A memory without the field matches."""
        return self._test("$ne", value)

    def in_(self, values: Iterable[V]) -> Filter:
        """The field has one of the values, of which there must be at least one."""
        return self._test("$in", _to_list(values))

    def not_in(self, values: Iterable[V]) -> Filter:
        """The field has none of the values. A memory without the field matches."""
        return self._test("$nin", _to_list(values))

    def exists(self, is_present: bool = True) -> Filter:
        """The field has a value. With False, it has none."""
        return self._test("$exists", is_present)

    def __repr__(self) -> str:
        return f"F.{self._name}"


class OrderedField(Field[V]):
    """A field whose values have an order. A value of another type does not match."""

    __slots__ = ()

    def __lt__(self, value: V) -> Filter:
        return self._test("$lt", value)

    def __le__(self, value: V) -> Filter:
        return self._test("$lte", value)

    def __gt__(self, value: V) -> Filter:
        return self._test("$gt", value)

    def __ge__(self, value: V) -> Filter:
        return self._test("$gte", value)


class TextField(OrderedField[V]):
    """A field with a text."""

    __slots__ = ()

    def prefix(self, start: str) -> Filter:
        """The text starts with `start`."""
        return self._test("$prefix", start)


class TagsField(TextField[str]):
    """The tags of a memory. A comparison matches if one of the tags matches."""

    __slots__ = ()

    def contains(self, tag: str) -> Filter:
        """The memory has the tag."""
        return self._test("$contains", tag)


class MetadataField(Field[Scalar]):
    """A field of the metadata of memories. Brackets select a field inside it: `F.metadata["price"]["amount"]`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> MetadataField:
        """Returns a field of this object. Raises `Invalid` for a name with a dot, which filters cannot contain."""
        return MetadataField(f"{self._name}.{_to_name(name)}")

    def __lt__(self, value: str | float) -> Filter:
        return self._test("$lt", value)

    def __le__(self, value: str | float) -> Filter:
        return self._test("$lte", value)

    def __gt__(self, value: str | float) -> Filter:
        return self._test("$gt", value)

    def __ge__(self, value: str | float) -> Filter:
        return self._test("$gte", value)

    def prefix(self, start: str) -> Filter:
        """The value is a text that starts with `start`."""
        return self._test("$prefix", start)

    def contains(self, element: Scalar) -> Filter:
        """The value is a list with this element."""
        return self._test("$contains", element)


class Metadata:
    """The metadata of memories. Brackets select a field: `F.metadata["room"]`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> MetadataField:
        """Returns a field of the metadata. Raises `Invalid` for a name with a dot, which filters cannot contain."""
        return MetadataField(f"metadata.{_to_name(name)}")


def _to_list(values: Iterable[V]) -> list[V]:
    # The characters of a text would be values, and most memories would not have them.
    if isinstance(values, str):
        raise Invalid("the values of a filter must be a list, such as [value]")
    return list(values)


def _to_name(name: str) -> str:
    if "." in name:
        fix = 'use F.metadata["a"]["b"] for nested fields, and the argument metadata for a name with a dot'
        raise Invalid(f"the name of a metadata field in a filter must not contain a dot; {fix}")
    return name


class Fields:
    """The fields that filters can compare. Use the object `F`."""

    __slots__ = ()

    tag = TagsField("tag")
    source = TextField[str]("source")
    session_id = TextField[str]("session_id")
    external_id = TextField[str]("external_id")
    tier = TextField[Literal["working", "episodic", "semantic"]]("tier")
    importance = OrderedField[float]("importance")
    created_at = OrderedField[datetime | date]("created_at")
    updated_at = OrderedField[datetime | date]("updated_at")
    valid_from = OrderedField[datetime | date]("valid_from")
    valid_to = OrderedField[datetime | date]("valid_to")
    metadata = Metadata()


F = Fields()
"""Builds filters: `(F.tag == "a") & (F.created_at >= datetime(2026, 1, 1, tzinfo=timezone.utc))`.

A datetime needs a time zone. A date is its first instant in UTC.
"""
