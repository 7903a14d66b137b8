"""Requests, and the rules by which they are sent and sent again."""

from __future__ import annotations

import math
import random
import re
import uuid
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import httpx

from ._version import VERSION
from .errors import MemorydError, Unavailable, create_field_error

SLOW_TIMEOUT_SECONDS = 600.0
DEFAULT_TIMEOUT_SECONDS = 120.0
MAX_BACKOFF_SECONDS = 5.0
MIN_TIMEOUT_SECONDS = 0.001
USER_AGENT = f"memoryd-python/{VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of the REST interface."""

    method: str
    path: str
    """Path with at most one parameter in braces."""
    is_slow: bool = False
    """True if the duration grows with the number of memories, so that only the timeout of the whole call applies."""
    media_type: str = "application/json"
    """Media type of the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, which may be sent several times."""

    operation: Operation
    path: str
    """Path with the query string."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    stream: AsyncIterable[bytes] | Iterable[bytes] | None = None
    """A body that is read while it is sent. It cannot be sent again."""
    is_repeatable: bool
    """True if sending the request again has no additional effect."""
    accepts: Callable[[int, bytes], bool] | None = None
    """Returns true for the status and body of an error with which the call still succeeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Timeouts, in seconds, and retries of calls. See `Memory`."""

    timeout: float = 30.0
    total_timeout: float | None = None
    retries: int = 5
    retry_delay: float = 0.25
    reconnect_timeout: float = 600.0

    def __post_init__(self) -> None:
        """Raises `Invalid` for other values than finite numbers of seconds above 0, and whole numbers of retries."""
        for name, seconds in (("timeout", self.timeout), ("total_timeout", self.total_timeout)):
            if not _is_duration(seconds) and (name, seconds) != ("total_timeout", None):
                raise create_field_error(name, "be a number of seconds above 0")
        if not _is_count(self.retries):
            raise create_field_error("retries", "be a whole number from 0")

    def get_total_timeout(self, operation: Operation) -> float:
        """Returns the timeout of a call with all its attempts."""
        if self.total_timeout is not None:
            return self.total_timeout
        return SLOW_TIMEOUT_SECONDS if operation.is_slow else DEFAULT_TIMEOUT_SECONDS

    def get_attempt_timeout(self, operation: Operation, remaining: float) -> float:
        """Returns the timeout of one attempt."""
        timeout = remaining if operation.is_slow else min(remaining, self.timeout)
        return max(timeout, MIN_TIMEOUT_SECONDS)

    def get_retry_wait(self, error: MemorydError, request: Request, attempt: int) -> float | None:
        """Returns the seconds after which a failed request is sent again, or None if it is not."""
        if attempt >= self.retries or not is_retryable(error, request):
            return None
        return (error.retry_after_seconds or 0) + get_backoff(attempt, self.retry_delay)


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_retryable(error: MemorydError, request: Request) -> bool:
    """Returns true for an overloaded service, and for a failure that a repeatable request can try again."""
    if request.stream is not None:
        return False
    if error.status == 429 or (error.status == 503 and error.retry_after_seconds is not None):
        return True
    is_failure = isinstance(error, Unavailable) and error.status in (None, 502, 503, 504)
    return request.is_repeatable and is_failure


def get_backoff(attempt: int, delay: float) -> float:
    """Returns the seconds before a retry: exponential backoff with full jitter.

    Callers that failed together then do not retry together.
    """
    return random.uniform(0, min(delay * 2**attempt, MAX_BACKOFF_SECONDS))  # noqa: S311 - no secret


def to_base_url(url: str) -> str:
    """Returns the base URL without trailing slashes.

    Raises:
        Invalid: The URL is not an HTTP or HTTPS URL, or has a user name, a password, a query or a fragment.
    """
    # The messages do not contain the URL, which may include a password.
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise create_field_error("url", "be an http or https URL such as http://127.0.0.1:8090")
    if not 0 < (parsed.port or 80) < 65_536:
        raise create_field_error("url", "have a port from 1 to 65,535")
    if parsed.userinfo:
        raise create_field_error("url", "not contain a user name or password; set api_key instead")
    if "?" in url or "#" in url:
        raise create_field_error("url", "not contain a query or fragment, because the client appends paths to the url")
    return url.strip().rstrip("/")


def is_loopback(url: str) -> bool:
    """Returns whether requests to a base URL stay on this machine. A proxy of the environment must not receive them."""
    return httpx.URL(url).host in ("127.0.0.1", "::1", "localhost")


def to_headers(headers: Mapping[str, str], api_key: str | None) -> dict[bytes, bytes]:
    """Returns the headers of each request as bytes (RFC 9110, section 5).

    Raises:
        Invalid: The name or value of a header is not valid. The message does not show the value, which may be secret.
    """
    given = {"User-Agent": USER_AGENT, **headers}
    encoded = {to_header_name(name): to_header_value(name, value) for name, value in given.items()}
    if api_key is not None:
        encoded[b"Authorization"] = b"Bearer " + to_header_value("api_key", api_key)
    return encoded


def to_header_name(name: str) -> bytes:
    """Returns the name of a header as bytes. Raises `Invalid` for a name with other characters than a token."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise create_field_error(name, "be a valid header name")
    return name.encode("ascii")


def to_header_value(name: str, value: str) -> bytes:
    """Returns the value of a header as bytes. Raises `Invalid` for line breaks and characters above U+00FF."""
    if re.search(r"[^\t -~\x80-\xff]", value):
        raise create_field_error(name, "be one line of characters up to U+00FF, because it is sent as a header")
    return value.strip("\t ").encode("latin-1")


def to_idempotency_key(key: str | None) -> str:
    """Returns the key, or a new random key.

    Raises:
        Invalid: The key has other characters than printable ASCII, or its length is not 1 to 255.
    """
    if key is None:
        return str(uuid.uuid4())
    if not re.fullmatch(r"[!-~](?:[ -~]{0,253}[!-~])?", key):
        rule = "be 1 to 255 printable ASCII characters without leading or trailing spaces"
        raise create_field_error("idempotency_key", rule)
    return key


def to_if_match(versions: object) -> str:
    """Returns accepted versions as the header `If-Match`. No version becomes version 0, which no memory has.

    Raises:
        Invalid: The value is not a list of versions.
    """
    numbers = (
        list(cast("Iterable[object]", versions)) if isinstance(versions, (list, tuple, set, frozenset)) else [None]
    )
    if not all(map(_is_count, numbers)):
        raise create_field_error("if_versions", "be a list of version numbers, such as [memory.version]")
    return ", ".join(f'"{number}"' for number in numbers or [0])
