"""Arguments become requests unchanged, or are refused before anything is sent."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd import Administration, AsyncMemory, F, Forbidden, Invalid, Memory, NotFound, models
from memoryd._encode import to_path, to_query_string

MOMENT = datetime(2026, 1, 31, 9, 30, 0, 250_000, tzinfo=timezone.utc)
NAIVE = datetime(2026, 1, 31, 9, 30)  # noqa: DTZ001

# Neither lone surrogates nor U+0000, which the service refuses.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=100)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=texts.filter(str.strip), tag=texts, session_id=texts, value=texts)
def test_any_text_arrives_unchanged(memory: Memory, content: str, tag: str, session_id: str, value: str) -> None:
    if session_id in (".", ".."):
        return
    stored = memory.store(content, tags=[tag], session_id=session_id, metadata={"key": value})
    read = memory.memory(stored.id)
    assert (read.content, read.tags, read.session_id, read.metadata) == (content, (tag,), session_id, {"key": value})
    selected = memory.memories(tag=[tag], session_id=session_id, metadata={"key": value})
    assert stored.id in {each.id for each in selected.memories}
    assert memory.session(session_id).session_id == session_id
    memory.forget_many(session_id=session_id)


def test_any_metadata_arrives_unchanged(memory: Memory) -> None:
    metadata: dict[str, Any] = {"a": [1, 2.5, None, True, {"b": "ü"}], "none": None, "from_": 1}
    stored = memory.store("text", metadata=metadata)
    assert memory.memory(stored.id).metadata == metadata


@pytest.mark.parametrize(
    "moment", [MOMENT, MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30))), MOMENT.replace(year=1000)]
)
def test_a_time_arrives_as_the_same_instant(memory: Memory, moment: datetime) -> None:
    stored = memory.store("text", created_at=moment, valid_to=moment + timedelta(days=1))
    read = memory.memory(stored.id)
    assert (read.created_at, read.valid_to) == (moment, moment + timedelta(days=1))
    assert read.created_at.tzinfo is not None
    assert memory.memories(since=moment, until=moment).total == 1
    assert memory.memories(until=moment - timedelta(milliseconds=1)).total == 0


def test_a_date_is_the_start_or_the_end_of_its_day(memory: Memory) -> None:
    memory.store("text", created_at=datetime(2026, 1, 31, 23, 59, tzinfo=timezone.utc))
    assert memory.memories(since=date(2026, 1, 31), until=date(2026, 1, 31)).total == 1
    assert memory.memories(since=date(2026, 2, 1)).total == 0


def test_a_datetime_without_a_time_zone_is_refused(memory: Memory) -> None:
    calls: list[Callable[[], object]] = [
        lambda: memory.store("text", created_at=NAIVE),
        lambda: memory.store_batch([models.StoreRequest(content="text", valid_to=NAIVE)]),
        lambda: memory.recall("text", asked_at=NAIVE),
        lambda: memory.memories(since=NAIVE),
        lambda: memory.memories(growth_at=[NAIVE]),
        lambda: memory.update("id", expires_at=NAIVE),
    ]
    for call in calls:
        with pytest.raises(Invalid, match=r"must have a time zone, such as datetime\.now\(timezone\.utc\)") as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert caught.value.status is None
    assert memory.memories().total == 0


@pytest.mark.parametrize("identifier", ["", ".", "..", "half \ud800"])
def test_an_id_that_no_url_can_contain_is_not_found(memory: Memory, url: str, identifier: str) -> None:
    for call in (memory.memory, memory.history, memory.forget, memory.undo_import):
        with pytest.raises(NotFound, match="the id cannot be encoded in a URL"):
            call(identifier)
    with pytest.raises(NotFound):
        memory.update(identifier, importance=1)
    with pytest.raises(Invalid, match="session_id must be a string of 1 to 256 characters other than"):
        memory.session(identifier)
    with Administration(url) as operator, pytest.raises(NotFound, match="key not found"):
        operator.revoke_key(identifier)


@pytest.mark.parametrize("identifier", ["a/b", "a%2Fb", "?", "#", "a b", "ü", "{id}", "...", "\\", "%"])
def test_an_id_arrives_at_the_service_unchanged(memory: Memory, identifier: str) -> None:
    with pytest.raises(NotFound) as caught:
        memory.memory(identifier)
    assert caught.value.status == 404
    memory.store("text", session_id=identifier)
    assert memory.session(identifier).total == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text not in (".", "..")))
def test_a_path_has_the_id_as_one_segment(identifier: str) -> None:
    path = to_path("/memories/{memory_id}/history", identifier)
    assert path is not None
    assert path.count("/") == 3
    assert path.isascii()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tag": []}, "tag must not be None or empty"),
        ({"tag": ["a", ""]}, "tag must not be None or empty"),
        ({"session_id": ""}, "session_id must not be None or empty"),
        ({"metadata": {"room": ""}}, r"metadata\[room\] must not be None or empty"),
        ({"tag": "half \ud800"}, "tag must not contain a lone surrogate"),
        ({"user_id": None}, "user_id must not be None; leave it out"),
        ({"agent_id": None}, "agent_id must not be None; leave it out"),
        ({"tag": object()}, "tag must be JSON, a date or a datetime, but has the type object"),
        ({"filter": {"tag": object()}}, "filter/tag must be JSON"),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused(url: str, options: Any, message: str) -> None:
    with Memory(url) as root, pytest.raises(Invalid, match=message) as caught:
        root.memories(**options)
    assert caught.value.status is None


def test_an_unknown_argument_is_refused_by_the_service(memory: Memory) -> None:
    options: Any = {"color": "red"}
    with pytest.raises(Invalid, match="color"):
        memory.memories(**options)


@pytest.mark.parametrize(("value", "text"), [(1e-7, "0.0000001"), (0.5, "0.5"), (1.0, "1"), (0.0, "0")])
def test_a_number_is_sent_as_a_plain_decimal(value: float, text: str) -> None:
    assert to_query_string({"min_score": value}) == f"?min_score={text}"


NUMBERS = [1.0, -0.0, 0.1, 1e-6, 1.5e-5, 1e-7, 1.25e-9, 5e-324, 1e15, 123456.75, 2.0**52, 3, True, "1.0", "ü"]


@pytest.mark.parametrize("value", NUMBERS)
def test_metadata_is_found_by_the_value_that_was_stored(memory: Memory, value: Any) -> None:
    memory.store("the figs are ripe", metadata={"key": value})
    memory.store("other", metadata={"key": "other"})
    assert memory.memories(metadata={"key": value}).total == 1
    assert len(memory.recall("the figs are ripe", metadata={"key": value}).results) == 1
    assert len(memory.recall("the figs are ripe", metadata={"key": value}, filter={"tier": "working"}).results) == 1
    assert memory.forget_many(metadata={"key": value}).forgotten_count == 1


def test_a_set_is_sent_like_a_list(memory: Memory) -> None:
    stored = memory.store("text", tags={"a", "b"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    options: Any = {"tag": {"a", "b"}}
    assert [each.id for each in memory.memories(**options).memories] == [stored.id]
    assert to_query_string({"type": frozenset({"stored"})}) == "?type=stored"


@pytest.mark.parametrize("query", ["日" * 8192, "a" * 8192])
def test_a_long_query_finds_memories(memory: Memory, query: str) -> None:
    memory.store("text")
    assert memory.recall(query, tag=["none"]).results == ()


def test_a_request_that_does_not_fit_into_a_url_is_refused(memory: Memory) -> None:
    with pytest.raises(Invalid, match="the request cannot be sent"):
        memory.memories(tag=[f"{i:03}" + "日" * 125 for i in range(64)])


def test_a_time_of_a_zone_with_seconds_in_its_offset_arrives_as_the_same_instant(memory: Memory) -> None:
    moment = datetime(1880, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32)))
    stored = memory.store("text", created_at=moment)
    assert memory.memory(stored.id).created_at == moment
    assert memory.memories(since=moment, until=moment, filter={"created_at": {"$lte": moment}}).total == 1
    with pytest.raises(Invalid, match="created_at must be in the years 1 to 9999 in UTC"):
        memory.store("text", created_at=datetime.min.replace(tzinfo=timezone(timedelta(hours=5))))


def test_a_memory_of_the_year_0_is_read_as_the_earliest_datetime(memory: Memory) -> None:
    options: Any = {"created_at": "0000-06-01"}
    stored = memory.store("text", **options)
    (read,) = memory.memories().memories
    assert (read.id, read.created_at) == (stored.id, datetime.min.replace(tzinfo=timezone.utc))


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda m: m.recall(""), "query must be a string of 1 to 8,192 characters"),
    (lambda m: m.recall(None), "query must be a string of 1 to 8,192 characters"),
    (lambda m: m.memory(5), "id must be a string, but has the type int"),
    (lambda m: m.forget(None), "id must be a string"),
    (lambda m: m.store("text", attachment=b"data"), "attachment must be a string; decode the bytes"),
    (lambda m: m.store("text", metadata={"id": object()}), r"metadata/id must be JSON.*; convert it"),
    (lambda m: m.store("text", metadata=get_circle()), "body must not contain itself"),
    (lambda m: m.store_batch(["text"]), "requests/0 must be a StoreRequest or a dict"),
    (lambda m: m.import_texts(["text"], from_="jsonl"), "texts must be an ImportedText or a dict"),
    (lambda m: m.import_texts("text", from_="jsonl"), "texts must be an iterable"),
    (lambda m: m.import_memories(b"abc"), "lines must be an iterable"),
    (lambda m: m.import_memories([1]), "lines must be strings or bytes"),
    (lambda m: m.import_file("a.zip"), r"file must be bytes, chunks of bytes or an open file"),
    (lambda m: m.import_file(Path("a.zip")), r"file must be bytes, chunks of bytes or an open file"),
    (lambda m: m.import_file(io.StringIO("text")), "file must have bytes; open it in binary mode"),
    (lambda m: m.import_file(["text"]), "file must have bytes"),
    (lambda m: m.events(last_event_id="a\r\nX: y"), "last_event_id must be one line"),
    (lambda m: m.forget("id", if_versions=['1"\r\nX: y']), "if_versions must be a list of version numbers"),
    (lambda m: m.update("id", importance=1, if_versions=[True]), "if_versions must be a list of version numbers"),
    (lambda m: m.memories(metadata={"room": [1]}), r"metadata\[room\] must be a string, a number or a boolean"),
    (lambda m: m.open_session(".."), "session_id must be a string of 1 to 256 characters other than"),
    (lambda m: m.open_session("s").add("", "text"), "messages/0/role must be a string of 1 to 123 characters"),
    (lambda m: m.open_session("s").add_many([{"content": "text"}]), "messages/0/role must be a string"),
    (lambda m: m.open_session("s").context("text", tokens=None), "tokens must be a whole number from 0"),
    (lambda _: F.metadata["a.b"], "must not contain a dot"),
    (lambda _: F.source.in_("mail"), "must be a list"),
    (lambda _: F.source.not_in("mail"), "must be a list"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_an_argument_of_another_kind_is_refused(memory: Memory, call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        call(memory)


def get_circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["inner"] = circle
    return circle


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": None}, "timeout must be a number of seconds above 0"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"timeout": float("inf")}, "timeout must be a number of seconds above 0"),
        ({"total_timeout": -1}, "total_timeout must be a number of seconds above 0"),
        ({"retries": -1}, "retries must be a whole number from 0"),
        ({"retries": "5"}, "retries must be a whole number from 0"),
        ({"url": "http://127.0.0.1:99999"}, "url must have a port from 1 to 65,535"),
    ],
)
def test_a_client_with_other_options_is_refused(options: Any, message: str) -> None:
    for client in (Memory, AsyncMemory, Administration):
        with pytest.raises(Invalid, match=message):
            client(**options)


@pytest.mark.parametrize("client", [Memory, AsyncMemory, Administration])
def test_type_hints_of_methods_are_known_at_runtime(client: type) -> None:
    for name in dir(client):
        method = getattr(client, name)
        if not name.startswith("_") and callable(method):
            assert get_type_hints(method)


def test_none_means_absent_except_where_it_clears(memory: Memory) -> None:
    stored = memory.store("text", tags=None, session_id=None, expires_at=MOMENT.replace(year=2999), importance=0.25)
    memory.update(stored.id, importance=None, expires_at=None, content=None)
    read = memory.memory(stored.id)
    assert (read.content, read.importance, read.expires_at) == ("text", 0.25, None)
    assert memory.memories(limit=None, cursor=None, filter=None).total == 1


@pytest.mark.parametrize("url", ["localhost:8090", "127.0.0.1:8090", "ftp://localhost", "http://", "", "http://[::1"])
def test_an_address_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="url must be an http or https URL"):
        Memory(url)


@pytest.mark.parametrize("url", ["http://localhost/?", "http://localhost/?team=blue", "http://localhost/memory#1"])
def test_an_address_with_a_query_or_fragment_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="url must not contain a query or fragment"):
        Memory(url)


@pytest.mark.parametrize("url", ["http://ada:whispered@localhost", "http://whispered@localhost/memory"])
def test_an_address_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(Invalid, match="url must not contain a user name") as caught:
        Memory(url)
    assert "whispered" not in str(caught.value)


def test_a_header_that_cannot_be_sent_is_refused_without_showing_its_value() -> None:
    with pytest.raises(Invalid, match="api_key must be one line") as caught:
        Memory(api_key="whispered\n")
    assert "whispered" not in str(caught.value)
    with pytest.raises(Invalid, match="must be a valid header name"):
        Memory(headers={"two words": "1"})


@pytest.mark.parametrize("key", ["", " a", "a ", "ü", "a\nb", "a" * 256])
def test_an_idempotency_key_of_other_characters_is_refused(memory: Memory, key: str) -> None:
    with pytest.raises(Invalid, match="idempotency_key must be 1 to 255 printable ASCII characters"):
        memory.store("text", idempotency_key=key)


class TestScope:
    """Two people who share a service."""

    def test_a_scope_cannot_read_or_change_memories_of_another_user(self, url: str, user_id: str) -> None:
        with Memory(url) as root:
            ada, bob = root.scope(user_id=f"{user_id}-ada"), root.scope(user_id=f"{user_id}-bob")
            stored = ada.store("the garden gate code is 4711", session_id=user_id)
            bob.store("the garden has figs", session_id=user_id)
            assert [result.content for result in bob.recall("garden gate code").results] == ["the garden has figs"]
            assert "4711" not in bob.context("garden gate code").text
            assert [each.content for each in bob.each_session_memory(user_id)] == ["the garden has figs"]
            assert all("4711" not in line for line in bob.export_memories())
            for call in (bob.memory, bob.history, bob.forget):
                with pytest.raises(NotFound):
                    call(stored.id)
            with pytest.raises(NotFound):
                bob.update(stored.id, content="hacked")
            assert bob.forget_many(session_id=user_id).forgotten_count == 1
            assert ada.memory(stored.id).content == "the garden gate code is 4711"

    def test_a_scope_includes_shared_memories_if_asked(self, url: str, user_id: str) -> None:
        with Memory(url) as root:
            root.store("the pool is open", session_id=user_id)
            ada = root.scope(user_id=user_id, shared=True)
            assert [each.content for each in ada.each_session_memory(user_id)] == ["the pool is open"]
            assert ada.session(user_id, shared=False).total == 0
            assert ada.scope(user_id=user_id).session(user_id).total == 0
            with pytest.raises(Forbidden, match="shared must be False in a write"):
                ada.forget_many(session_id=user_id, shared=True)

    @pytest.mark.parametrize(
        "options",
        [{}, {"session_id": None}, {"metadata": {}}, {"filter": {}}, {"filter": None, "tag": None}, {"shared": False}],
    )
    def test_a_forget_without_a_condition_is_refused(self, memory: Memory, options: Any) -> None:
        memory.store("text")
        with pytest.raises(Invalid, match="at least one condition"):
            memory.forget_many(**options)
        assert memory.memories().total == 1

    def test_a_forget_of_the_user_of_the_scope_deletes_all_memories_of_the_user(
        self, memory: Memory, user_id: str
    ) -> None:
        memory.store_batch([{"content": "one"}, {"content": "two"}])
        assert memory.forget_many(user_id=user_id).forgotten_count == 2

    def test_a_request_for_another_user_is_forbidden(self, memory: Memory) -> None:
        calls: list[Callable[[], object]] = [
            lambda: memory.store("text", user_id="bob"),
            lambda: memory.store_batch([{"content": "text", "user_id": "bob"}]),
            lambda: memory.recall("text", user_id="bob"),
            lambda: memory.memories(user_id="bob"),
            lambda: memory.update("id", importance=1, user_id="bob"),
            lambda: memory.forget("id", user_id="bob"),
            lambda: memory.events(user_id="bob"),
            lambda: memory.export_memories(user_id="bob"),
            lambda: memory.scope(user_id="bob"),
        ]
        for call in calls:
            with pytest.raises(
                Forbidden, match="user_id must be left out or equal the user_id of the scope: 'bob' is not"
            ):
                call()

    def test_an_operation_on_the_whole_namespace_is_forbidden(self, memory: Memory) -> None:
        calls: list[Callable[[], object]] = [
            memory.users,
            memory.root,
            memory.metrics,
            memory.backup,
            memory.consolidate,
            memory.consolidations,
            lambda: memory.consolidation("id"),
            lambda: memory.undo("id"),
        ]
        for call in calls:
            with pytest.raises(Forbidden, match="concerns the whole namespace; call it on a client without a scope"):
                call()

    def test_scopes_of_a_user_and_an_agent_nest(self, memory: Memory, user_id: str) -> None:
        cook = memory.scope(agent_id="cook")
        stored = cook.store("text")
        assert (memory.memory(stored.id).user_id, memory.memory(stored.id).agent_id) == (user_id, "cook")
        with pytest.raises(NotFound):
            memory.scope(agent_id="driver").memory(stored.id)

    @pytest.mark.parametrize("options", [{}, {"shared": True}, {"user_id": ""}, {"user_id": "u" * 257}, {"user_id": 7}])
    def test_a_scope_without_a_valid_id_is_refused(self, memory: Memory, options: Any) -> None:
        with pytest.raises(Invalid):
            memory.scope(**options)

    def test_closing_a_scope_leaves_the_connections_open(self, memory: Memory) -> None:
        with memory.scope(agent_id="cook"):
            pass
        assert memory.memories().total == 0
