"""Services and networks that fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import httpx
import pytest

from memoryd import (
    AsyncMemory,
    Conflict,
    Forbidden,
    InternalError,
    Invalid,
    Memory,
    MemorydError,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    RateLimited,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
    models,
)
from memoryd._decode import decode
from memoryd.errors import to_error, to_exception
from proxy import LossyProxy, ScriptedServer, SlowServer, create_response
from service import StartService

API_KEY = "0123456789abcdef0123456789abcdef"
HTML = "<html>Bad gateway</html>"
SLOW_HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000
SLOW_BODY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000
SLOW_ERROR = SLOW_BODY.replace(b"200 OK", b"400 Bad Request")
STATS = '{"error": {"code": "%s", "message": "%s", "request_id": "r"}}'


class TestLostResponses:
    """Requests that the service has executed, but whose responses do not arrive."""

    def test_a_store_is_repeated_and_stores_once(self, url: str, user_id: str) -> None:
        with LossyProxy(url, losses=2) as proxy, Memory(proxy.url) as root:
            memory = root.scope(user_id=user_id)
            stored = memory.store("text")
            assert [request.split()[0] for request in proxy.requests] == ["POST"] * 3
            assert [each.id for each in memory.each_memory()] == [stored.id]

    def test_a_batch_is_repeated_and_stores_each_memory_once(self, url: str, user_id: str) -> None:
        with LossyProxy(url, losses=1) as proxy, Memory(proxy.url) as root:
            memory = root.scope(user_id=user_id)
            response = memory.store_batch([{"content": f"text {i}"} for i in range(10)])
            assert response.stored_count == 10
            assert {each.id for each in memory.each_memory()} == {get_id(result) for result in response.results}

    def test_reads_and_changes_of_one_memory_are_repeated(self, url: str, user_id: str) -> None:
        with LossyProxy(url) as proxy, Memory(proxy.url) as root:
            memory = root.scope(user_id=user_id)
            stored = memory.store("text")
            calls: list[Callable[[], object]] = [
                lambda: memory.memory(stored.id),
                lambda: memory.recall("text"),
                lambda: memory.recall("text", filter={"tag": "a"}),
                lambda: memory.context("text"),
                lambda: memory.update(stored.id, importance=1),
                lambda: memory.update(stored.id, importance=1, if_versions=None),
                root.health,
                root.metrics,
                lambda: list(memory.export_memories()),
            ]
            for call in calls:
                proxy.losses = 1
                call()
                assert proxy.losses == 0

    def test_a_forget_that_was_executed_is_not_found_when_repeated(self, url: str, user_id: str) -> None:
        with LossyProxy(url) as proxy, Memory(proxy.url) as root:
            stored = root.store("text", user_id=user_id)
            proxy.losses = 1
            with pytest.raises(NotFound):
                root.forget(stored.id)

    def test_writes_without_an_idempotency_key_are_not_repeated(self, url: str, user_id: str) -> None:
        with LossyProxy(url) as proxy, Memory(proxy.url) as root:
            memory = root.scope(user_id=user_id)
            stored = memory.store("text", session_id="s")
            calls: list[Callable[[], object]] = [
                lambda: memory.update(stored.id, importance=1, if_versions=[1]),
                lambda: memory.context("text", session_id="s"),
                lambda: memory.import_texts([{"content": "text", "external_id": "1"}], from_="jsonl"),
                lambda: memory.forget_many(session_id="other"),
                lambda: memory.forget(stored.id, if_versions=[2]),
            ]
            for call in calls:
                proxy.requests.clear()
                proxy.losses = 1
                with pytest.raises(Unavailable, match="no response") as caught:
                    call()
                assert caught.value.status is None
                assert len(proxy.requests) == 1
            assert memory.memories(session_id="s").total == 0

    def test_a_call_ends_after_its_retries(self, url: str) -> None:
        with LossyProxy(url, losses=100) as proxy, Memory(proxy.url, retries=2) as root:
            with pytest.raises(Unavailable):
                root.root()
            assert len(proxy.requests) == 3
            with pytest.raises(Unavailable):
                root.with_options(retries=0).root()
            assert len(proxy.requests) == 4


def get_id(result: models.StoreBatchResult) -> str:
    assert isinstance(result, models.StoreResponse)
    return result.id


class TestOutage:
    """A service that is killed, paused, or not there."""

    def test_a_service_that_dies_during_stores_loses_and_doubles_nothing(self, start_service: StartService) -> None:
        service = start_service()
        acknowledged: dict[str, str] = {}
        refused: dict[str, int | None] = {}
        lock = threading.Lock()

        def store(worker: int) -> None:
            for i in range(60):
                content = f"memory {worker}-{i}"
                try:
                    stored = memory.store(content)
                except Unavailable as error:
                    with lock:
                        refused[content] = error.status
                else:
                    with lock:
                        acknowledged[content] = stored.id
                        if len(acknowledged) == 60:
                            half_done.set()

        half_done = threading.Event()
        with Memory(service.url, retries=1) as memory:
            workers = [threading.Thread(target=store, args=(worker,)) for worker in range(4)]
            for worker in workers:
                worker.start()
            assert half_done.wait(60)
            service.kill()
            for worker in workers:
                worker.join()
            # No response arrived: the caller knows that the memory may have been stored.
            assert set(refused.values()) == {None}
            service.start()
            stored = {each.content: each.id for each in memory.each_memory()}
            total = memory.memories().total
        assert total == len(stored)
        assert acknowledged.items() <= stored.items()

    def test_a_store_waits_for_a_service_that_starts_again(self, start_service: StartService) -> None:
        service = start_service()
        with Memory(service.url, retries=30) as memory:
            first = memory.store("before")
            service.kill()
            starter = threading.Thread(target=service.start)
            starter.start()
            second = memory.store("after")
            starter.join()
            assert {each.id for each in memory.each_memory()} == {first.id, second.id}

    def test_an_attempt_ends_after_its_timeout(self, start_service: StartService) -> None:
        service = start_service()
        with Memory(service.url, timeout=0.2, retries=1) as memory:
            service.pause()
            with pytest.raises(Unavailable, match=r"no response \(timeout\) to GET http://.*/stats; check the address"):
                memory.stats()
            service.resume()
            assert memory.with_options(timeout=30).stats().working_count == 0

    def test_a_call_ends_after_its_total_timeout(self, start_service: StartService) -> None:
        service = start_service()
        service.pause()
        with Memory(service.url, total_timeout=0.5, retries=1000) as memory, pytest.raises(Unavailable):
            memory.stats()
        service.resume()

    def test_an_address_without_a_service_is_unavailable(self) -> None:
        with (
            Memory("http://127.0.0.1:1", retries=0) as memory,
            pytest.raises(Unavailable, match=r"127\.0\.0\.1:1") as caught,
        ):
            memory.store("text")
        assert caught.value.status is None
        assert isinstance(caught.value.__cause__, httpx.ConnectError)

    def test_an_export_and_a_backup_that_are_cut_off_raise_an_error(self, url: str, user_id: str) -> None:
        with Memory(url) as root:
            root.store_batch([{"content": f"text {i}", "user_id": user_id} for i in range(200)])
        with LossyProxy(url, max_bytes=20_000) as proxy, Memory(proxy.url) as root:
            lines: list[str] = []
            with pytest.raises(Unavailable, match="no response"):
                lines.extend(root.export_memories(user_id=user_id))
            assert 0 < len(lines) < 201
            with pytest.raises(Unavailable, match="no response"):
                list(root.backup())


class TestTimeouts:
    """Servers whose responses arrive byte by byte."""

    @pytest.mark.parametrize("response", [SLOW_BODY, SLOW_ERROR], ids=["body", "body of an error"])
    def test_a_slow_body_ends_a_call_after_its_total_timeout(self, response: bytes) -> None:
        with SlowServer(response) as server, Memory(server.url, total_timeout=0.5) as memory:
            with pytest.raises(Unavailable, match="timeout"):
                memory.stats()
            assert not server.has_ended

    @pytest.mark.parametrize("response", [SLOW_HEAD, SLOW_BODY, SLOW_ERROR], ids=["head", "body", "body of an error"])
    async def test_a_slow_response_ends_an_asynchronous_call_after_its_total_timeout(self, response: bytes) -> None:
        with SlowServer(response) as server:
            async with AsyncMemory(server.url, total_timeout=0.5) as memory:
                with pytest.raises(Unavailable, match="timeout"):
                    await memory.stats()
            assert not server.has_ended

    def test_the_body_of_an_error_has_a_maximum_size(self) -> None:
        page = create_response(500, "x" * 8 * 1024 * 1024)
        with ScriptedServer([page]) as server, Memory(server.url) as memory, pytest.raises(InternalError):
            memory.stats()


class TestOverload:
    """A service that refuses requests for a time."""

    def test_a_key_with_too_many_requests_is_refused_for_a_time(self, start_service: StartService) -> None:
        service = start_service({"SERVICE_RATE_LIMIT": "3", "SERVICE_API_KEY": API_KEY})
        with Memory(service.url, api_key=API_KEY, retries=0) as memory:
            for _ in range(3):
                memory.stats()
            with pytest.raises(RateLimited) as caught:
                memory.stats()
        assert caught.value.status == 429
        assert (caught.value.retry_after_seconds or 0) > 0
        assert caught.value.request_id

    @pytest.mark.parametrize(
        "refusal",
        [
            create_response(429, STATS % ("RATE_LIMITED", "slow down")),
            create_response(503, STATS % ("UNAVAILABLE", "busy"), Retry_After="0"),
            create_response(503, HTML, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"),
        ],
        ids=["429", "503 with seconds", "503 with a date"],
    )
    def test_a_call_is_repeated_after_429_and_503_with_retry_after(self, refusal: bytes) -> None:
        forgotten = create_response(
            200, '{"status": "forgotten", "forgotten_count": 1}', Content_Type="application/json"
        )
        with ScriptedServer([refusal, refusal, forgotten]) as server, Memory(server.url) as memory:
            assert memory.forget_many(tag="a").forgotten_count == 1
            assert len(server.requests) == 3

    def test_a_call_does_not_wait_longer_than_its_total_timeout(self) -> None:
        refusal = create_response(429, STATS % ("RATE_LIMITED", "slow down"), Retry_After="1000")
        with ScriptedServer([refusal]) as server, Memory(server.url) as memory:
            with pytest.raises(RateLimited) as caught:
                memory.stats()
            assert caught.value.retry_after_seconds == 1000
            assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [502, 503, 504])
    def test_a_failure_of_a_proxy_is_repeated_only_if_that_is_safe(self, status: int) -> None:
        with ScriptedServer([create_response(status, HTML)]) as server, Memory(server.url, retries=1) as memory:
            for call, attempts in ((memory.stats, 2), (lambda: memory.forget_many(tag="a"), 1)):
                server.requests.clear()
                with pytest.raises(
                    Unavailable, match=f"the response has the status {status} without a memoryd error"
                ) as caught:
                    call()
                assert caught.value.status == status
                assert len(server.requests) == attempts

    def test_an_import_is_never_repeated(self) -> None:
        refusal = create_response(429, STATS % ("RATE_LIMITED", "slow down"))
        with ScriptedServer([refusal]) as server, Memory(server.url) as memory:
            with pytest.raises(RateLimited):
                memory.import_memories(["{}"])
            assert len(server.requests) == 1


class TestUnexpectedResponses:
    """Responses that do not come from memoryd."""

    @pytest.mark.parametrize(
        ("response", "message"),
        [
            (create_response(200, HTML, Content_Type="text/html"), "does not contain application/json"),
            (create_response(200, HTML), "the response is not a StatsResponse: the body must be JSON"),
            (create_response(200, "{}", Content_Type="application/json"), "must have the field working_count"),
            (
                create_response(302, "", Location="http://elsewhere"),
                "the response has the status 302 without a memoryd error",
            ),
            (create_response(418, "{}"), "status 418 without a memoryd error; check the address of the service"),
        ],
    )
    def test_another_response_is_an_error_that_says_what_to_check(self, response: bytes, message: str) -> None:
        with ScriptedServer([response]) as server, Memory(server.url) as memory:
            with pytest.raises(InternalError, match=message):
                memory.stats()
            assert len(server.requests) == 1

    def test_a_health_page_of_a_proxy_is_unavailable(self) -> None:
        page = create_response(503, HTML)
        with ScriptedServer([page]) as server, Memory(server.url, retries=0) as memory, pytest.raises(Unavailable):
            memory.health()

    def test_an_unhealthy_service_reports_its_health(self) -> None:
        health = {
            "status": "unhealthy",
            "reason": "disk full",
            "version": "0.1.0",
            "checked_at": None,
            "db_connected": False,
            "db_size_mb": 1,
            "working_count": 0,
            "episodic_count": 0,
            "semantic_count": 0,
            "last_sleep_at": None,
            "uptime_seconds": 1,
            "embedder": "off",
        }
        response = create_response(503, json.dumps(health), Content_Type="application/json")
        with ScriptedServer([response]) as server, Memory(server.url) as memory:
            assert memory.health().reason == "disk full"

    def test_requests_carry_the_key_the_headers_and_the_version(self) -> None:
        answer = create_response(200, "text", Content_Type="text/plain; charset=utf-8")
        with (
            ScriptedServer([answer]) as server,
            Memory(f"{server.url}/base/", api_key="secret", headers={"X-Team": "blue é"}) as memory,
        ):
            assert memory.metrics() == "text"
            (request,) = server.requests
        lines = request.decode("latin-1").split("\r\n")
        assert lines[0] == "GET /base/metrics HTTP/1.1"
        assert {"Authorization: Bearer secret", "X-Team: blue é", "User-Agent: memoryd-python/0.1.0"} <= set(lines)


class TestErrors:
    """Each error code of the service has a class."""

    CLASSES = (
        Invalid,
        Unauthorized,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        Conflict,
        PreconditionFailed,
        PayloadTooLarge,
        UnsupportedMediaType,
        RateLimited,
        InternalError,
        Unavailable,
    )

    def test_every_error_code_of_the_openapi_document_has_a_class(self, url: str) -> None:
        schemas = httpx.get(f"{url}/openapi.json").json()["components"]["schemas"]
        assert set(schemas["ErrorCode"]["enum"]) == {each.code for each in self.CLASSES}

    @pytest.mark.parametrize("error_class", CLASSES)
    def test_an_error_has_the_fields_of_its_response(self, error_class: type[MemorydError]) -> None:
        details = [{"path": "/content", "message": "content must be a string"}]
        body = {"code": error_class.code, "message": "what happened", "details": details}
        error = to_exception(decode(models.ErrorBody, body), status=400, request_id="r", retry_after_seconds=1.5)
        assert type(error) is error_class
        assert (str(error), error.message, error.status) == ("what happened", "what happened", 400)
        assert error.details == (models.ErrorDetail(path="/content", message="content must be a string"),)
        assert (error.request_id, error.retry_after_seconds) == ("r", 1.5)

    def test_errors_of_the_service_have_their_class(self, memory: Memory, user_id: str) -> None:
        stored = memory.store("text", idempotency_key=user_id)
        with pytest.raises(Conflict) as conflict:
            memory.store("other", idempotency_key=user_id)
        with pytest.raises(PreconditionFailed) as precondition:
            memory.update(stored.id, content="other", if_versions=[7])
        with pytest.raises(PreconditionFailed):
            memory.forget(stored.id, if_versions=[])
        with pytest.raises(Invalid) as invalid:
            memory.store(" ")
        with pytest.raises(PayloadTooLarge) as large:
            memory.store("a" * 2_000_000)
        for caught in (conflict, precondition, invalid, large):
            assert caught.value.request_id
        assert invalid.value.details == (models.ErrorDetail(path="/content", message=invalid.value.details[0].message),)
        assert memory.memory(stored.id).content == "text"

    def test_a_key_that_does_not_permit_a_call_is_an_error(self, start_service: StartService) -> None:
        service = start_service({"SERVICE_API_KEY": API_KEY})
        with Memory(service.url) as memory, pytest.raises(Unauthorized):
            memory.stats()
        with Memory(service.url, api_key=API_KEY) as memory:
            assert memory.stats().working_count == 0

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [("7", 7), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("soon", None), ("", None), ("-1", None), ("1.5", None)],
    )
    def test_retry_after_is_a_number_or_a_date(self, header: str, seconds: float | None) -> None:
        assert to_error(503, {"retry-after": header}, b"").retry_after_seconds == seconds
