"""The user and agent to which the calls of a client are limited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .errors import Forbidden, Invalid, create_field_error

_MAX_ID_CHARS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Limits requests to the memories of one user, one agent, or one agent of one user. An empty scope has no limits."""

    user_id: str | None = None
    agent_id: str | None = None
    shared: bool = False

    @property
    def own_fields(self) -> dict[str, object]:
        """The user and agent as fields of a request."""
        ids = {"user_id": self.user_id, "agent_id": self.agent_id}
        return {name: value for name, value in ids.items() if value is not None}

    def narrow(self, *, user_id: str | None, agent_id: str | None, shared: bool) -> Scope:
        """Returns the scope inside this one.

        Raises:
            Invalid: Neither a user nor an agent is given, or an id is not a string of 1 to 256 characters.
            Forbidden: The user or agent is another than that of this scope.
        """
        given = {name: value for name, value in (("user_id", user_id), ("agent_id", agent_id)) if value is not None}
        if not given:
            raise Invalid("scope must have a user_id, an agent_id, or both")
        for name, value in given.items():
            if not is_id(value):
                raise create_field_error(name, f"be a string of 1 to {_MAX_ID_CHARS} characters")
        self.within(given)
        return replace(self, **given, shared=shared)

    def within(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Returns the fields of a request with the user and agent of the scope.

        Raises:
            Forbidden: The request names another user or agent.
        """
        for name, value in self.own_fields.items():
            if (fields.get(name) or value) != value:
                raise Forbidden(
                    f"{name} must be left out or equal the {name} of the scope: {fields[name]!r} is not {value!r}"
                )
        return {**fields, **self.own_fields}

    def reading(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Returns the fields of a read, which also includes shared memories if the scope does."""
        return self.within({"shared": self.shared, **fields} if self.own_fields else fields)

    def writing(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Returns the fields of a write.

        Raises:
            Forbidden: The request names another user or agent, or would change shared memories.
        """
        if self.own_fields and fields.get("shared"):
            raise Forbidden("shared must be False in a write: a scope can read shared memories, but not change them")
        return self.within(fields)

    def require_namespace(self, method: str) -> None:
        """Raises `Forbidden` if there is a user or an agent."""
        if self.own_fields:
            raise Forbidden(f"{method} concerns the whole namespace; call it on a client without a scope")


def is_id(value: object) -> bool:
    """Returns whether a value is an id of a user, an agent or a session: a string of 1 to 256 characters."""
    return isinstance(value, str) and 1 <= len(value) <= _MAX_ID_CHARS
