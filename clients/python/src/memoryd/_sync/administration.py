"""The client for the operators of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import Literal, TypeVar

import httpx

from memoryd import _operations as operations
from memoryd import models
from memoryd._calls import create_request, decode_response, get_path
from memoryd._request import CallOptions, Operation
from memoryd._typing import Self

from .transport import Transport

T = TypeVar("T")


class Administration:
    """A client for API keys, namespaces, quotas, hook settings and the load of the service.

    Calls need an API key with the scope `operate`, or none while the service accepts local requests without a key.
    `hooks` needs the scope `read`, and `set_hooks` the scope `write`. Reads, quotas and hook settings are repeated if no
    response arrives; `add_key`, `revoke_key` and `delete_namespace` are not.

    Example:
        >>> with Administration("http://127.0.0.1:8090") as operator:
        ...     print((operator.add_key(namespace="kitchen", scope="write")).key)
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8090",
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        total_timeout: float | None = None,
        retries: int = 5,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        """Creates a client. The arguments are those of `Memory`."""
        self._transport = Transport(url, api_key, headers, http_client)
        self._options = CallOptions(timeout=timeout, total_timeout=total_timeout, retries=retries)

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def list_keys(self) -> models.ApiKeysResponse:
        """Returns all keys without their secrets, also revoked ones, in order of creation."""
        return self._call(operations.LIST_KEYS, models.ApiKeysResponse)

    def add_key(
        self,
        *,
        namespace: str,
        scope: models.Scope,
        user_id: str | None = None,
        agent_id: str | None = None,
        name: str | None = None,
        expires_at: datetime | date | None = None,
    ) -> models.ApiKeyWithSecret:
        """Creates a key. `key` of the result is the secret, which cannot be read later.

        Args:
            namespace: 1 to 128 letters, digits and characters of `._:@/+-`. Created on first use.
            scope: `metrics`, `read`, `write` or `operate`.
            user_id: Restricts the key to a user. Without it, the key can access all users.
            agent_id: Restricts the key to an agent. Without it, the key can access all agents.
            name: Helps operators recognize the key, at most 128 characters.
            expires_at: Time at which the key expires. Never by default.
        """
        fields = {
            "namespace": namespace,
            "scope": scope,
            "user_id": user_id,
            "agent_id": agent_id,
            "name": name,
            "expires_at": expires_at,
        }
        body = {field: value for field, value in fields.items() if value is not None}
        return self._call(operations.ADD_KEY, models.ApiKeyWithSecret, body=body)

    def revoke_key(self, key_id: str) -> models.RevokeKeyResponse:
        """Revokes a key. Raises `NotFound` for an unknown id."""
        return self._call(operations.REVOKE_KEY, models.RevokeKeyResponse, identifier=key_id)

    def list_namespaces(self) -> models.NamespacesResponse:
        """Returns the namespaces with their usage and quotas, ordered by name."""
        return self._call(operations.LIST_NAMESPACES, models.NamespacesResponse)

    def set_quota(self, name: str, quota: models.NamespaceQuota) -> models.QuotaResponse:
        """Sets the quota of a namespace. A limit of None is the default of the service, and 0 is no limit.

        Example:
            >>> operator.set_quota("kitchen", models.NamespaceQuota(memories=10_000, bytes=None))
        """
        return self._call(operations.SET_QUOTA, models.QuotaResponse, identifier=name, body=_to_body(quota))

    def delete_namespace(self, name: str) -> models.DeleteNamespaceResponse:
        """Deletes a namespace for good. Raises `NotFound` for an unknown name."""
        return self._call(operations.DELETE_NAMESPACE, models.DeleteNamespaceResponse, identifier=name)

    def set_user_quota(self, user_id: str, quota: models.NamespaceQuota) -> models.UserQuotaResponse:
        """Sets the quota of a user in the namespace of the API key. See `set_quota`."""
        body = _to_body(quota)
        return self._call(operations.SET_USER_QUOTA, models.UserQuotaResponse, identifier=user_id, body=body)

    def stats_history(self) -> models.StatsHistoryResponse:
        """Returns the counts and latencies of the last 24 hours of this service process, for all namespaces."""
        return self._call(operations.STATS_HISTORY, models.StatsHistoryResponse)

    def hooks(self, *, user_id: str | None = None) -> models.HooksResponse:
        """Returns the hook settings and the activity of the hooks of a user, or of requests without a user."""
        return self._call(operations.HOOKS, models.HooksResponse, query=_to_query(user_id))

    def set_hooks(
        self,
        *,
        user_id: str | None = None,
        paused: bool | None = None,
        ignored_folders: Sequence[str] | None = None,
    ) -> models.HooksResponse:
        """Changes the hook settings of a user, or of nobody. Settings with None stay the same.

        Args:
            user_id: The user whose agent programs call the hooks.
            paused: True: hooks store nothing and give nothing.
            ignored_folders: At most 100 absolute paths, in and below which hooks store nothing and give nothing.
        """
        fields = {"paused": paused, "ignored_folders": ignored_folders}
        body = {name: value for name, value in fields.items() if value is not None}
        return self._call(operations.SET_HOOKS, models.HooksResponse, query=_to_query(user_id), body=body)

    def _call(
        self,
        operation: Operation,
        hint: type[T],
        *,
        identifier: str | None = None,
        query: Mapping[str, object] | None = None,
        body: object = None,
    ) -> T:
        request = create_request(
            operation,
            path=None if identifier is None else get_path(operation, identifier),
            query=query,
            body=body,
            is_repeatable=operation.method in ("GET", "PUT"),
        )
        return decode_response(hint, self._transport.send(request, self._options))


def _to_body(quota: models.NamespaceQuota) -> dict[Literal["memories", "bytes"], int | None]:
    # None has a meaning in a quota, so it is sent.
    return {"memories": quota.memories, "bytes": quota.bytes}


def _to_query(user_id: str | None) -> dict[str, object]:
    return {} if user_id is None else {"user_id": user_id}
