"""JSON becomes models by their type hints."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd import models
from memoryd._decode import DecodeError, decode, decode_json

SESSION = {"session_id": "s", "total": 1, "first_at": "2026-01-31T09:30:00.250Z", "last_at": "2026-01-31T09:30:00Z"}


def test_a_time_becomes_an_aware_datetime() -> None:
    session = decode(models.Session, SESSION)
    assert session.first_at == datetime(2026, 1, 31, 9, 30, 0, 250_000, tzinfo=timezone.utc)


@given(st.datetimes(timezones=st.just(timezone.utc)))
def test_a_time_with_milliseconds_is_read_unchanged(moment: datetime) -> None:
    exact = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    text = exact.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert decode(datetime, text) == exact


def test_a_time_with_another_offset_keeps_its_instant() -> None:
    moment = decode(datetime, "2026-01-31T10:30:00+01:00")
    assert moment == datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)
    assert moment.utcoffset() == timedelta(hours=1)


def test_an_unknown_field_is_ignored() -> None:
    assert decode(models.Session, {**SESSION, "color": "red"}) == decode(models.Session, SESSION)


def test_a_word_of_a_newer_service_is_kept() -> None:
    change = decode(models.ConsolidationChange, {"kind": "polished", "memory_id": "m"})
    assert str(change.kind) == "polished"


def test_a_field_that_is_absent_or_null_is_none() -> None:
    assert decode(models.Session, SESSION).user_id is None
    assert decode(models.MemoryText, get_text(held_until=None)).held_until is None


def get_text(**fields: Any) -> dict[str, Any]:
    return {"revision": 1, "content": "a", "held_from": "2026-01-31T09:30:00Z", "held_until": None, **fields}


def test_a_list_becomes_a_tuple_of_models() -> None:
    response = decode(models.SessionsResponse, {"sessions": [SESSION, SESSION], "total": 2})
    assert response.sessions == (decode(models.Session, SESSION),) * 2


def test_a_whole_number_becomes_a_float() -> None:
    score = decode(
        models.SimilarMemory, {"id": "m", "content": "a", "created_at": "2026-01-31T09:30:00Z", "score": 1}
    ).score
    assert (score, type(score)) == (1.0, float)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"total": "1"}, "/total must be of the type int, but is str"),
        ({"total": True}, "/total must be of the type int, but is bool"),
        ({"total": None}, "/total must be of the type int, but is NoneType"),
        ({"first_at": "yesterday"}, "/first_at must be a time in the years 1 to 9999"),
        ({"first_at": 7}, "/first_at must be of the type str, but is int"),
    ],
)
def test_a_field_of_another_type_is_an_error_that_names_it(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(models.Session, {**SESSION, **fields})


def test_an_absent_required_field_is_an_error_that_names_it() -> None:
    with pytest.raises(DecodeError, match="/sessions/0 must have the field total"):
        decode(models.SessionsResponse, {"sessions": [{"session_id": "s"}], "total": 1})


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "7", '"text"', "\ud800"])
def test_a_body_that_is_no_object_is_an_error(body: str) -> None:
    with pytest.raises(DecodeError):
        decode_json(models.Session, body)


def test_a_result_of_a_batch_is_a_stored_memory_or_an_error() -> None:
    error = {"code": "INVALID_REQUEST", "message": "content must be a string"}
    results = [{"id": "m", "status": "stored"}, {"error": error}]
    response = decode(models.StoreBatchResponse, {"results": results, "stored_count": 1, "failed_count": 1})
    assert [type(result) for result in response.results] == [models.StoreResponse, models.StoreBatchError]


def test_a_model_is_immutable() -> None:
    session = decode(models.Session, SESSION)
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.total = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists))
def test_any_metadata_is_read_unchanged(value: Any) -> None:
    text = json.dumps({"name": value})
    assert decode_json(dict[str, Any], text) == {"name": value}
