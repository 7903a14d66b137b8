"""Every operation against the real service."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from memoryd import UNSET, Administration, AsyncMemory, Conflict, F, Invalid, Memory, NotFound, Unauthorized, models
from memoryd.errors import to_exception
from service import StartService

MOMENT = datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)


def test_store_keeps_every_field(memory: Memory, user_id: str) -> None:
    first = memory.store("the key hangs behind the door")
    stored = memory.store(
        "the key lies under the mat",
        tags=["home", "key"],
        importance=0.75,
        source="mail",
        session_id="garden",
        external_id="mail:1",
        created_at=MOMENT,
        expires_at=MOMENT.replace(year=2999),
        valid_from=MOMENT - timedelta(days=1),
        valid_to=MOMENT.replace(year=2998),
        metadata={"room": {"floor": 1}},
        attachment='{"a": 1}',
        supersedes=first.id,
    )
    assert (stored.status, stored.created) == ("stored", True)
    read = memory.memory(stored.id)
    assert (read.content, read.tags, read.importance) == ("the key lies under the mat", ("home", "key"), 0.75)
    assert (read.source, read.session_id, read.external_id) == ("mail", "garden", "mail:1")
    assert (read.user_id, read.agent_id, read.tier, read.version) == (user_id, None, "working", 1)
    assert (read.created_at, read.expires_at) == (MOMENT, MOMENT.replace(year=2999))
    assert (read.valid_from, read.valid_to) == (MOMENT - timedelta(days=1), MOMENT.replace(year=2998))
    assert (read.metadata, read.supersedes) == ({"room": {"floor": 1}}, first.id)
    assert memory.memory(first.id).superseded_by == stored.id
    (turn,) = memory.session("garden", attachments=True).memories
    assert turn.attachment == '{"a": 1}'


def test_store_with_a_known_external_id_changes_that_memory(memory: Memory) -> None:
    first = memory.store("one", external_id="x")
    second = memory.store("two", external_id="x")
    assert (second.id, second.created) == (first.id, False)
    assert memory.memory(first.id).content == "two"


def test_store_with_the_same_idempotency_key_stores_once(memory: Memory, user_id: str) -> None:
    assert memory.store("text", idempotency_key=user_id).id == memory.store("text", idempotency_key=user_id).id
    assert memory.memories().total == 1


def test_store_batch_reports_each_memory(memory: Memory) -> None:
    response = memory.store_batch(
        [
            models.StoreRequest(content="one", tags=["a"], created_at=MOMENT),
            {"content": " "},
            {"content": "three", "metadata": {"none": None}},
        ],
        idempotency_key="batch",
    )
    assert (response.stored_count, response.failed_count) == (2, 1)
    first, second, third = response.results
    assert isinstance(first, models.StoreResponse)
    assert isinstance(second, models.StoreBatchError)
    assert isinstance(third, models.StoreResponse)
    assert to_exception(second.error).details[0].path == "/1/content"
    assert memory.memory(first.id).created_at == MOMENT
    assert memory.memory(third.id).metadata == {"none": None}


def test_recall_returns_the_best_memory_first(memory: Memory) -> None:
    memory.store("the figs are ripe in August")
    best = memory.store("the greenhouse key hangs behind the door", tags=["key"], created_at=MOMENT)
    found = memory.recall("where is the greenhouse key", top_k=1, explain=True, highlight=True, track=False)
    (result,) = found.results
    assert (result.id, result.tags, result.created_at) == (best.id, ("key",), MOMENT)
    assert 0 <= result.score <= 1
    assert result.highlight == "the greenhouse key hangs behind the door"
    assert result.explanation is not None
    assert "greenhouse" in result.explanation.matched
    assert result.explanation.evidence.words > 0
    assert memory.recall("where is the greenhouse key", min_score=1).results == ()
    with_filter = memory.recall(
        "where is the greenhouse key", filter=F.tag == "key", only_relevant=False, timezone="UTC"
    )
    assert [each.id for each in with_filter.results] == [best.id]


def test_context_is_a_text_for_a_prompt(memory: Memory) -> None:
    memory.store("Ada is allergic to peanuts")
    context = memory.context("peanut butter for Ada", budget=200, timezone="Europe/Berlin")
    assert "Ada is allergic to peanuts" in context.text
    assert 0 < context.tokens <= 200
    assert [each.content for each in context.memories] == ["Ada is allergic to peanuts"]
    repeated = memory.context("peanut butter for Ada", exclude_texts=["Ada is allergic to peanuts"])
    assert repeated.memories == ()
    assert memory.context(recent=True).memories[0].why == "recent"


def test_context_gives_a_memory_once_in_a_session(memory: Memory) -> None:
    memory.store("Ada is allergic to peanuts")
    assert len(memory.context("peanuts", session_id="chat").memories) == 1
    assert memory.context("peanuts", session_id="chat").memories == ()
    assert len(memory.context("peanuts", session_id="chat", reset=True).memories) == 1


def test_sessions_and_their_transcripts_have_pages(memory: Memory, user_id: str) -> None:
    for i in range(5):
        memory.store(f"turn {i}", session_id="chat", created_at=MOMENT + timedelta(minutes=i))
    memory.store("other", session_id="mail")
    page = memory.session("chat", limit=2)
    assert ([each.content for each in page.memories], page.total) == (["turn 0", "turn 1"], 5)
    assert page.next_cursor is not None
    following = memory.session("chat", limit=2, cursor=page.next_cursor)
    assert [each.content for each in following.memories] == ["turn 2", "turn 3"]
    assert [each.content for each in memory.each_session_memory("chat", limit=2)] == [f"turn {i}" for i in range(5)]
    assert [(each.session_id, each.total, each.user_id) for each in memory.each_session(limit=1)] == [
        ("chat", 5, user_id),
        ("mail", 1, user_id),
    ]
    assert memory.sessions(session_id="mail").total == 1
    assert memory.session("unknown").memories == ()


def test_each_memory_continues_at_a_cursor_and_fetches_pages_when_needed(memory: Memory) -> None:
    memory.store_batch([{"content": f"text {i}", "created_at": MOMENT + timedelta(minutes=i)} for i in range(7)])
    contents = [each.content for each in memory.each_memory(limit=3)]
    assert contents == [f"text {i}" for i in reversed(range(7))]
    cursor = memory.memories(limit=3).next_cursor
    assert [each.content for each in memory.each_memory(limit=3, cursor=cursor)] == contents[3:]
    iterator: Iterator[models.Memory] = memory.each_memory(limit=1)
    memory.store("the newest", created_at=MOMENT + timedelta(days=1))
    assert next(iterator).content == "the newest"


def test_each_memory_continues_at_an_offset_in_an_order_without_cursors(memory: Memory) -> None:
    memory.store_batch([{"content": f"text {i}", "importance": i / 10} for i in range(7)])
    contents = [each.content for each in memory.each_memory(order="importance", limit=3)]
    assert contents == [f"text {i}" for i in reversed(range(7))]
    assert [each.content for each in memory.each_memory(order="importance", limit=3, offset=2)] == contents[2:]
    assert [each.content for each in memory.each_memory(limit=3, offset=2)] == contents[2:]
    assert [each.content for each in memory.each_memory(order="use", dir="asc", limit=3)] == contents[::-1]
    assert memory.memories(order="use").next_cursor is None


def test_memories_are_listed_by_their_words(memory: Memory) -> None:
    memory.store("The café opens at nine")
    memory.store("The cafeteria is closed")
    assert [each.content for each in memory.memories(q="OPENS caf").memories] == ["The café opens at nine"]
    assert memory.memories(q="caf").total == 2


def test_facets_count_the_values_of_a_field(memory: Memory) -> None:
    memory.store_batch([{"content": f"trip {i}", "tags": ["trip", f"day {i % 2}"]} for i in range(5)])
    facets = memory.facets("tag", prefix="D", limit=1)
    assert ([(each.value, each.count) for each in facets.values], facets.total) == ([("day 0", 3)], 2)
    assert [(each.value, each.count) for each in memory.facets("tier", tag="day 1").values] == [("working", 2)]
    with pytest.raises(Invalid, match="field"):
        memory.facets("content")


def test_growth_counts_the_memories_of_each_period(memory: Memory) -> None:
    memory.store("one", created_at=MOMENT, source="mail")
    memory.store("two", created_at=MOMENT + timedelta(days=1))
    growth = memory.growth("day", field="source", timezone="Asia/Tokyo")
    begin = datetime(2026, 1, 30, 15, tzinfo=timezone.utc)
    assert growth.values is not None
    assert sorted(growth.values) == ["api", "mail"]
    assert [(each.from_, each.count) for each in growth.steps] == [(begin, 1), (begin + timedelta(days=1), 1)]
    assert memory.growth("month", source="mail").total == 1


def test_a_map_has_only_memories_of_the_scope(memory: Memory) -> None:
    memory.store("the figs are ripe")
    found = memory.map(q="figs")
    # The service of the tests has no embedder.
    assert (found.state, found.total, found.points, found.is_changing) == ("unavailable", 1, (), False)


def test_related_memories_share_words_with_a_memory(memory: Memory) -> None:
    first = memory.store("Mara waters the ferns in the greenhouse")
    second = memory.store("The ferns in the greenhouse are green")
    memory.store("The train to Porto is late")
    related = memory.related(first.id, limit=1)
    assert (related.id, [each.memory.id for each in related.related]) == (first.id, [second.id])
    with pytest.raises(NotFound):
        memory.related("unknown")


def test_recalls_are_remembered_with_their_results(memory: Memory, user_id: str) -> None:
    stored = memory.store("the figs are ripe")
    other = memory.store("the nuts are brown")
    memory.recall("ripe figs", top_k=1)
    memory.context("brown nuts", session_id="chat")
    newest, first = memory.each_recall(limit=1)
    assert (newest.kind, newest.session_id, newest.user_id) == ("context", "chat", user_id)
    assert (first.query, [each.memory_id for each in first.results]) == ("ripe figs", [stored.id])
    page = memory.recalls(memory_id=other.id)
    assert (page.is_remembered, page.total, page.recalls) == (True, 1, (newest,))


def test_many_memories_change_together_and_are_restored(memory: Memory) -> None:
    first = memory.store("first of the trip", tags=["trip"], metadata={"room": 1, "floor": 2})
    memory.store("second of the trip", tags=["trip"])
    other = memory.store("other")
    change = memory.update_many(
        tag="trip", add_tags=["lisbon"], remove_tags=["trip"], importance=0.9, set_metadata={"room": None, "city": "L"}
    )
    assert (change.updated_count, change.unchanged_count, change.refused_count) == (2, 0, 0)
    changed = memory.memory(first.id)
    assert (changed.tags, changed.importance, changed.metadata) == (("lisbon",), 0.9, {"floor": 2, "city": "L"})
    assert memory.memory(other.id).importance == 0.5
    memory.update(first.id, importance=0.1)
    undone = memory.undo_change(change.change_id)
    assert (undone.restored_count, undone.kept_count) == (2, 0)
    restored = memory.memory(first.id)
    assert (restored.tags, restored.importance, restored.metadata) == (("trip",), 0.1, {"room": 1, "floor": 2})
    assert memory.facets("tag").values == (models.FacetValue(value="trip", count=2),)
    assert memory.undo_change(change.change_id) == undone
    with pytest.raises(NotFound):
        memory.undo_change("unknown")


def test_a_change_with_an_id_of_the_caller_is_made_once(memory: Memory, user_id: str) -> None:
    stored = memory.store("text")
    name = f"change-{user_id}".replace("_", "-").ljust(16, "0")[:64]
    for _ in range(2):
        change = memory.update_many(ids=[stored.id, "unknown"], importance=0.9, change_id=name)
        assert (change.change_id, change.updated_count) == (name, 1)
    assert memory.memory(stored.id).version == 2
    with pytest.raises(Conflict):
        memory.update_many(ids=[stored.id], importance=0.2, change_id=name)
    assert memory.memory(stored.id).importance == 0.9


@pytest.mark.parametrize(
    "conditions", [{}, {"tag": None}, {"filter": {}}, {"metadata": {}}, {"ids": []}, {"ids": [], "tag": "a"}]
)
def test_a_change_without_conditions_changes_nothing(memory: Memory, conditions: dict[str, Any]) -> None:
    stored = memory.store("text", tags=["a"])
    with pytest.raises(Invalid):
        memory.update_many(importance=0.9, **conditions)
    assert memory.memory(stored.id).version == 1


def test_memories_are_forgotten_by_their_ids(memory: Memory) -> None:
    stored = [memory.store(f"text {i}", tags=["a"]).id for i in range(3)]
    assert memory.forget_many(id=[*stored[:2], "unknown"], tag="a").forgotten_count == 2
    for ids in ([], [""]):
        with pytest.raises(Invalid):
            memory.forget_many(id=ids, tag="a")
    assert [each.id for each in memory.each_memory()] == stored[2:]


def test_memories_count_growth(memory: Memory) -> None:
    memory.store("one", created_at=MOMENT)
    growth = memory.memories(growth_at=[MOMENT - timedelta(days=1), MOMENT]).growth
    assert growth is not None
    assert [(each.at, each.working_count) for each in growth] == [(MOMENT - timedelta(days=1), 0), (MOMENT, 1)]


def test_users_are_listed_with_their_usage(url: str, memory: Memory, user_id: str) -> None:
    memory.store("text")
    with Memory(url) as root:
        users = {each.user_id: each for each in root.each_user(limit=50)}
        assert (users[user_id].memories, users[user_id].working_count) == (1, 1)
        assert root.users(limit=1).total == len(users)


def test_update_changes_the_given_fields_and_keeps_the_history(memory: Memory) -> None:
    stored = memory.store("Ada lives in Lisbon", tags=["home"], valid_to=MOMENT.replace(year=2999))
    memory.update(stored.id, content="Ada lives in Porto", if_versions=[1, 7])
    memory.update(stored.id, importance=1, valid_to=UNSET)
    read = memory.memory(stored.id)
    assert (read.content, read.tags, read.importance, read.version) == ("Ada lives in Porto", ("home",), 1, 3)
    assert read.valid_to == MOMENT.replace(year=2999)
    memory.update(stored.id, valid_to=None)
    assert memory.memory(stored.id).valid_to is None
    texts = list(memory.each_text(stored.id, limit=1))
    assert [(each.revision, each.content) for each in texts] == [(1, "Ada lives in Lisbon"), (2, "Ada lives in Porto")]
    assert texts[0].held_until == texts[1].held_from
    (then,) = memory.history(stored.id, known_at=texts[0].held_from).texts
    assert then.content == "Ada lives in Lisbon"


def test_forget_deletes_for_good(memory: Memory) -> None:
    stored = memory.store("text", session_id="a")
    memory.store("other", session_id="a")
    assert memory.forget(stored.id, if_versions=[1]).id == stored.id
    with pytest.raises(NotFound):
        memory.memory(stored.id)
    assert memory.forget_many(session_id="a", before=datetime.now(timezone.utc)).forgotten_count == 1


def test_consolidation_is_planned_run_listed_and_undone(start_service: StartService) -> None:
    service = start_service()
    with Memory(service.url) as memory:
        stored = memory.store("text")
        plan = memory.consolidate(dry_run=True, min_age_seconds=0).plan
        assert plan is not None
        assert [each.id for each in plan.promote.memories] == [stored.id]
        run = memory.consolidate()
        assert run.id is not None
        assert memory.memory(stored.id).tier == "episodic"
        assert [each.id for each in memory.each_consolidation(limit=1)] == [run.id]
        assert memory.consolidations().total == 1
        detail = memory.consolidation(run.id)
        assert (detail.status, detail.started_at.tzinfo) == ("completed", timezone.utc)
        assert [(each.kind, each.memory_id) for each in memory.each_change(run.id)] == [("promoted", stored.id)]
        assert memory.undo(run.id, with_later=True).status == "undone"
        assert memory.memory(stored.id).tier == "working"
        with pytest.raises(Conflict):
            memory.undo(run.id)


def test_a_suggested_correction_is_listed_and_decided(start_service: StartService) -> None:
    service = start_service(by_meaning=True)
    with Memory(service.url) as root:
        memory = root.scope(user_id="ada")
        memory.store("Orchard meetings are held on Monday.", created_at=MOMENT)
        later = memory.store("Orchard meetings have moved to Tuesday.", created_at=MOMENT + timedelta(days=30))
        deadline = time.monotonic() + 60
        while root.stats().pending_embeddings > 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        root.consolidate()
        (correction,) = memory.each_correction(state="pending")
        assert (correction.later.id, correction.reason) == (later.id, "change")
        assert memory.decide_correction(correction.id, accept=True).state == "accepted"
        assert memory.corrections(state="accepted").total == 1
        assert memory.memory(correction.earlier.id).superseded_by == later.id
        with pytest.raises(NotFound):
            root.scope(user_id="bob").decide_correction(correction.id, accept=False)


def test_the_service_reports_its_state(memory: Memory, url: str) -> None:
    memory.store("text")
    assert memory.stats().working_count == 1
    with Memory(url) as root:
        assert root.root().version == root.health().version
        assert root.health().status == "healthy"
        assert "service_working_memory_entries" in root.metrics()


def test_an_export_is_imported_into_another_service(memory: Memory, start_service: StartService) -> None:
    stored = memory.store("the figs are ripe", tags=["garden"])
    memory.update(stored.id, content="the figs are eaten")
    lines = list(memory.export_memories())
    assert json.loads(lines[0]) == {"format": "memoryd", "version": 1, "lines": 1}
    with Memory(start_service().url) as other:
        imported = other.import_memories(lines)
        assert (imported.imported_count, imported.refused) == (1, ())
        assert other.memory(stored.id).content == "the figs are eaten"
        assert [each.content for each in other.each_text(stored.id)] == ["the figs are ripe", "the figs are eaten"]
        again = other.import_memories(f"{line}\n".encode() for line in lines)
        assert (again.imported_count, again.unchanged_count) == (0, 1)
        assert isinstance(other.import_file("\n".join(lines).encode(), from_="memoryd"), models.ImportResponse)


def test_an_error_from_reading_lines_ends_an_import(memory: Memory) -> None:
    def read() -> Iterator[str]:
        yield '{"format":"memoryd","version":1}'
        raise KeyError("broken source")

    with pytest.raises(KeyError, match="broken source"):
        memory.import_memories(read())
    assert memory.memories().total == 0


def test_imported_texts_are_repeatable_and_undone(memory: Memory) -> None:
    def read() -> Iterator[models.ImportedText | dict[str, Any]]:
        yield models.ImportedText(external_id="chat:1", content="The figs are ripe", created_at=MOMENT)
        yield {"external_id": "chat:2", "content": "The lemons are sour"}

    imported = memory.import_texts(read(), from_="jsonl", name="my chats", expected_count=2)
    assert (imported.imported_count, imported.refused_count) == (2, 0)
    assert memory.import_texts(read(), from_="jsonl", name="my chats").unchanged_count == 2
    listed = {each.id: each for each in memory.each_import(limit=1)}
    assert (listed[imported.import_id].name, listed[imported.import_id].from_) == ("my chats", "jsonl")
    assert memory.undo_import(imported.import_id).forgotten_count == 2
    with pytest.raises(NotFound):
        memory.undo_import(imported.import_id)
    assert memory.imports().total == len(listed) - 1


def test_a_file_is_previewed_and_imported(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("day,note\n2026-03-14,The lemon tree has its first flowers\n")
    options: Any = {"from_": "csv", "map": "content=note,created_at=day"}
    with path.open("rb") as file:
        preview = memory.import_file(file, dry_run=True, **options)
    assert isinstance(preview, models.FileImportResponse)
    assert (preview.found_count, preview.from_, preview.import_id) == (1, "csv", None)
    assert memory.memories().total == 0
    result = memory.import_file(path.read_bytes(), **options)
    assert isinstance(result, models.FileImportResponse)
    assert result.imported_count == 1
    (each,) = memory.each_memory()
    assert each.created_at == datetime(2026, 3, 14, tzinfo=timezone.utc)


class Recorder(io.BytesIO):
    """A file that records the sizes of its reads."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.sizes: list[int] = []

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.sizes.append(len(data))
        return data


