"""Tests of the stores of LangGraph. The contract also runs against LangGraph's own `InMemoryStore`."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memoryd import Administration, AsyncMemory, Forbidden, Memory
from memoryd.langgraph import AsyncMemorydStore, MemorydStore
from service import StartService


@pytest.fixture(params=["reference", "synchronous", "asynchronous"])
def store(request: pytest.FixtureRequest, memory: Memory, async_memory: AsyncMemory) -> BaseStore:
    """A store of each kind, without items. The contract of the tests holds for all of them."""
    match request.param:
        case "reference":
            return InMemoryStore()
        case "synchronous":
            return MemorydStore(memory)
        case _:
            return AsyncMemorydStore(async_memory)


def to_values(items: list[SearchItem]) -> dict[str, Any]:
    return {item.key: item.value for item in items}


VALUES: dict[str, dict[str, Any]] = {
    "empty": {},
    "nested": {"a": {"b": [{"c": None}, [], {}, [1, [2, [3]]]]}, "d": True, "e": False},
    "unicode": {"größe": "日本語 👩‍👩‍👧 \u202e", "": "empty name", "a.b": "dot", "$gt": "operator"},
    "controls": {"text": "a\0b\x1f\n\r\u2028", "lone surrogate": "\ud83d", "\0": "name"},
    "integers": {"max": 2**53 - 1, "above": 2**53 + 1, "huge": 10**40, "negative": -(2**70), "zero": 0},
    "floats": {"whole": 1.0, "small": 5e-324, "large": 1.7976931348623157e308, "sum": 0.1 + 0.2, "minus": -0.0},
    "names": {"10": "a", "9": "b", "x": "c", "__proto__": {"polluted": True}, "constructor": 1},
    "deep": {"value": json.loads("[" * 100 + "]" * 100)},
    "text": {"text": "é" * 7_000},
    "large": {"text": 'a "quoted" line\n' * 4_000, "list": list(range(3_000))},
}


async def test_get_and_search_return_values_exactly(store: BaseStore) -> None:
    for name, value in VALUES.items():
        await store.aput(("values",), name, value)
        item = await store.aget(("values",), name)
        assert item is not None
        assert json.dumps(item.value) == json.dumps(value)
        assert (item.namespace, item.key) == (("values",), name)
    found = await store.asearch(("values",), limit=len(VALUES))
    assert {item.key: json.dumps(item.value) for item in found} == {
        name: json.dumps(value) for name, value in VALUES.items()
    }


async def test_get_returns_none_for_an_unknown_item(store: BaseStore) -> None:
    await store.aput(("a",), "key", {"n": 1})
    assert await store.aget(("a",), "other") is None
    assert await store.aget(("b",), "key") is None
    assert await store.aget(("a", "key"), "") is None


async def test_put_replaces_the_whole_value(store: BaseStore) -> None:
    await store.aput(("a",), "key", {"old": 1, "both": 1})
    await store.aput(("a",), "key", {"new": 2, "both": 2})
    item = await store.aget(("a",), "key")
    assert item is not None
    assert item.value == {"new": 2, "both": 2}
    assert len(await store.asearch(("a",))) == 1


async def test_put_replaces_a_value_of_another_size(store: BaseStore) -> None:
    for name in ("large", "nested", "large", "text"):
        await store.aput(("a",), "key", VALUES[name])
        item = await store.aget(("a",), "key")
        assert item is not None
        assert item.value == VALUES[name]


async def test_delete_removes_one_item(store: BaseStore) -> None:
    await store.aput(("a",), "key", {"n": 1})
    await store.aput(("a",), "other", {"n": 2})
    await store.adelete(("a",), "key")
    await store.adelete(("a",), "unknown")
    assert await store.aget(("a",), "key") is None
    assert to_values(await store.asearch(())) == {"other": {"n": 2}}


async def test_batch_returns_one_result_per_operation_in_order(store: BaseStore) -> None:
    await store.abatch([PutOp(("a",), "one", {"n": 1}), PutOp(("b",), "two", {"n": 2})])
    got, listed, nothing, unknown, found, again = await store.abatch(
        [
            GetOp(("b",), "two"),
            ListNamespacesOp(),
            PutOp(("c",), "three", {"n": 3}),
            GetOp(("c",), "unknown"),
            SearchOp(("a",)),
            GetOp(("b",), "two"),
        ]
    )
    assert isinstance(got, Item)
    assert isinstance(again, Item)
    assert got.value == again.value == {"n": 2}
    assert listed == [("a",), ("b",)]
    assert nothing is unknown is None
    assert isinstance(found, list)
    assert [item.key for item in found if isinstance(item, SearchItem)] == ["one"]


async def test_batch_reads_the_state_before_its_puts(store: BaseStore) -> None:
    await store.aput(("a",), "key", {"n": 1})
    _, got, found = await store.abatch([PutOp(("a",), "key", {"n": 2}), GetOp(("a",), "key"), SearchOp(("a",))])
    assert isinstance(got, Item)
    assert got.value == {"n": 1}
    assert isinstance(found, list)
    assert isinstance(found[0], SearchItem)
    assert found[0].value == {"n": 1}
    item = await store.aget(("a",), "key")
    assert item is not None
    assert item.value == {"n": 2}


async def test_batch_keeps_the_last_put_of_an_item(store: BaseStore) -> None:
    await store.abatch(
        [
            PutOp(("a",), "stays", None),
            PutOp(("a",), "stays", {"n": 1}),
            PutOp(("a",), "stays", {"n": 2}),
            PutOp(("a",), "goes", {"n": 3}),
            PutOp(("a",), "goes", None),
        ]
    )
    assert to_values(await store.asearch(("a",))) == {"stays": {"n": 2}}


async def test_batch_stores_many_items(store: BaseStore) -> None:
    await store.abatch([PutOp(("many", str(n % 7)), str(n), {"n": n}) for n in range(250)])
    gets: list[Op] = [GetOp(("many", str(n % 7)), str(n)) for n in range(250)]
    items = await store.abatch(gets)
    assert [item.value["n"] for item in items if isinstance(item, Item)] == list(range(250))
    assert len(await store.asearch(("many",), limit=1000)) == 250


async def test_search_finds_the_namespace_and_those_below_it(store: BaseStore) -> None:
    for namespace in [("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b", "a"), ("A",), ("a%",), ("a_",)]:
        await store.aput(namespace, ".".join(namespace), {})
    assert set(to_values(await store.asearch(("a",)))) == {"a", "a.b", "a.b.c"}
    assert set(to_values(await store.asearch(("a", "b")))) == {"a.b", "a.b.c"}
    assert set(to_values(await store.asearch(("a%",)))) == {"a%"}
    assert len(await store.asearch((), limit=100)) == 8
    assert await store.asearch(("unknown",)) == []


async def test_search_returns_each_item_on_one_page(store: BaseStore) -> None:
    await store.abatch([PutOp(("a",), str(n), {"even": n % 2 == 0}) for n in range(25)])
    for conditions, expected in [(None, 25), ({"even": True}, 13)]:
        pages = [await store.asearch(("a",), filter=conditions, limit=7, offset=offset) for offset in range(0, 28, 7)]
        keys = [item.key for page in pages for item in page]
        assert len(keys) == len(set(keys)) == expected
    assert await store.asearch(("a",), limit=0) == []
    assert await store.asearch(("a",), offset=25) == []


ITEMS: dict[str, dict[str, Any]] = {
    "red": {"color": "red", "size": 1, "new": True, "tags": ["a", "b"], "origin": {"city": "Oslo", "year": 1990}},
    "blue": {"color": "blue", "size": 2.5, "new": False, "tags": [], "origin": {"city": "Rome"}},
    "none": {"color": None, "size": 3},
    "whole": {"color": "red", "size": 2.0, "text": "x" * 20_000},
    "dotted": {"color.main": "red", "size": -1, "color": "Red"},
}


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"color": "red"}, {"red", "whole"}),
    ({"color": {"$eq": "red"}}, {"red", "whole"}),
    ({"color": {"$ne": "red"}}, {"blue", "none", "dotted"}),
    ({"color": None}, {"none"}),
    ({"new": None}, {"none", "whole", "dotted"}),
    ({"new": {"$ne": None}}, {"red", "blue"}),
    ({"color": "red", "size": 1}, {"red"}),
    ({"size": {"$gt": 1}}, {"blue", "none", "whole"}),
    ({"size": {"$gte": 2}}, {"blue", "none", "whole"}),
    ({"size": {"$lt": 2.5}}, {"red", "whole", "dotted"}),
    ({"size": {"$lte": 2.5, "$gt": 1}}, {"blue", "whole"}),
    ({"size": 2}, {"whole"}),
    ({"new": True}, {"red"}),
    ({"new": {"$ne": True}}, {"blue", "none", "whole", "dotted"}),
    ({"tags": ["a", "b"]}, {"red"}),
    ({"tags": ["b", "a"]}, set()),
    ({"origin": {"city": "Oslo"}}, {"red"}),
    ({"origin": {"city": "Oslo", "year": {"$lt": 2000}}}, {"red"}),
    ({"color.main": "red"}, {"dotted"}),
    ({"missing": "x"}, set()),
    ({}, set(ITEMS)),
]


async def test_search_applies_filters(store: BaseStore) -> None:
    await store.abatch([PutOp(("items",), key, value) for key, value in ITEMS.items()])
    for conditions, expected in FILTERS:
        assert set(to_values(await store.asearch(("items",), filter=conditions))) == expected, conditions


async def test_search_refuses_an_unknown_operator(store: BaseStore) -> None:
    await store.aput(("a",), "key", {"n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        await store.asearch(("a",), filter={"n": {"$near": 1}})


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "x"),
    ("b", "x", "c"),
    ("l" * 300, "c"),
]


LISTS: list[dict[str, Any]] = [
    {},
    {"prefix": ("a",)},
    {"prefix": ("a", "*", "d")},
    {"prefix": ("*", "x")},
    {"suffix": ("c",)},
    {"suffix": ("d", "*")},
    {"prefix": ("a",), "suffix": ("c",)},
    {"prefix": ("a", "b", "c", "longer")},
    {"max_depth": 2},
    {"prefix": ("a", "b"), "max_depth": 3},
    {"limit": 2, "offset": 1},
    {"max_depth": 1, "offset": 1},
    {"prefix": ("l" * 300,)},
    {"limit": 0},
]


async def test_list_namespaces_equals_the_reference(store: BaseStore) -> None:
    reference = InMemoryStore()
    for each in (store, reference):
        await each.abatch([PutOp(namespace, str(n), {}) for namespace in NAMESPACES for n in range(2)])
    for arguments in LISTS:
        assert await store.alist_namespaces(**arguments) == reference.list_namespaces(**arguments), arguments


async def test_operations_refuse_an_invalid_label(store: BaseStore) -> None:
    for namespace in [("a.b",), ("",), ("a", ""), ("a\0",)]:
        for call in (store.aput(namespace, "key", {}), store.aget(namespace, "key"), store.asearch(namespace)):
            with pytest.raises(InvalidNamespaceError):
                await call


labels = st.text(st.characters(exclude_characters=".\0", exclude_categories=["Cs"]), min_size=1, max_size=3)
namespaces = st.lists(st.sampled_from(["a", "b", "a:", "/"]) | labels, min_size=1, max_size=3).map(tuple)
keys = st.sampled_from(["k", "a.k", "..", ".a", "", "a:..k"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["", "a", "1", "-2.5"])
)
fields = st.sampled_from(["x", "y", "10", "x.y"])
values = st.dictionaries(fields, scalars | st.lists(scalars, max_size=2) | st.dictionaries(fields, scalars, max_size=2))
small_scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1", 1.0, 0.5])
equal = small_scalars | st.dictionaries(st.sampled_from(["$eq", "$ne"]), small_scalars, min_size=1)
conditions = st.none() | st.dictionaries(fields, equal, max_size=2)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.lists(st.tuples(namespaces, keys, st.none() | values), max_size=5), max_size=4),
    searches=st.lists(st.tuples(namespaces, st.integers(0, 3), conditions), max_size=4),
)
def test_any_sequence_of_operations_equals_the_reference(
    url: str,
    changes: list[list[tuple[tuple[str, ...], str, dict[str, Any] | None]]],
    searches: list[tuple[tuple[str, ...], int, dict[str, Any] | None]],
) -> None:
    with Memory(url) as memory:
        store = MemorydStore(memory.scope(user_id=str(uuid.uuid4())))
        reference = InMemoryStore()
        for change in changes:
            puts: list[Op] = [PutOp(*put) for put in change]
            assert store.batch(puts) == reference.batch(puts)
        put = {(namespace, key) for change in changes for namespace, key, _ in change}
        gets: list[Op] = [GetOp(namespace, key) for namespace, key in sorted(put)]
        for item, expected in zip(store.batch(gets), reference.batch(gets), strict=True):
            assert to_comparable(item) == to_comparable(expected)
        for namespace, length, condition in searches:
            prefix = namespace[:length]
            found = store.search(prefix, filter=condition, limit=100)
            expected_items = reference.search(prefix, filter=condition, limit=100)
            assert sorted(map(to_comparable, found)) == sorted(map(to_comparable, expected_items))
        living = {item.namespace for item in reference.search((), limit=1000)}
        assert store.list_namespaces(limit=1000) == sorted(living)


def to_comparable(item: object) -> tuple[object, ...]:
    # JSON, because 1 == 1.0 == True.
    return (item.namespace, item.key, json.dumps(item.value)) if isinstance(item, Item) else ()


# Behavior that only memoryd's stores have.


@pytest.fixture
def own(memory: Memory) -> MemorydStore:
    return MemorydStore(memory)


def test_overwriting_keeps_the_time_of_creation(own: MemorydStore) -> None:
    own.put(("a",), "key", {"n": 1})
    first = own.get(("a",), "key")
    assert first is not None
    assert first.created_at.tzinfo is not None
    assert first.created_at <= first.updated_at
    wait_for_next_millisecond(first)
    own.put(("a",), "key", {"n": 1})
    second = own.get(("a",), "key")
    assert second is not None
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


def wait_for_next_millisecond(item: Item) -> None:
    while datetime.now(timezone.utc) - item.updated_at < timedelta(milliseconds=2):
        pass


def test_search_without_a_query_lists_the_latest_created_item_first(own: MemorydStore) -> None:
    for key in ("first", "second", "third"):
        own.put(("a",), key, {})
        item = own.get(("a",), key)
        assert item is not None
        wait_for_next_millisecond(item)
    own.put(("a",), "first", {"changed": True})
    assert [item.key for item in own.search(("a",))] == ["third", "second", "first"]


def test_search_with_a_query_returns_the_best_item_first_with_its_score(own: MemorydStore) -> None:
    own.put(("notes",), "tea", {"text": "Ada drinks green tea in the morning"})
    own.put(("notes",), "car", {"text": "The red car needs new tires"})
    own.put(("other",), "tea", {"text": "Green tea comes from China"})
    found = own.search(("notes",), query="Who drinks green tea?")
    assert found[0].key == "tea"
    assert all(item.namespace == ("notes",) for item in found)
    scores = [item.score for item in found]
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, key=lambda score: score or 0, reverse=True)


def test_search_with_a_query_applies_filter_limit_and_offset(own: MemorydStore) -> None:
    own.batch([PutOp(("notes",), str(n), {"text": f"green tea number {n}", "n": float(n)}) for n in range(12)])
    found = own.search(("notes",), query="green tea", filter={"n": {"$gte": 4}}, limit=5)
    rest = own.search(("notes",), query="green tea", filter={"n": {"$gte": 4}}, limit=5, offset=5)
    assert len(found) == 5
    assert sorted(item.value["n"] for item in [*found, *rest]) == list(range(4, 12))


def test_search_with_a_query_finds_only_indexed_fields(own: MemorydStore) -> None:
    value = {"title": "walnut", "pages": [{"text": "hazelnut"}, {"text": "almond"}], "secret": "peanut"}
    own.put(("nuts",), "some", value, index=["title", "pages[*].text"])
    own.put(("nuts",), "hidden", value, index=False)
    for word, expected in [("walnut", ["some"]), ("almond", ["some"])]:
        assert [item.key for item in own.search((), query=word)] == expected
    indexed = own.search((), query="walnut")
    assert "hidden" not in to_values(indexed)
    assert set(to_values(own.search(()))) == {"some", "hidden"}


def test_fields_of_a_store_limit_the_index(memory: Memory) -> None:
    store = MemorydStore(memory, fields=["title"])
    store.put(("a",), "key", {"title": "walnut", "body": "peanut"})
    (row,) = memory.memories().memories
    assert row.content == "walnut"


def test_search_finds_by_meaning(url_by_meaning: str, user_id: str) -> None:
    with Memory(url_by_meaning) as memory:
        store = MemorydStore(memory.scope(user_id=user_id), fields=["text"])
        store.put(("notes",), "pet", {"text": "My dog sleeps on the sofa"})
        store.put(("notes",), "tax", {"text": "The invoice is due on Friday"})
        assert store.search(("notes",), query="puppies on furniture")[0].key == "pet"


def test_a_store_returns_no_item_of_another_owner(url: str, user_id: str) -> None:
    with Memory(url) as root:
        owners = [
            root,
            root.scope(user_id=user_id),
            root.scope(user_id=f"{user_id}-other"),
            root.scope(agent_id=user_id),
            root.scope(user_id=user_id, agent_id=user_id),
            root.scope(user_id=user_id, shared=True).scope(agent_id="other", shared=True),
        ]
        namespace = (user_id,)
        stores = [MemorydStore(owner) for owner in owners]
        for n, store in enumerate(stores):
            store.put(namespace, "same", {"text": f"green tea {n}"})
            store.put((*namespace, str(n)), "own", {"text": f"green tea {n}"})
        for n, store in enumerate(stores):
            text = {"text": f"green tea {n}"}
            assert [item.value for item in store.search(namespace)] == [text, text]
            assert [item.value for item in store.search(namespace, query="green tea")] == [text, text]
            item = store.get(namespace, "same")
            assert item is not None
            assert item.value == text
            assert store.list_namespaces(prefix=namespace) == [namespace, (*namespace, str(n))]
        stores[0].delete(namespace, "same")
        stores[1].delete(namespace, "same")
        assert [store.get(namespace, "same") is None for store in stores] == [True, True, False, False, False, False]


def test_a_store_returns_no_memory_that_is_no_item(own: MemorydStore, memory: Memory) -> None:
    own.put(("a",), "key", {"text": "green tea"})
    (item,) = memory.memories().memories
    memory.store("green tea", metadata=item.metadata, session_id=item.session_id)
    memory.store("green tea", metadata=item.metadata, external_id="langgraph:a..other")
    memory.store("green tea")
    assert [found.key for found in own.search(())] == ["key"]
    assert [found.key for found in own.search((), query="green tea")] == ["key"]
    assert own.get(("a",), "other") is None
    assert own.list_namespaces() == [("a",)]


def test_delete_keeps_memories_that_are_no_items(own: MemorydStore, memory: Memory) -> None:
    memory.store("a diary", external_id="langgraph:a..key")
    own.delete(("a",), "key")
    assert [row.content for row in memory.memories().memories] == ["a diary"]


LONG_LABEL = "ü" * 400
LONG_KEY = "k" * 5000


def test_namespace_and_key_stand_in_metadata(own: MemorydStore, memory: Memory) -> None:
    own.put(("users", "ada"), "prefs/1", {})
    own.put(("users", LONG_LABEL), LONG_KEY, {"n": 1})
    described = [row.metadata["langgraph"] for row in memory.memories().memories]
    assert {(each["namespace"], each["key"]) for each in described} == {
        ("users.ada.", "prefs/1"),
        (f"users.{LONG_LABEL}.", LONG_KEY),
    }


def test_a_namespace_and_key_longer_than_an_external_id_become_a_digest(own: MemorydStore, memory: Memory) -> None:
    own.put(("users", LONG_LABEL), LONG_KEY, {"n": 1})
    own.put(("users", LONG_LABEL), LONG_KEY + "2", {"n": 2})
    external_ids = [row.external_id or "" for row in memory.memories().memories]
    assert all(external_id.startswith("langgraph:sha256:") for external_id in external_ids)
    item = own.get(("users", LONG_LABEL), LONG_KEY)
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("users", LONG_LABEL), LONG_KEY, {"n": 1})
    assert len(own.search(("users", LONG_LABEL))) == 2
    assert own.list_namespaces(prefix=("users",)) == [("users", LONG_LABEL)]
    own.delete(("users", LONG_LABEL), LONG_KEY)
    assert [found.key for found in own.search(("users",))] == [LONG_KEY + "2"]


def test_long_ids_and_filters_fit_into_requests(url: str, user_id: str) -> None:
    with Memory(url) as root:
        label = "\N{CAT FACE}" * 250
        store = MemorydStore(root.scope(user_id=user_id + "ü" * 200, agent_id="\N{CAT FACE}" * 100))
        value = {f"field {n}": "é" * 200 for n in range(40)}
        store.batch([PutOp((label, str(n)), label, value) for n in range(30)])
        assert len(store.search((label,), filter=value, limit=100)) == 30
        assert len(store.search((label,), filter=value, query="é" * 200, limit=100)) == 30
        assert len(store.list_namespaces(prefix=(label, "*"))) == 30
        gets: list[Op] = [GetOp((label, str(n)), label) for n in range(30)]
        assert [item.value for item in store.batch(gets) if isinstance(item, Item)] == [value] * 30
        store.batch([PutOp((label, str(n)), label, None) for n in range(30)])
        assert store.search(()) == []


def test_the_largest_value_comes_back_unchanged(own: MemorydStore) -> None:
    value = {"text": "x" * (1024 * 1024 - len('{"text":""}'))}
    own.put(("a",), "key", value)
    item = own.get(("a",), "key")
    assert item is not None
    assert item.value == value


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("key", {"text": "x" * 1024 * 1024}, "must have at most 1,048,576 bytes of JSON, but has 1,048,587"),
        ("k" * 20_000, {}, "must together have at most 15,500 bytes"),
        ("key", {"n": math.nan}, "must be JSON"),
        ("a\0b", {}, "must not contain U+0000"),
        ("\ud800", {}, "or a lone surrogate"),
    ],
    ids=["value", "key", "nan", "nul", "surrogate"],
)
def test_a_batch_with_a_refused_put_stores_nothing(
    own: MemorydStore, memory: Memory, key: str, value: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        own.batch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), key, value)])
    assert memory.memories().total == 0


def test_put_refuses_a_value_that_is_not_json(own: MemorydStore, memory: Memory) -> None:
    with pytest.raises(TypeError, match=r"the value of 'key' in .* must be JSON"):
        own.put(("a",), "key", {"set": {1}})
    assert memory.memories().total == 0


def test_an_expired_item_is_gone(own: MemorydStore) -> None:
    own.put(("a",), "stays", {"text": "green tea"}, ttl=10)
    for ttl in (0.0001, 0, -1):
        own.put(("b",), "gone", {"text": "green tea"}, ttl=ttl)
        while own.get(("b",), "gone", refresh_ttl=False) is not None:
            pass
    assert own.list_namespaces() == [("a",)]
    assert list(to_values(own.search(()))) == ["stays"]
    assert list(to_values(own.search((), query="green tea"))) == ["stays"]


def test_a_put_without_a_time_to_live_removes_an_earlier_one(own: MemorydStore) -> None:
    own.put(("a",), "key", {"n": 1}, ttl=0.0001)
    while own.get(("a",), "key", refresh_ttl=False) is not None:
        pass
    own.put(("a",), "key", {"n": 2})
    item = own.get(("a",), "key")
    assert item is not None
    assert item.value == {"n": 2}


def read_expiry(memory: Memory) -> Any:
    (row,) = memory.memories().memories
    return row.expires_at


@pytest.mark.parametrize("read", ["get", "search", "query"])
def test_reads_postpone_the_expiry(own: MemorydStore, memory: Memory, read: str) -> None:
    own.put(("a",), "key", {"text": "green tea"}, ttl=5)
    item = own.get(("a",), "key", refresh_ttl=False)
    before = read_expiry(memory)
    assert item is not None
    wait_for_next_millisecond(item)

    def read_item(refresh_ttl: bool | None) -> Item | None:
        if read == "get":
            return own.get(("a",), "key", refresh_ttl=refresh_ttl)
        return own.search(("a",), query="green tea" if read == "query" else None, refresh_ttl=refresh_ttl)[0]

    read_item(refresh_ttl=False)
    assert read_expiry(memory) == before
    read_item(refresh_ttl=None)
    postponed = read_expiry(memory)
    assert postponed > before
    again = read_item(refresh_ttl=None)
    assert again is not None
    assert (again.created_at, again.updated_at) == (item.created_at, item.updated_at)
    assert read_expiry(memory) >= postponed


def test_put_refuses_an_infinite_time_to_live(own: MemorydStore, memory: Memory) -> None:
    with pytest.raises(ValueError, match="ttl must be a finite number of minutes"):
        own.put(("a",), "key", {}, ttl=math.inf)
    assert memory.memories().total == 0


def test_ttl_config_sets_the_defaults(memory: Memory) -> None:
    store = MemorydStore(memory, ttl={"default_ttl": 5, "refresh_on_read": False})
    store.put(("a",), "key", {})
    before = read_expiry(memory)
    item = store.get(("a",), "key")
    assert item is not None
    wait_for_next_millisecond(item)
    store.get(("a",), "key")
    assert read_expiry(memory) == before
    store.put(("a",), "key", {}, ttl=None)
    assert read_expiry(memory).year == 9999


async def test_a_read_that_postpones_the_expiry_keeps_a_put_at_the_same_time(async_memory: AsyncMemory) -> None:
    store = AsyncMemorydStore(async_memory, ttl={"default_ttl": 5})
    for n in range(30):
        await asyncio.gather(store.aget(("a",), "key"), store.aput(("a",), "key", {"n": n}), store.asearch(("a",)))
        item = await store.aget(("a",), "key", refresh_ttl=False)
        assert item is not None
        assert item.value == {"n": n}


async def test_a_read_at_the_same_time_as_puts_and_deletes_returns_a_whole_value(async_memory: AsyncMemory) -> None:
    store = AsyncMemorydStore(async_memory)
    written = [{"n": n, "text": f"{n}" * (20_000 if n % 2 else 10)} for n in range(10)]
    for value in written:
        _, item, found, _ = await asyncio.gather(
            store.aput(("a",), "key", value),
            store.aget(("a",), "key"),
            store.asearch(("a",), filter={"n": {"$gte": 0}}),
            store.adelete(("a",), "key"),
        )
        assert all(each.value in written for each in [item, *found] if each is not None)


async def test_parallel_puts_of_one_key_leave_one_item_with_one_of_the_values(async_memory: AsyncMemory) -> None:
    store = AsyncMemorydStore(async_memory)
    written = [{"n": n, "text": f"{n}" * (30_000 if n % 2 else 10)} for n in range(20)]
    reading = [store.aget(("a",), "key") for _ in range(20)]
    results = await asyncio.gather(*(store.aput(("a",), "key", value) for value in written), *reading)
    assert all(item.value in written for item in results if isinstance(item, Item))
    (found,) = await store.asearch(("a",))
    assert found.value in written


class CountingTransport(httpx.AsyncHTTPTransport):
    """The transport of httpx, which also counts the requests that are under way."""

    current = 0
    maximum = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.current += 1
        self.maximum = max(self.maximum, self.current)
        try:
            return await super().handle_async_request(request)
        finally:
            self.current -= 1


async def test_a_hundred_calls_at_once_need_at_most_eight_requests_at_once(url: str, user_id: str) -> None:
    transport = CountingTransport()
    async with httpx.AsyncClient(transport=transport) as http_client:
        store = AsyncMemorydStore(AsyncMemory(url, http_client=http_client).scope(user_id=user_id))
        await asyncio.gather(*(store.aput(("a", str(n)), "key", {"n": n}) for n in range(100)))
        items = await asyncio.gather(*(store.aget(("a", str(n)), "key") for n in range(100)))
    assert [item.value["n"] for item in items if item] == list(range(100))
    assert 1 < transport.maximum <= 8


async def test_the_synchronous_methods_of_an_asynchronous_store_run_in_other_threads(async_memory: AsyncMemory) -> None:
    store = AsyncMemorydStore(async_memory)
    await asyncio.to_thread(store.put, ("a",), "key", {"n": 1})
    item = await asyncio.to_thread(store.get, ("a",), "key")
    assert item is not None
    assert item.value == {"n": 1}
    with pytest.raises(RuntimeError, match="use aget, aput"):
        store.get(("a",), "key")


def test_consolidation_changes_no_item(start_service: StartService) -> None:
    service = start_service({"SERVICE_WORKING_AGE_SECONDS": "0"})
    with Memory(service.url) as memory:
        store = MemorydStore(memory.scope(user_id="ada"))
        text = {"text": "Ada drinks green tea in the morning. Ada works in Oslo."}
        store.batch([PutOp(("a", str(n % 3)), str(n), text) for n in range(12)])
        before = store.search((), limit=100)
        memory.consolidate()
        after = store.search((), limit=100)
        assert sorted(map(repr, after)) == sorted(map(repr, before))
        assert len(store.list_namespaces()) == 3
        # Also no summary that quotes items, which would outlive them.
        assert memory.memories(tier="semantic").total == 0


def test_a_store_needs_the_scope_of_a_restricted_api_key(start_service: StartService) -> None:
    service = start_service()
    with Administration(service.url) as operator:
        key = operator.add_key(namespace="default", scope="write", user_id="ada").key
    with Memory(service.url, api_key=key) as memory:
        with pytest.raises(Forbidden, match=r"such as MemorydStore\(memory\.scope\(user_id="):
            MemorydStore(memory).put(("a",), "key", {"n": 1})
        assert memory.memories().total == 0
        store = MemorydStore(memory.scope(user_id="ada"))
        store.put(("a",), "key", {"n": 1})
        assert to_values(store.search(())) == {"key": {"n": 1}}


def test_a_service_that_redacts_returns_values_without_secrets(start_service: StartService) -> None:
    service = start_service({"SERVICE_REDACT": "on"})
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    with Memory(service.url) as memory:
        store = MemorydStore(memory.scope(user_id="ada"))
        forms: dict[str, dict[str, Any]] = {
            "object": {},
            "text": {"price": 1.0},
            "attachment": {"price": 1.0, "text": "x" * 20_000},
        }
        for form, value in forms.items():
            store.put(("a",), form, {**value, "token": secret, "note": f"password: {secret}", "n": 1})
        for form, value in forms.items():
            item = store.get(("a",), form)
            assert item is not None
            assert secret not in str(item.value)
            assert {name: item.value[name] for name in [*value, "n"]} == {**value, "n": 1}
