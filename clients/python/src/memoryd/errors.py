"""The errors of calls: one class for each error code of the service."""

# The names are those of the error codes.
# ruff: noqa: N818

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import ClassVar

from ._decode import DecodeError, decode_json
from .models import ErrorBody, ErrorDetail

__all__ = [
    "Conflict",
    "Forbidden",
    "InternalError",
    "Invalid",
    "MemorydError",
    "MethodNotAllowed",
    "NotFound",
    "PayloadTooLarge",
    "PreconditionFailed",
    "RateLimited",
    "Unauthorized",
    "Unavailable",
    "UnsupportedMediaType",
    "to_exception",
]


@dataclass(frozen=True, kw_only=True)
class _ErrorResponse:
    error: ErrorBody


class MemorydError(Exception):
    """The base class of the errors that calls raise.

    Example:
        >>> try:
        ...     memory.memory("unknown")
        ... except NotFound as error:
        ...     print(error.code)
        NOT_FOUND
    """

    code: ClassVar[str] = "INTERNAL_ERROR"
    """The error code of the service. It is the same for all errors of a class."""

    message: str
    """The field, the rule and the fix, in English."""
    status: int | None
    """HTTP status of the response. None if no response arrived, or if the client refused the request."""
    details: tuple[ErrorDetail, ...]
    """Problems in the request, with JSON Pointers to the fields."""
    request_id: str | None
    """Id of the request in the log of the service."""
    retry_after_seconds: float | None
    """Seconds after which to retry, from the header `Retry-After`."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        details: tuple[ErrorDetail, ...] = (),
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.details = details
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds


class Invalid(MemorydError, ValueError):
    """The request is malformed. `details` names the fields."""

    code = "INVALID_REQUEST"


class Unauthorized(MemorydError):
    """The request needs a valid API key."""

    code = "UNAUTHORIZED"


class Forbidden(MemorydError):
    """The API key or the scope does not permit the operation."""

    code = "FORBIDDEN"


class NotFound(MemorydError):
    """The memory, consolidation run, import or route does not exist, or is outside the scope."""

    code = "NOT_FOUND"


class MethodNotAllowed(MemorydError):
    """The path does not support the method."""

    code = "METHOD_NOT_ALLOWED"


class Conflict(MemorydError):
    """The idempotency key was used with another request, or the change contradicts the state of the memory."""

    code = "CONFLICT"


class PreconditionFailed(MemorydError):
    """Another client has changed the memory: its version is not in `if_versions`."""

    code = "PRECONDITION_FAILED"


class PayloadTooLarge(MemorydError):
    """The request is larger than the service accepts."""

    code = "PAYLOAD_TOO_LARGE"


class UnsupportedMediaType(MemorydError):
    """The service does not accept the encoding or the type of the body."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class RateLimited(MemorydError):
    """Too many requests, also after the retries. `retry_after_seconds` is the time to wait."""

    code = "RATE_LIMITED"


class InternalError(MemorydError):
    """The service failed, or the response did not come from memoryd."""

    code = "INTERNAL_ERROR"


class Unavailable(MemorydError):
    """The service cannot respond now. If `status` is None, no response arrived: a write may have been executed."""

    code = "UNAVAILABLE"


_CLASSES: Mapping[str, type[MemorydError]] = {
    each.code: each
    for each in (
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
}

_CLASSES_BY_STATUS: Mapping[int, type[MemorydError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    412: PreconditionFailed,
    413: PayloadTooLarge,
    415: UnsupportedMediaType,
    429: RateLimited,
    500: InternalError,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
"""Errors of responses without an error code in the body, such as responses of a proxy."""

_CHECK_ADDRESS = "check the address of the service, and the proxy if there is one"


def create_field_error(field: str, rule: str) -> Invalid:
    """Returns the error of a value that cannot be sent. `rule` completes the sentence "field must …"."""
    message = f"{field} must {rule}"
    return Invalid(message, details=(ErrorDetail(path=f"/{field}", message=message),))


def to_error(status: int, headers: Mapping[str, str], body: bytes) -> MemorydError:
    """Returns the error of a response with an error status."""
    error = _parse_body(body)
    error_class = _CLASSES.get(error.code) if error else None
    request_id = headers.get("x-request-id")
    retry_after_seconds = _parse_retry_after(headers.get("retry-after"))
    if error and error_class:
        return to_exception(error, status=status, request_id=request_id, retry_after_seconds=retry_after_seconds)
    return _CLASSES_BY_STATUS.get(status, InternalError)(
        f"the response has the status {status} without a memoryd error; {_CHECK_ADDRESS}",
        status=status,
        request_id=request_id,
        retry_after_seconds=retry_after_seconds,
    )


def to_exception(
    error: ErrorBody,
    *,
    status: int | None = None,
    request_id: str | None = None,
    retry_after_seconds: float | None = None,
) -> MemorydError:
    """Returns the exception of an error in a response, such as that of one memory of `Memory.store_batch`.

    Example:
        >>> for result in memory.store_batch([{"content": ""}]).results:
        ...     if isinstance(result, models.StoreBatchError):
        ...         raise to_exception(result.error)
    """
    return _CLASSES.get(error.code, InternalError)(
        error.message,
        status=status,
        details=error.details or (),
        request_id=request_id,
        retry_after_seconds=retry_after_seconds,
    )


def create_unexpected_response(status: int, headers: Mapping[str, str], expected: str) -> InternalError:
    """Returns the error of a successful response that memoryd would not have sent, such as the page of a proxy."""
    message = f"the response with the status {status} does not contain {expected}; {_CHECK_ADDRESS}"
    return InternalError(message, status=status, request_id=headers.get("x-request-id"))


def _parse_body(body: bytes) -> ErrorBody | None:
    try:
        return decode_json(_ErrorResponse, body).error
    except DecodeError:
        return None


def _parse_retry_after(text: str | None) -> float | None:
    """Parses a number of seconds or a date (RFC 9110, section 10.2.3)."""
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # A date in the form "-0000" has no zone, and is in UTC.
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return max(0.0, (aware - datetime.now(timezone.utc)).total_seconds())