def test_a_file_is_sent_in_chunks(memory: Memory) -> None:
    lines = b"".join(b'{"text":"fig %d"}\n' % i for i in range(10_000))
    file = Recorder(lines)
    preview = memory.import_file(file, from_="jsonl", map="content=text", dry_run=True)
    assert isinstance(preview, models.FileImportResponse)
    assert preview.found_count == 10_000
    assert file.sizes == [65_536, 65_536, 65_536, len(lines) - 3 * 65_536, 0]


LINE = b'{"text":"fig"}\n'
FILES: list[Any] = [LINE, bytearray(LINE), memoryview(LINE), [LINE[:5], LINE[5:]]]


@pytest.mark.parametrize("file", FILES, ids=["bytes", "bytearray", "memoryview", "chunks"])
def test_the_bytes_of_a_file_may_have_any_type(memory: Memory, file: Any) -> None:
    preview = memory.import_file(file, from_="jsonl", map="content=text", dry_run=True)
    assert isinstance(preview, models.FileImportResponse)
    assert preview.found_count == 1


async def test_a_file_with_asynchronous_reads_is_imported(async_memory: AsyncMemory) -> None:
    class File:
        def __init__(self) -> None:
            self.chunks = [b'{"text":', b'"fig"}\n', b""]

        async def read(self, _size: int) -> bytes:
            return self.chunks.pop(0)

    file: Any = File()
    preview = await async_memory.import_file(file, from_="jsonl", map="content=text", dry_run=True)
    assert isinstance(preview, models.FileImportResponse)
    assert preview.found_count == 1


