"""Filters of the builder `F`."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from memoryd import F, Filter, Invalid, Memory
from memoryd.filters import FilterLike

MOMENT = datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)

FORMS: list[tuple[Filter, dict[str, Any]]] = [
    (F.tag == "a", {"tag": {"$eq": "a"}}),
    (F.tag != "a", {"tag": {"$ne": "a"}}),
    (F.tag.contains("a"), {"tag": {"$contains": "a"}}),
    (F.tag.prefix("a"), {"tag": {"$prefix": "a"}}),
    (F.source.in_(["mail", "chat"]), {"source": {"$in": ["mail", "chat"]}}),
    (F.source.not_in(["mail"]), {"source": {"$nin": ["mail"]}}),
    (F.tier == "working", {"tier": {"$eq": "working"}}),
    (F.external_id.exists(), {"external_id": {"$exists": True}}),
    (F.external_id.exists(False), {"external_id": {"$exists": False}}),
    (F.session_id.prefix("chat:"), {"session_id": {"$prefix": "chat:"}}),
    (F.importance < 0.5, {"importance": {"$lt": 0.5}}),
    (F.importance <= 0.5, {"importance": {"$lte": 0.5}}),
    (F.importance > 0.5, {"importance": {"$gt": 0.5}}),
    (F.importance >= 0.5, {"importance": {"$gte": 0.5}}),
    (F.created_at >= MOMENT, {"created_at": {"$gte": MOMENT}}),
    (F.updated_at < date(2026, 1, 31), {"updated_at": {"$lt": date(2026, 1, 31)}}),
    (F.valid_to.exists(), {"valid_to": {"$exists": True}}),
    (F.valid_from == MOMENT, {"valid_from": {"$eq": MOMENT}}),
    (F.metadata["room"] == "1", {"metadata.room": {"$eq": "1"}}),
    (F.metadata["price"]["amount"] >= 100, {"metadata.price.amount": {"$gte": 100}}),
    (F.metadata["price"]["amount"] < 100, {"metadata.price.amount": {"$lt": 100}}),
    (F.metadata["price"]["amount"] > 1, {"metadata.price.amount": {"$gt": 1}}),
    (F.metadata["price"]["amount"] <= 1, {"metadata.price.amount": {"$lte": 1}}),
    (F.metadata["paid"] == None, {"metadata.paid": {"$eq": None}}),  # noqa: E711
    (F.metadata["names"].contains("Ada"), {"metadata.names": {"$contains": "Ada"}}),
    (F.metadata["name"].prefix("A"), {"metadata.name": {"$prefix": "A"}}),
    ((F.tag == "a") & (F.tag == "b"), {"$and": [{"tag": {"$eq": "a"}}, {"tag": {"$eq": "b"}}]}),
    ((F.tag == "a") | (F.tag == "b"), {"$or": [{"tag": {"$eq": "a"}}, {"tag": {"$eq": "b"}}]}),
    (~(F.tag == "a"), {"$not": {"tag": {"$eq": "a"}}}),
    ((F.tag == "a") & {"source": "mail"}, {"$and": [{"tag": {"$eq": "a"}}, {"source": "mail"}]}),
    ({"source": "mail"} | (F.tag == "a"), {"$or": [{"source": "mail"}, {"tag": {"$eq": "a"}}]}),
]


@pytest.mark.parametrize(("built", "form"), FORMS, ids=lambda value: str(value))
def test_a_filter_has_the_form_of_the_rest_interface(built: Filter, form: dict[str, Any]) -> None:
    assert built.to_json() == form


@pytest.mark.parametrize("built", [built for built, _ in FORMS], ids=str)
def test_the_service_accepts_the_filter(memory: Memory, built: Filter) -> None:
    assert memory.recall("anything", filter=built).results == ()
    assert memory.memories(filter=built).total == 0


def test_a_chain_of_one_operator_stays_flat() -> None:
    built = (F.tag == "a") & (F.tag == "b") & (F.tag == "c")
    assert len(built.to_json()["$and"]) == 3


def test_a_filter_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="use & instead of and"):
        bool(F.tag == "a")
    with pytest.raises(TypeError, match="use & instead of and"):
        assert 1 < F.importance < 2  # pyright: ignore[reportOperatorIssue]


CONTENTS = ["cheap tea", "dear tea", "coffee"]


@pytest.fixture
def shop(memory: Memory) -> Memory:
    """Three memories that differ in each field of a filter."""
    for i, content in enumerate(CONTENTS):
        memory.store(
            content,
            tags=["tea" if "tea" in content else "coffee", f"n{i}"],
            source=f"source-{i}",
            importance=i / 4,
            external_id=f"id:{i}" if i > 0 else None,
            created_at=MOMENT + timedelta(days=i),
            metadata={
                "price": {"amount": i * 100},
                "names": ["Ada"] if i == 1 else [],
                "paid": None if i == 2 else True,
            },
        )
    return memory


SELECTIONS: list[tuple[FilterLike, FilterLike, list[int]]] = [
    (F.tag == "tea", {"tag": "tea"}, [0, 1]),
    (F.tag != "tea", {"tag": {"$ne": "tea"}}, [2]),
    (F.source.in_(["source-0", "source-2"]), {"source": {"$in": ["source-0", "source-2"]}}, [0, 2]),
    (F.external_id.exists(), {"external_id": {"$exists": True}}, [1, 2]),
    (F.importance >= 0.25, {"importance": {"$gte": 0.25}}, [1, 2]),
    (F.created_at < MOMENT + timedelta(days=1), {"created_at": {"$lt": "2026-02-01T09:30:00Z"}}, [0]),
    (F.created_at >= date(2026, 2, 1), {"created_at": {"$gte": "2026-02-01"}}, [1, 2]),
    (F.metadata["price"]["amount"] >= 100, {"metadata.price.amount": {"$gte": 100}}, [1, 2]),
    (F.metadata["names"].contains("Ada"), {"metadata.names": {"$contains": "Ada"}}, [1]),
    (F.metadata["paid"] == None, {"metadata.paid": None}, [2]),  # noqa: E711
    (
        (F.tag == "tea") & ~(F.metadata["price"]["amount"] == 0),
        {"tag": "tea", "$not": {"metadata.price.amount": 0}},
        [1],
    ),
    ((F.tag == "n0") | (F.tag == "n2"), {"$or": [{"tag": "n0"}, {"tag": "n2"}]}, [0, 2]),
]


@pytest.mark.parametrize(("built", "written", "expected"), SELECTIONS, ids=lambda value: str(value))
def test_a_filter_selects_the_same_memories_as_the_dict(
    shop: Memory, built: FilterLike, written: FilterLike, expected: list[int]
) -> None:
    wanted = {CONTENTS[i] for i in expected}
    for each in (built, written):
        assert {memory.content for memory in shop.memories(filter=each).memories} == wanted
        recalled = shop.recall("cheap dear tea coffee", filter=each)
        assert {result.content for result in recalled.results} == wanted


def test_metadata_selects_by_equality_in_a_query_and_together_with_a_filter(shop: Memory) -> None:
    shop.store("green tea", metadata={"room": 7, "open": True})
    for options in ({"room": "7"}, {"room": 7}, {"open": True}):
        assert [each.content for each in shop.memories(metadata=options).memories] == ["green tea"]
        assert [each.content for each in shop.recall("tea", metadata=options).results] == ["green tea"]
        both = shop.recall("tea", metadata=options, tag="none", filter=F.importance >= 0)
        assert both.results == ()
        assert len(shop.recall("tea", metadata=options, filter=F.importance >= 0).results) == 1


def test_forget_many_takes_a_filter(shop: Memory) -> None:
    assert shop.forget_many(filter=F.metadata["price"]["amount"] >= 100).forgotten_count == 2
    assert [each.content for each in shop.each_memory()] == ["cheap tea"]


def test_an_invalid_filter_is_an_error_that_names_the_place(memory: Memory) -> None:
    with pytest.raises(Invalid, match=r"filter\.metadata\.\.\$eq|between all dots") as caught:
        memory.memories(filter=F.metadata[""] == 1)
    assert caught.value.status == 400
    assert caught.value.details[0].path.startswith("/filter")
    with pytest.raises(Invalid, match=r"created_at.*must have a time zone"):
        memory.memories(filter=F.created_at >= datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(Invalid, match="must be a finite number"):
        memory.recall("a", filter=F.importance > float("nan"))
