"""The keyword arguments of calls, which have the names of the REST interface.

None means that an argument is left out, except where a class says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypedDict

from ._unset import UnsetType
from .filters import FilterLike
from .models import EventType, ImportFormat, Tier


class OwnScope(TypedDict, total=False):
    """Limits a call to the memories of one user, of one agent, or of one agent of one user."""

    user_id: str
    """1 to 256 characters."""
    agent_id: str
    """1 to 256 characters."""


class ReadScope(OwnScope, total=False):
    """Limits a read."""

    shared: bool | None
    """Include memories without a user with `user_id`, and without an agent with `agent_id`. Defaults to False."""


class Page(TypedDict, total=False):
    """Selects a page of a list."""

    limit: int | None
    """Maximum number of items, 1 to 10,000. Defaults to 1,000."""
    cursor: str | None
    """`next_cursor` of the previous page. All other arguments must stay the same."""


class FilterOptions(ReadScope, total=False):
    """Selects the memories that meet all conditions."""

    filter: FilterLike | None
    """A filter of `F`, or the same as a dict."""
    tag: Sequence[str] | str | None
    """Only memories that have all of these tags, at most 64."""
    tier: Tier | None
    session_id: str | None
    source: str | None
    external_id: str | None
    since: datetime | date | None
    """Earliest `created_at`, inclusive. A date means the start of that day in UTC."""
    until: datetime | date | None
    """Latest `created_at`, inclusive. A date means the end of that day in UTC."""
    metadata: Mapping[str, str | int | float | bool] | None
    """Top-level metadata fields, at most 16, and the values that they must equal."""


class ValidityOptions(TypedDict, total=False):
    """Selects memories by the period in which they hold, and by what was stored."""

    current: bool | None
    """Only memories that hold now, or at `asked_at`. Cannot be combined with `as_of`. Defaults to False."""
    as_of: datetime | date | None
    """Only memories that held at this time."""
    known_at: datetime | date | None
    """Only what had been stored by this time, each memory with the text and fields that it had then."""


class MessageFields(TypedDict, total=False):
    """The fields of a message to store. See `models.StoreRequest`. Its owner is the scope of the client."""

    tags: Sequence[str] | None
    importance: float | None
    source: str | None
    external_id: str | None
    created_at: datetime | date | None
    expires_at: datetime | date | None
    valid_from: datetime | date | None
    valid_to: datetime | date | None
    metadata: Mapping[str, Any] | None
    attachment: str | None
    supersedes: str | None


class _RequiredMessageFields(TypedDict):
    role: str
    content: str


class Message(_RequiredMessageFields, MessageFields, total=False):
    """A message of a conversation: its role and content, and the fields of a memory except `session_id`."""


class StoreOptions(MessageFields, OwnScope, total=False):
    """Keyword arguments of `Memory.store`."""

    session_id: str | None
    similar: int | None
    idempotency_key: str | None


class UpdateOptions(OwnScope, total=False):
    """Keyword arguments of `Memory.update`.

    None clears a time and `supersedes`, and leaves other fields as they are.

    `UNSET` leaves any field as it is.
    """

    content: str | None
    importance: float | None
    tags: Sequence[str] | None
    metadata: Mapping[str, Any] | None
    expires_at: datetime | date | UnsetType | None
    valid_from: datetime | date | UnsetType | None
    valid_to: datetime | date | UnsetType | None
    supersedes: str | UnsetType | None
    if_versions: Sequence[int] | None


class ForgetOptions(OwnScope, total=False):
    """Keyword arguments of `Memory.forget`."""

    if_versions: Sequence[int] | None


class RecallOptions(FilterOptions, ValidityOptions, total=False):
    """Keyword arguments of `Memory.recall`."""

    top_k: int | None
    """Maximum number of results, 1 to 1,000. Defaults to 5."""
    min_score: float | None
    """Leaves out results with a lower score, 0 to 1."""
    only_relevant: bool | None
    """Only results that are likely to answer the query."""
    timezone: str | None
    """IANA time zone for words such as "yesterday" in the query. Defaults to the zone of the service."""
    asked_at: datetime | date | None
    """The time to which words such as "last week" refer. Defaults to now."""
    superseded: bool | None
    """Include superseded memories, which rank below the memories that supersede them. Defaults to True."""
    track: bool | None
    """Count the recall as a use of the returned memories. Defaults to True."""
    explain: bool | None
    """Add an explanation of its score to each result."""
    highlight: bool | None
    """Add the passage that matches the query best to each result."""


class ContextFields(TypedDict, total=False):
    """Fields of a context that depend neither on a session nor on its owner, the scope of the client."""

    filter: FilterLike | None
    recent: bool | None
    """Include the newest statements of the last sessions. By default, only without a query."""
    exclude_texts: Sequence[str] | None
    """Texts that the prompt contains, at most 1,000. Memories that only repeat one of them are left out."""
    timezone: str | None
    """IANA time zone of the dates in the text. Defaults to the zone of the service."""
    asked_at: datetime | date | None
    """The time at which memories must hold. Defaults to now."""
    track: bool | None
    """Count the relevant memories as used. Defaults to True."""


class ContextOptions(ContextFields, ReadScope, total=False):
    """Keyword arguments of `Memory.context`."""

    session_id: str | None
    """The session that asks. Memories that were stored in it are left out, until `reset`."""
    budget: int | None
    """Maximum tokens of the text, 50 to 20,000. Defaults to 800."""
    once: bool | None
    """Give each memory once in the session. By default True with `session_id`."""
    reset: bool | None
    """Forget what was given in the session: the agent has lost its prompt. Needs `session_id`."""


class TranscriptOptions(ReadScope, ValidityOptions, Page, total=False):
    """Keyword arguments of `Memory.session`."""

    filter: FilterLike | None
    attachments: bool | None
    """Add to each memory its attachment."""


class SessionsOptions(FilterOptions, ValidityOptions, Page, total=False):
    """Keyword arguments of `Memory.sessions`."""


class ListOptions(FilterOptions, ValidityOptions, total=False):
    """Selects the memories of a list."""

    q: str | None
    """Only memories whose text has all of these words, the last of which may be the beginning of a word."""


class MemoriesOptions(ListOptions, Page, total=False):
    """Keyword arguments of `Memory.memories`."""

    order: Literal["created", "changed", "importance", "use", "retention"] | None
    """Defaults to `created`. Pages of other orders are read with `offset`."""
    dir: Literal["desc", "asc"] | None
    """`desc`, the default: newest or highest first."""
    offset: int | None
    """Number of memories before the page, at most 10,000. Not with `cursor`."""

    id: str | None
    """The whole id, or its first or last characters, at least 4."""
    growth_at: Sequence[datetime | date] | None
    """Times, at most 100, at which memories are counted for `growth`."""


class FacetsOptions(ListOptions, total=False):
    """Keyword arguments of `Memory.facets`."""

    prefix: str | None
    """Only values that begin with this text. Case does not matter."""
    limit: int | None
    """Maximum number of values, 1 to 1,000. Defaults to 20."""


class GrowthOptions(ListOptions, total=False):
    """Keyword arguments of `Memory.growth`."""

    field: Literal["tier", "source", "tag", "session_id", "user_id", "agent_id"] | None
    """Also count by the most frequent values of this field."""
    timezone: str | None
    """IANA time zone in which periods begin. Defaults to the zone of the service."""


class RelatedOptions(ReadScope, total=False):
    """Keyword arguments of `Memory.related`."""

    limit: int | None
    """Maximum number of memories, 1 to 20. Defaults to 5."""


class RecallsOptions(ReadScope, Page, total=False):
    """Keyword arguments of `Memory.recalls`."""

    memory_id: str | None
    """Only recalls that returned this memory."""


class UpdateManyOptions(OwnScope, total=False):
    """Keyword arguments of `Memory.update_many`: the changes, and the conditions of the memories that change."""

    add_tags: Sequence[str] | None
    remove_tags: Sequence[str] | None
    importance: float | None
    set_metadata: Mapping[str, Any] | None
    """Top-level metadata fields to set. None as a value removes a field."""
    change_id: str | None
    """16 to 64 letters, digits and hyphens. Assigned by default. A repeated call with the same id continues a change."""
    ids: Sequence[str] | None
    """Only memories with these ids, at most 10,000."""
    q: str | None
    filter: FilterLike | None
    tag: Sequence[str] | str | None
    tier: Tier | None
    session_id: str | None
    source: str | None
    external_id: str | None
    since: datetime | date | None
    until: datetime | date | None
    metadata: Mapping[str, str | int | float | bool] | None


class HistoryOptions(ReadScope, Page, total=False):
    """Keyword arguments of `Memory.history`."""

    known_at: datetime | date | None
    """Return only the text that the memory had at this time."""


class ForgetManyOptions(ReadScope, total=False):
    """Keyword arguments of `Memory.forget_many`. At least one condition that is not None is required."""

    id: Sequence[str] | str | None
    """Only memories with these ids, at most 1,000."""
    session_id: str | None
    tag: str | None
    source: str | None
    external_id: str | None
    metadata: Mapping[str, str | int | float | bool] | None
    filter: FilterLike | None
    before: datetime | date | None
    """Only memories with an earlier `created_at`."""


class ConsolidateOptions(TypedDict, total=False):
    """Keyword arguments of `Memory.consolidate`."""

    min_age_seconds: int | None
    """Promote only memories that were stored at least this many seconds ago."""
    dry_run: bool | None
    """Return the planned changes without applying them."""


class CorrectionsOptions(ReadScope, Page, total=False):
    """Keyword arguments of `Memory.corrections`."""

    state: Literal["pending", "accepted", "declined"] | None
    """Defaults to `pending`."""


class EventsOptions(ReadScope, total=False):
    """Keyword arguments of `Memory.events`."""

    type: Sequence[EventType] | EventType | None
    """Event types to send. Defaults to all."""
    filter: FilterLike | None
    last_event_id: str | None
    """The id of the last event that the caller has received."""


class ExportOptions(ReadScope, ValidityOptions, total=False):
    """Keyword arguments of `Memory.export_memories`."""

    filter: FilterLike | None


class ImportTextsOptions(OwnScope, total=False):
    """Keyword arguments of `Memory.import_texts`."""

    name: str | None
    """The name of the file or folder, shown in the list of imports; at most 256 characters."""
    content_key: str | None
    """A digest of the content, at most 128 characters. An import with the same digest continues the earlier one."""
    expected_count: int | None
    """Number of texts that will follow, for the progress in events."""
    redact: bool | None
    """Remove secrets of known formats. Defaults to True."""


class ImportFileOptions(OwnScope, total=False):
    """Keyword arguments of `Memory.import_file`."""

    from_: ImportFormat | Literal["auto"] | None
    """The format of the file. `auto`, the default, recognizes it by its content."""
    name: str | None
    """The name of the file. A changed file with the same name updates its memories."""
    dry_run: bool | None
    """Only show what an import would do."""
    source_user: str | None
    """The user of the file whose memories are imported, if the file has several."""
    map: str | None
    """The column for each field of a memory, for `csv` and `jsonl`: `content=text,created_at=date`."""
    rest: Literal["metadata"] | None
    """Where columns without a place in a memory go. Left out by default."""
    capture: Literal["prompts", "turns"] | None
    """The texts of agent programs to import. Defaults to `prompts`."""
    timezone: str | None
    """IANA time zone of times without one."""
    redact: bool | None
    """Remove secrets of known formats. Defaults to the setting of the service."""


class ImportsOptions(OwnScope, Page, total=False):
    """Keyword arguments of `Memory.imports`."""


class UndoOptions(TypedDict, total=False):
    """Keyword arguments of `Memory.undo`."""

    with_later: bool | None
    """Also undo the later runs that changed something, newest first. Not with `memory_id`."""
    memory_id: str | None
    """Undo only the changes that the run made to this memory."""