def test_a_backup_is_the_database_file_and_postgresql_has_none(url: str, postgres: object | None) -> None:
    with Memory(url) as root:
        if postgres is not None:
            with pytest.raises(NotFound, match="pg_dump"), root.backup() as chunks:
                next(chunks)
            return
        with root.backup() as chunks:
            assert b"".join(chunks).startswith(b"SQLite format 3\0")


async def test_the_asynchronous_client_has_the_same_operations(async_memory: AsyncMemory, user_id: str) -> None:
    stored = await async_memory.store("the figs are ripe", created_at=MOMENT)
    assert (await async_memory.memory(stored.id)).user_id == user_id
    assert [each.id async for each in async_memory.each_memory()] == [stored.id]
    lines = [line async for line in async_memory.export_memories()]
    assert len(lines) == 2
    assert (await async_memory.import_memories(async_memory.export_memories())).unchanged_count == 1
    assert (await async_memory.import_memories(lines)).unchanged_count == 1
    imported = await async_memory.import_texts([{"external_id": "1", "content": "text"}], from_="jsonl")
    assert imported.imported_count == 1


def get_methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_both_clients_have_the_same_methods() -> None:
    assert {name.replace("aclose", "close") for name in get_methods(AsyncMemory)} == get_methods(Memory)


def test_an_operator_manages_keys_namespaces_and_quotas(start_service: StartService) -> None:
    service = start_service()
    name = "a b/ü?&=#%"
    quota = models.NamespaceQuota(memories=5, bytes=None)
    with Administration(service.url) as local:
        assert local.set_user_quota(name, quota).quota == quota
        assert local.set_quota("kitchen", quota).name == "kitchen"
        assert local.hooks(user_id="ada").paused is False
        assert local.set_hooks(user_id="ada", ignored_folders=["/home/ada/private"]).ignored_folders == (
            "/home/ada/private",
        )
        history = local.stats_history()
        assert (history.period_seconds, history.periods[-1].recalls) == (300, 0)
        operator_key = local.add_key(namespace="default", scope="operate")
    with Administration(service.url, api_key=operator_key.key) as operator:
        key = operator.add_key(namespace="kitchen", scope="write", user_id="ada", expires_at=MOMENT.replace(year=2999))
        assert key.expires_at == MOMENT.replace(year=2999)
        with Memory(service.url, api_key=key.key) as ada:
            ada.store("text")
            assert operator.revoke_key(key.id).status == "revoked"
            with pytest.raises(Unauthorized):
                ada.stats()
        assert [each.id for each in operator.list_keys().keys] == [operator_key.id, key.id]
        namespaces = {each.name: each for each in operator.list_namespaces().namespaces}
        assert (namespaces["kitchen"].memories, namespaces["kitchen"].quota) == (1, quota)
        assert operator.delete_namespace("kitchen").deleted_count == 1
        with pytest.raises(NotFound):
            operator.delete_namespace("kitchen")
