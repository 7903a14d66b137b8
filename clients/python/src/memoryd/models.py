"""Data of requests and responses, with the names of the service's OpenAPI document.

Objects are immutable. Times are aware datetimes, and lists of responses are tuples. A field that a response leaves out is
None. Fields that this version does not know are ignored.

`scripts/generate_models.py` writes this module from the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

__all__ = [
    "ApiKey",
    "ApiKeyWithSecret",
    "ApiKeysResponse",
    "ConsolidateResponse",
    "Consolidation",
    "ConsolidationChange",
    "ConsolidationEvent",
    "ConsolidationPlan",
    "ConsolidationResponse",
    "ConsolidationStatus",
    "ConsolidationsResponse",
    "ContextMemory",
    "ContextReason",
    "ContextResponse",
    "Correction",
    "CorrectionMemory",
    "CorrectionState",
    "CorrectionsResponse",
    "DecideCorrectionResponse",
    "DeleteNamespaceResponse",
    "EarlierText",
    "EmbedderState",
    "EmbeddingProgress",
    "ErrorBody",
    "ErrorCode",
    "ErrorDetail",
    "EventType",
    "EvictionReason",
    "Evidence",
    "EvidenceWeights",
    "Explanation",
    "ExportHeader",
    "ExportLine",
    "ExportedDecline",
    "ExportedMemory",
    "FacetValue",
    "FacetsResponse",
    "FileImportResponse",
    "ForgetManyResponse",
    "ForgetResponse",
    "GapEvent",
    "GrowthPoint",
    "GrowthResponse",
    "GrowthStep",
    "HealthResponse",
    "HistoryResponse",
    "HookError",
    "HookProgramActivity",
    "HooksResponse",
    "Import",
    "ImportEvent",
    "ImportFormat",
    "ImportResponse",
    "ImportTextsResponse",
    "ImportedText",
    "ImportsResponse",
    "LaterConsolidation",
    "LaterConsolidations",
    "LeftOutItems",
    "MapCluster",
    "MapPoint",
    "MapResponse",
    "MemoriesEvent",
    "MemoriesResponse",
    "Memory",
    "MemoryEvent",
    "MemoryText",
    "NamespaceQuota",
    "NamespaceSummary",
    "NamespacesResponse",
    "PlannedDistillation",
    "PlannedDistillations",
    "PlannedEviction",
    "PlannedEvictions",
    "PlannedMerge",
    "PlannedMerges",
    "PlannedPromotion",
    "PlannedPromotions",
    "PreviewedText",
    "QuotaResponse",
    "RecallResponse",
    "RecallResult",
    "RecallsResponse",
    "RedactedSecrets",
    "RefusedItem",
    "RefusedLine",
    "RelatedMemory",
    "RelatedResponse",
    "RememberedRecall",
    "RememberedResult",
    "RerankerState",
    "RevokeKeyResponse",
    "RootResponse",
    "Scope",
    "Session",
    "SessionMemory",
    "SessionResponse",
    "SessionsResponse",
    "SimilarMemory",
    "StatsHistoryResponse",
    "StatsPeriod",
    "StatsResponse",
    "StoreBatchError",
    "StoreBatchResponse",
    "StoreBatchResult",
    "StoreRequest",
    "StoreResponse",
    "Tier",
    "TokenStatesCache",
    "UndoChangeResponse",
    "UndoImportResponse",
    "UndoResponse",
    "UpdateManyResponse",
    "UpdateResponse",
    "UserQuotaResponse",
    "UserSummary",
    "UsersResponse",
    "ValuesBefore",
]

ConsolidationStatus: TypeAlias = Literal["running", "completed", "undoing", "undone", "reverted"]
"""`running`: in progress. `completed`: finished. `undoing`: an undo is in progress. `undone`: undone by a client.
`reverted`: rolled back by the service before it finished.
"""

ContextReason: TypeAlias = Literal["standing", "relevant", "recent"]
"""Why the memory is in the text. `standing`: important at all times. `relevant`: it answers the query, or is the
question that such a memory replies to. `recent`: one of the newest statements.
"""

CorrectionState: TypeAlias = Literal["pending", "accepted", "declined"]
"""`pending`: nobody has decided yet. `accepted`, `declined`: the last decision."""

EmbedderState: TypeAlias = Literal["ready", "unavailable", "off"]
"""Whether semantic search is available. If not, recall searches by words only."""

ErrorCode: TypeAlias = Literal[
    "INVALID_REQUEST",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "CONFLICT",
    "PRECONDITION_FAILED",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RATE_LIMITED",
    "INTERNAL_ERROR",
    "UNAVAILABLE",
]
"""The kind of the error. Each code has one HTTP status."""

EventType: TypeAlias = Literal["stored", "updated", "forgotten", "recalled", "consolidation", "import"]
"""The type of the event."""

EvictionReason: TypeAlias = Literal["expired", "maximum"]
"""Why the memory was evicted. `expired`: it had expired. `maximum`: its tier exceeded its maximum size."""

ImportFormat: TypeAlias = Literal[
    "memoryd",
    "chatgpt",
    "claude",
    "claude-code",
    "codex",
    "gemini-cli",
    "mem0",
    "zep",
    "letta",
    "mcp-memory",
    "markdown",
    "csv",
    "jsonl",
]
"""The format that the texts come from."""

RerankerState: TypeAlias = Literal["ready", "unavailable"]
"""Whether the last call of the reranker succeeded. If not, the order of results is that of a service without a
reranker. Absent if the service has no reranker.
"""

Scope: TypeAlias = Literal["metrics", "read", "write", "operate"]
"""Permissions of the key. `metrics`: read metrics only. `read`: read memories. `write`: read and write memories.
`operate`: everything.
"""

Tier: TypeAlias = Literal["working", "episodic", "semantic"]
"""Tier of the memory. `working`: recently stored. `episodic`: promoted by consolidation. `semantic`: distilled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Api key."""

    id: str
    """The public id of the key."""
    namespace: str
    scope: Scope
    user_id: str | None = None
    """The user that the key is restricted to."""
    agent_id: str | None = None
    """The agent that the key is restricted to."""
    name: str
    """Empty if the key has no name."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    expires_at: datetime | None
    """Null if the key does not expire."""
    last_used_at: datetime | None
    """Accurate to five minutes. Null if the key was never used."""
    revoked_at: datetime | None
    """Null if the key has not been revoked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyWithSecret:
    """Api key with secret."""

    id: str
    """The public id of the key."""
    namespace: str
    scope: Scope
    user_id: str | None = None
    """The user that the key is restricted to."""
    agent_id: str | None = None
    """The agent that the key is restricted to."""
    name: str
    """Empty if the key has no name."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    expires_at: datetime | None
    """Null if the key does not expire."""
    last_used_at: datetime | None
    """Accurate to five minutes. Null if the key was never used."""
    revoked_at: datetime | None
    """Null if the key has not been revoked."""
    key: str
    """The secret to send with requests. It is shown only once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeysResponse:
    """Api keys response."""

    keys: tuple[ApiKey, ...]
    """In order of creation, including revoked keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateResponse:
    """Consolidate response."""

    status: Literal["consolidated", "planned"]
    """`planned` for a dry run, which changes nothing."""
    consolidated_count: int
    """Number of memories that were promoted or distilled."""
    evicted_count: int
    """Number of memories that were merged into a duplicate or evicted."""
    id: str | None = None
    """The id of the consolidation run, assigned by the service."""
    self_check: Literal["passed", "failed"] | None = None
    """Whether a sample of the affected memories can still be recalled by its own words. If `failed`, the run was rolled
    back.
    """
    plan: ConsolidationPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """Consolidation."""

    id: str
    """The id of the consolidation run, assigned by the service."""
    status: ConsolidationStatus
    started_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    ended_at: datetime | None
    consolidated_count: int
    """Number of memories that were promoted or distilled."""
    evicted_count: int
    """Number of memories that were merged into a duplicate or evicted."""
    notes: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationChange:
    """Consolidation change."""

    kind: Literal["promoted", "merged", "moved", "gained", "distilled", "refreshed", "corrected", "evicted"]
    """`promoted`: the memory became episodic. `merged`: it was merged into its duplicate `merged_into`. `moved`: it had
    been merged before, and its duplicate was merged into another. `gained`: it received tags, importance or access
    counts from its duplicates. `distilled`: it was distilled from other memories. `refreshed`: it was distilled
    again, because its sources changed. `corrected`: it was superseded by `superseded_by`. `evicted`: it was evicted
    to the archive.
    """
    memory_id: str
    """The id of the memory, assigned by the service."""
    merged_into: str | None = None
    """Null if that memory has been forgotten."""
    derived_from: tuple[str, ...] | None = None
    """The sources of a distilled memory, or the previous sources of a refreshed memory."""
    superseded_by: str | None = None
    """Null if that memory has been forgotten."""
    reason: EvictionReason | None = None
    before: ValuesBefore | None = None
    """Tags and importance of the memory before a `gained` change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationEvent:
    """Progress of a consolidation run."""

    id: str
    """Pass this value as `last_event_id` to resume the stream after this event."""
    at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    type: Literal["consolidation"]
    state: Literal["started", "progress", "completed", "failed", "undone", "reverted"]
    run_id: str | None = None
    """The id of the run. Absent until the run has ended."""
    changed_count: int | None = None
    """Number of changes since the previous event of the run. Present if `state` is `progress`."""
    consolidated_count: int | None = None
    evicted_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """The planned changes. Present in responses to `dry_run=true`."""

    promote: PlannedPromotions
    """Memories that would become episodic."""
    merge: PlannedMerges
    """Memories that would be merged into a duplicate with the same text."""
    distil: PlannedDistillations
    """Semantic memories that would be distilled, or updated if `refreshes` is present."""
    evict: PlannedEvictions
    """Memories that would be evicted to the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResponse:
    """Consolidation response."""

    id: str
    """The id of the consolidation run, assigned by the service."""
    status: ConsolidationStatus
    started_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    ended_at: datetime | None
    consolidated_count: int
    """Number of memories that were promoted or distilled."""
    evicted_count: int
    """Number of memories that were merged into a duplicate or evicted."""
    notes: dict[str, Any]
    changes: tuple[ConsolidationChange, ...]
    """In the order in which the changes were made. Changes of forgotten memories are omitted."""
    total: int
    """Total number of changes."""
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""
    later: LaterConsolidations | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationsResponse:
    """Consolidations response."""

    consolidations: tuple[Consolidation, ...]
    """Newest first."""
    total: int
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMemory:
    """Context memory."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    """The text of the memory, stored byte for byte."""
    why: ContextReason
    score: float | None = None
    """Relevance to the query, from 0 to 1. Present for memories that a recall of the query found."""
    highlight: str | None = None
    """The part of a long content that the text shows. Absent if the text shows all of it."""
    tags: tuple[str, ...]
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    session_id: str | None
    """Null for semantic memories."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    external_id: str | None = None
    """Your own id of the memory, unique among the memories of one user and agent."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    valid_to: datetime | None = None
    """Time from which the memory no longer holds."""
    superseded_by: str | None = None
    """The memory that replaces this one at present, or at the time in `as_of`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResponse:
    """Context response."""

    text: str
    """The memories between two fence lines, for a prompt: standing notes, then relevant ones, then recent ones, each
    group in order of time. Empty if no memory is selected.
    """
    tokens: int
    """Estimated tokens of the text, at most `budget`. The estimate errs upwards against o200k_base."""
    memories: tuple[ContextMemory, ...]
    """The memories in the text, in its order."""
    omitted: int
    """Number of further memories that were found for the text and did not fit into the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Correction."""

    id: str
    """The id of the correction."""
    state: CorrectionState
    reason: Literal["change", "number", "date", "name", "negation"]
    """The difference of the later memory. `change`: it says that something changed. `number`, `date`, `name`: it has
    another value of this kind; a name is that of a person, a thing or a place. `negation`: it says what the earlier
    one denies.
    """
    earlier: CorrectionMemory
    later: CorrectionMemory
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    suggested_at: datetime
    """Time of the consolidation that suggested the correction."""
    decided_at: datetime | None
    """Time of the last decision. Null if pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionMemory:
    """Correction memory."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionsResponse:
    """Corrections response."""

    corrections: tuple[Correction, ...]
    """Latest first."""
    total: int
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideCorrectionResponse:
    """Decide correction response."""

    id: str
    """The id of the correction."""
    state: Literal["accepted", "declined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNamespaceResponse:
    """Delete namespace response."""

    name: str
    """The name of the namespace."""
    status: Literal["deleted"]
    deleted_count: int
    purge: Literal["pending"] | None = None
    """Present while deleted bytes may still be on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierText:
    """Earlier text."""

    revision: int
    """Revision of the memory that had this text."""
    content: str
    """The text of the memory, stored byte for byte."""
    replaced_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProgress:
    """Embedding progress.

    After a change of the model, all memories are embedded again; until then they are found by their words. Absent
    before a model is first used.
    """

    model: str
    """Identifier of the embedding model. Vectors of different models are never compared."""
    embedded: int
    """Number of memories that are not waiting for embeddings of this model."""
    total: int
    """Number of memories in all tiers, including expired memories that are hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """Error body."""

    code: ErrorCode
    message: str
    details: tuple[ErrorDetail, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetail:
    """Error detail."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence."""

    words: float
    """Word match between the memory and the query; synonyms count with a low weight."""
    meaning: float
    """Similarity between the embeddings of the memory and the query."""
    tokens: float
    """Similarity between the contextual token embeddings of the memory and the query, above the usual level."""
    rerank: float
    """Probability from the reranker that the memory answers the query; the mean of the reranked memories for others,
    and 0 if the recall was not reranked.
    """
    neighbor: float
    """Relevance of the memory before or the memory after in the same session, whichever is more relevant."""
    passage: float
    """Combined relevance of the memory and the candidates around it in its session."""
    session: float
    """Combined relevance of all candidates in the same session."""
    reply: float
    """Relevance of the question that another speaker asked directly before this memory."""
    date: float
    """1 if the memory matches the date in the query; less for a match in another time zone."""
    period: float
    """If the query consists of a date: 1 if the memory was created at that date; less for a match in another time zone.
    """
    wish: float
    """Relevance of a standing instruction, unless the query asks about the past, or of a preference, if the query asks
    for advice.
    """
    question: float
    """How far the memory is itself a question."""
    silent: float
    """1 if the text states nothing: a short question, or an answer such as "I don't know"."""
    brevity: float
    """Shortness of the text, for texts below 12 words."""
    length: float
    """Length of the text: ln((words + 1) / 100), from 100 words."""
    age: float
    """Age of the memory: ln(1 + years)."""
    repeat: float
    """1 if a better result has the same text."""
    retention: float
    """The `retention` of the memory."""
    crowd: float
    """Weighted evidence of the 20th best candidate, at least 0.6; equal for all results."""
    missing: float
    """Share of the query that consists of names and numbers found in no memory; equal for all results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceWeights:
    """Evidence weights."""

    words: float
    """Word match between the memory and the query; synonyms count with a low weight: its weight in the sum."""
    meaning: float
    """Similarity between the embeddings of the memory and the query: its weight in the sum."""
    tokens: float
    """Similarity between the contextual token embeddings of the memory and the query, above the usual level: its weight
    in the sum.
    """
    rerank: float
    """Probability from the reranker that the memory answers the query; the mean of the reranked memories for others,
    and 0 if the recall was not reranked: its weight in the sum.
    """
    neighbor: float
    """Relevance of the memory before or the memory after in the same session, whichever is more relevant: its weight in
    the sum.
    """
    passage: float
    """Combined relevance of the memory and the candidates around it in its session: its weight in the sum."""
    session: float
    """Combined relevance of all candidates in the same session: its weight in the sum."""
    reply: float
    """Relevance of the question that another speaker asked directly before this memory: its weight in the sum."""
    date: float
    """1 if the memory matches the date in the query; less for a match in another time zone: its weight in the sum."""
    period: float
    """If the query consists of a date: 1 if the memory was created at that date; less for a match in another time zone:
    its weight in the sum.
    """
    wish: float
    """Relevance of a standing instruction, unless the query asks about the past, or of a preference, if the query asks
    for advice: its weight in the sum.
    """
    question: float
    """How far the memory is itself a question: its weight in the sum."""
    silent: float
    """1 if the text states nothing: a short question, or an answer such as "I don't know": its weight in the sum."""
    brevity: float
    """Shortness of the text, for texts below 12 words: its weight in the sum."""
    length: float
    """Length of the text: ln((words + 1) / 100), from 100 words: its weight in the sum."""
    age: float
    """Age of the memory: ln(1 + years): its weight in the sum."""
    repeat: float
    """1 if a better result has the same text: its weight in the sum."""
    retention: float
    """The `retention` of the memory: its weight in the sum."""
    crowd: float
    """Weighted evidence of the 20th best candidate, at least 0.6; equal for all results: its weight in the sum."""
    missing: float
    """Share of the query that consists of names and numbers found in no memory; equal for all results: its weight in
    the sum.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The score is 1 / (1 + exp(slope * (even - sum))), where sum is the sum of weight times evidence."""

    evidence: Evidence
    evidence_of_another: Literal[True] | None = None
    """True if evidence and score were inherited from another memory: a better match that this memory supersedes, a
    worse match that supersedes this memory, or the worst match among its sources. Otherwise absent.
    """
    weights: EvidenceWeights
    even: float
    """The sum at which the score is 0.5."""
    slope: float
    """Steepness of the score as a function of the sum."""
    matched: tuple[str, ...]
    """Words of the memory, as written there, that match words of the query. Only the first 100000 characters of all
    results together are searched.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportHeader:
    """Header of an export file."""

    format: Literal["memoryd"]
    version: Literal[1]
    """Version of the format."""
    lines: int | None = None
    """Number of lines that follow. An import uses it to detect a truncated export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDecline:
    """A group of memories that consolidation must not distil again."""

    declined_group: str
    """Digest of the ids and revisions of the group. A client forgot the semantic memory that was distilled from it."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMemory:
    """One memory."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    """The text of the memory, stored byte for byte."""
    tags: tuple[str, ...]
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    importance: float
    """Importance of the memory, from 0 to 1."""
    source: str
    """Where the memory comes from, such as the name of an application."""
    session_id: str | None
    """Null for semantic memories only."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    external_id: str | None = None
    """Your own id of the memory, unique among the memories of one user and agent."""
    tier: Tier
    metadata: dict[str, Any]
    attachment: str | None = None
    """Data that belongs to the memory, such as the JSON of a message with an image, stored byte for byte. Recall does
    not search or return it; a transcript returns it if `attachments` is true.
    """
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    stored_at: datetime
    """Time at which the service stored the memory."""
    updated_at: datetime
    """Time of the last client write."""
    expires_at: datetime | None
    """Time at which the memory expires and is hidden."""
    valid_from: datetime | None
    """Time from which the memory holds. Null stands for `created_at`."""
    valid_to: datetime | None
    """Time from which the memory no longer holds."""
    evicted_at: datetime | None
    """Time at which the memory was evicted to the archive."""
    supersedes: str | None
    """The memory that this one supersedes."""
    superseded_by: tuple[str, ...]
    """Memories that supersede this one, in the order of their arrival."""
    merged_into: str | None
    """The visible duplicate that this memory was merged into."""
    derived_from: tuple[str, ...]
    """The sources that a semantic memory was distilled from. At least one of them precedes it in the export."""
    formerly_derived_from: tuple[str, ...]
    """Former sources of a semantic memory. Only its earlier texts may contain information from them."""
    version: int
    """Number of client writes to the memory."""
    revision: int
    """Number of texts that the memory has had."""
    distilled_revision: int | None
    """Revision of the last text that consolidation wrote. Null unless the memory is semantic."""
    access_count: int
    accessed_at: datetime | None
    """Time of the last recall that returned the memory. Null if it was never recalled."""
    history: tuple[EarlierText, ...]
    """Earlier texts of the memory, oldest first."""
    awaits: tuple[Literal["merging", "distilling"], ...]
    """Steps of the next consolidation run that the memory is queued for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """Facet value."""

    value: str
    """The value, a number or a boolean as its JSON text. Empty for memories without a user or agent; memories without
    any other field are not counted.
    """
    count: int
    """Number of memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetsResponse:
    """Facets response."""

    values: tuple[FacetValue, ...]
    """Most frequent first; equally frequent ones ordered by value."""
    total: int
    """Number of different values with the prefix."""
    counted_count: int | None = None
    """Number of memories that were counted: the newest 10,000. Present if more match. A value may then have more
    memories than its count, and values of older memories may be missing. Never present for `user_id` without a
    filter, and for `session_id` with at most `user_id` and `agent_id` as filter: all memories are counted.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImportResponse:
    """File import response."""

    import_id: str | None = None
    """The id of the import, assigned by the service."""
    from_: ImportFormat
    found_count: int
    """Number of texts that can be stored."""
    session_count: int
    """Number of sessions, such as conversations, of the texts. At most 100000 are counted."""
    first_at: datetime | None = None
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    last_at: datetime | None = None
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    first: tuple[PreviewedText, ...]
    """The first texts."""
    left_out: tuple[LeftOutItems, ...]
    """Items that are no memories, by reason."""
    users: tuple[str, ...] | None = None
    """The users that the file names, if it names users."""
    imported_count: int
    """Number of new memories."""
    updated_count: int
    """Number of memories of earlier imports whose text or fields changed in the source."""
    unchanged_count: int
    """Number of texts that were already present, including memories that were changed after their import."""
    refused_count: int
    refused: tuple[RefusedItem, ...]
    """The first 100 refused items, with their errors."""
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before anything was stored, by kind. Absent if no secret was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetManyResponse:
    """Forget many response."""

    status: Literal["forgotten"]
    forgotten_count: int
    """Number of forgotten memories, including their hidden duplicates and semantic memories that have no source left.
    """
    purge: Literal["pending"] | None = None
    """Present while deleted bytes may still be on disk. With SQLite, they are overwritten within 5 seconds after the
    last concurrent reader or backup has finished. With PostgreSQL, they remain until the table is vacuumed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResponse:
    """Forget response."""

    status: Literal["forgotten"]
    id: str
    """The id of the memory, assigned by the service."""
    also_forgotten: tuple[str, ...] | None = None
    """Ids of hidden duplicates that were merged into this memory, and of semantic memories that had no other source."""
    remaining_duplicates: tuple[str, ...] | None = None
    """If this memory was a hidden duplicate: ids of the memories merged with it that still have its text. Forget the
    visible memory to forget all of them.
    """
    purge: Literal["pending"] | None = None
    """Present while deleted bytes may still be on disk. With SQLite, they are overwritten within 5 seconds after the
    last concurrent reader or backup has finished. With PostgreSQL, they remain until the table is vacuumed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GapEvent:
    """First event of a resumed stream if events after `last_event_id` are no longer available.

    With `filter`, also in place of an event whose memories can no longer be matched.
    """

    id: str
    """Pass this value as `last_event_id` to resume the stream after this event."""
    at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    type: Literal["gap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """Growth point."""

    at: datetime
    """The time."""
    working_count: int
    episodic_count: int
    semantic_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthResponse:
    """Growth response."""

    steps: tuple[GrowthStep, ...]
    """The periods in which memories were created, oldest first. Periods without a memory are left out. All memories
    that match are counted, except those before the newest 7,500 UTC days with memories.
    """
    total: int
    """Number of memories that match the filter."""
    values: tuple[str, ...] | None = None
    """With `field`: its most frequent values, most frequent first. An empty text stands for none."""
    counted_count: int | None = None
    """With `field`: number of memories in the counts by value, the newest 10,000. Present if more match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthStep:
    """Growth step."""

    from_: datetime
    """Begin of the period: its first midnight in the time zone, or the first time after it if the clocks skip midnight.
    """
    count: int
    """Number of memories."""
    values: tuple[int, ...] | None = None
    """With `field`: numbers of memories by the values in `values` of the response, in the same order. A memory with
    several tags counts for each.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthResponse:
    """Health response."""

    status: Literal["healthy", "unhealthy"]
    reason: str | None = None
    """Why the service is unhealthy. Absent if it is healthy."""
    version: str
    checked_at: datetime | None
    """Time of the last answer of the database, which is checked every second. Null before the first."""
    db_connected: bool
    db_size_mb: float
    """Database size in megabytes (1,000,000 bytes). For API keys without the `operate` scope: the UTF-8 size of all
    texts in the namespace, including earlier and hidden texts.
    """
    working_count: int
    episodic_count: int
    semantic_count: int
    last_sleep_at: datetime | None
    """Time of the last consolidation run. Null before the first run."""
    uptime_seconds: int
    embedder: EmbedderState
    embedder_problem: str | None = None
    """Why semantic search is unavailable, and which setting to check. Absent if it is available."""
    reranker: RerankerState | None = None
    reranker_problem: str | None = None
    """Why the reranker is unavailable, and which setting to check. Otherwise absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryResponse:
    """History response."""

    id: str
    """The id of the memory, assigned by the service."""
    texts: tuple[MemoryText, ...]
    """Oldest first. The last text of the last page is the current one."""
    total: int
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookError:
    """Hook error."""

    at: datetime
    """Time of the error."""
    message: str
    """What failed. Contains no text of a prompt or a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookProgramActivity:
    """Hook program activity."""

    program: str
    """The agent program, such as `claude-code`."""
    last_call_at: datetime
    """Time of the last call of a hook."""
    calls_today: int
    """Calls of hooks since 0:00 UTC."""
    stored_today: int
    """Calls that stored a memory since 0:00 UTC."""
    redacted_today: int
    """Secrets that were removed before storing since 0:00 UTC."""
    given_today: int
    """Memories that were given to the program since 0:00 UTC."""
    p50_ms: float
    """Median time of the last calls, at most 200, in milliseconds."""
    p99_ms: float
    """99th percentile of the time of the last calls, at most 200, in milliseconds."""
    last_error: HookError | None
    """Null if no call failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksResponse:
    """Hooks response."""

    paused: bool
    """If true, hooks store nothing and give nothing."""
    ignored_folders: tuple[str, ...]
    """Absolute paths of folders. In these folders and below them, hooks store nothing and give nothing. Duplicates are
    removed.
    """
    programs: tuple[HookProgramActivity, ...]
    """The programs that have called a hook since the service started, ordered by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Import."""

    id: str
    """The id of the import, assigned by the service."""
    from_: ImportFormat
    name: str | None = None
    """The name of the file or folder, if the import had one."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    started_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    ended_at: datetime | None
    """Null while the import is in progress, and if it was interrupted. Repeat an interrupted import."""
    imported_count: int
    """Number of memories that the import created."""
    memory_count: int
    """Number of stored memories that belong to the import: it created them, or changed them before the import that
    created them was undone.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportEvent:
    """Progress of an import."""

    id: str
    """Pass this value as `last_event_id` to resume the stream after this event."""
    at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    type: Literal["import"]
    state: Literal["started", "progress", "completed", "failed", "undone"]
    import_id: str
    """The id of the import, assigned by the service."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    processed_count: int
    """Number of texts that the import has processed: new, updated, unchanged and refused ones. If `state` is `undone`,
    the number of memories that the undo has forgotten.
    """
    expected_count: int | None = None
    """Total number of texts, if the import states it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResponse:
    """Import response."""

    import_id: str | None = None
    """The id of the import, to undo it. Absent if no line was imported."""
    imported_count: int
    """Number of lines that were imported."""
    unchanged_count: int
    """Number of lines that were already present."""
    refused_count: int
    refused: tuple[RefusedLine, ...]
    """The first 100 rejected lines, with their errors."""
    unlinked_count: int
    """Number of links that were dropped because their target memory was not imported."""
    new_ids: dict[str, str] | None = None
    """New ids, by the id on the line, of the memories whose id belongs to another user or agent. Links of the same user
    and agent to the old id lead to the new one. A repeated import finds the memories under their new ids. If lines
    of several users or agents have the same id, the new id is that of the last of them.
    """
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before anything was stored, by kind. Absent if no secret was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTextsResponse:
    """Import texts response."""

    import_id: str
    """The id of the import, assigned by the service."""
    imported_count: int
    """Number of new memories."""
    updated_count: int
    """Number of memories of earlier imports whose text or fields changed in the source."""
    unchanged_count: int
    """Number of texts that were already present, including memories that were changed after their import."""
    refused_count: int
    refused: tuple[RefusedItem, ...]
    """The first 100 refused items, with their errors."""
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before anything was stored, by kind. Absent if no secret was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedText:
    """Imported text."""

    content: str
    """The text of the memory, stored byte for byte."""
    tags: Sequence[str] | None = None
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    importance: float | None = None
    """Importance of the memory, from 0 to 1. Default: `0.5`."""
    source: str | None = None
    """Where the memory comes from, such as the name of an application. Default: `"api"`."""
    session_id: str | None = None
    """The session that the memory belongs to, such as a conversation. Default: `"default"`."""
    user_id: str | None = None
    """The user that the memory belongs to. If absent, all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. If absent, all agents share the memory."""
    external_id: str
    """Your own id of the memory, unique among the memories of one user and agent."""
    created_at: datetime | None = None
    """Time of the event, for importing history. Defaults to now."""
    expires_at: datetime | None = None
    """Time at which the memory expires and is hidden. If absent, it never expires."""
    valid_from: datetime | None = None
    """Time from which the memory holds, inclusive. Defaults to `created_at`."""
    valid_to: datetime | None = None
    """Time from which the memory no longer holds; later than `valid_from`. If absent, it has no end."""
    metadata: Mapping[str, Any] | None = None
    """A JSON object of at most 16384 bytes, at most 32 levels deep."""
    attachment: str | None = None
    """Data that belongs to the memory, such as the JSON of a message with an image, stored byte for byte. Recall does
    not search or return it; a transcript returns it if `attachments` is true.
    """
    supersedes: str | None = None
    """The memory that this one replaces. Recall ranks the replaced memory below this one."""
    assumed_created_at: datetime | None = None
    """Time of the event if `created_at` is absent, such as the last change of a file. A repeat that differs only in
    this time is unchanged.
    """
    aliases: Sequence[str] | None = None
    """Other external ids under which the text may be stored already. If it is, nothing is stored. They are not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportsResponse:
    """Imports response."""

    imports: tuple[Import, ...]
    """Newest first."""
    total: int
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterConsolidation:
    """Later consolidation."""

    id: str
    """The id of the consolidation run, assigned by the service."""
    started_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterConsolidations:
    """The later runs that changed something and are not undone.

    They have to be undone before this run, or together with it (`with_later`). Present while the status is
    `completed`.
    """

    total: int
    consolidations: tuple[LaterConsolidation, ...]
    """The newest 100, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutItems:
    """Left out items."""

    reason: str
    """Why the items are left out, as a sentence part in English."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCluster:
    """Map cluster."""

    words: tuple[str, ...]
    """Words that are frequent in its texts and rare in the others."""
    x: float
    y: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPoint:
    """Map point."""

    id: str
    """The id of the memory, assigned by the service."""
    x: float
    y: float
    cluster: int
    """Index of its cluster in `clusters`; -1 for none."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    tier: Tier
    tag: str | None = None
    """Its first tag. Absent if it has none."""
    session_id: str | None
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapResponse:
    """Map response."""

    state: Literal["computing", "ready", "unavailable"]
    """`computing`: there is no map yet; ask again. `ready`: the map of the time `computed_at`. `unavailable`: the
    memories have no vectors.
    """
    computed_at: datetime | None
    """When the positions were computed."""
    points: tuple[MapPoint, ...]
    """Newest first."""
    clusters: tuple[MapCluster, ...]
    total: int
    """Number of memories that match the filter. The map has the newest 20,000 of the user and agent."""
    is_changing: bool
    """Whether a newer map is being computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesEvent:
    """An operation on memories of one user and agent."""

    id: str
    """Pass this value as `last_event_id` to resume the stream after this event."""
    at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    type: Literal["stored", "updated", "forgotten", "recalled"]
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    memory_ids: tuple[str, ...]
    """Ids of the memories, at most 256. Recalled memories are ordered best first."""
    count: int
    """Total number of memories, with `filter` of those that match. It exceeds the length of `memory_ids` if the list
    was shortened or if the memories were forgotten by a filter; then there is an event for each 1,000.
    """
    source: str | None = None
    """The source of stored memories, if all have the same source."""
    session_id: str | None = None
    """The session of stored memories, if all have the same session; of a context, the asking session."""
    project: str | None = None
    """The project of stored memories, if all have the same project: their `metadata.project`, or the name in their tag
    `project:NAME`. Of a context, the project that the filter of the request names.
    """
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before the memories were stored, by kind. Absent if there were none."""
    context: Literal[True] | None = None
    """Present if an agent was given the memories as a context. They are then in the order of its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesResponse:
    """Memories response."""

    memories: tuple[Memory, ...]
    """In the order of the request, by default newest first."""
    total: int
    """Number of memories that match the filter. With `q`, at most `counted_count`."""
    counted_count: int | None = None
    """Number of memories in `total`: 10,000. Present if `q` is given and more match, which are not counted."""
    growth: tuple[GrowthPoint, ...] | None = None
    """Number of memories that match the filter, by tier, up to each time in `growth_at`, in the same order. Absent
    without `growth_at`.
    """
    ordered_count: int | None = None
    """Number of memories that were ordered: the newest 10,000. Present if more match, and the order is by use or
    retention.
    """
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page, and in a list that is not ordered by
    `created`; use `offset` there.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    """The text of the memory, stored byte for byte."""
    revision: int | None = None
    """The revision of `content` in the history of the memory. Present only with `known_at`, if the memory has another
    text now.
    """
    tags: tuple[str, ...]
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    importance: float
    """Importance of the memory, from 0 to 1."""
    source: str
    """Where the memory comes from, such as the name of an application."""
    session_id: str | None
    """Null for semantic memories."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    external_id: str | None = None
    """Your own id of the memory, unique among the memories of one user and agent."""
    tier: Tier
    metadata: dict[str, Any]
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    updated_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    expires_at: datetime | None
    valid_from: datetime | None
    """Time from which the memory holds, inclusive. Null stands for `created_at`."""
    valid_to: datetime | None
    """Time from which the memory no longer holds. Null if it has no end."""
    supersedes: str | None
    """The memory that this one supersedes."""
    superseded_by: str | None
    """The memory that replaces this one at present, or at the time in `as_of`."""
    merged_into: str | None
    """The visible duplicate that consolidation merged this memory into. Null if it was not merged."""
    derived_from: tuple[str, ...]
    """The sources that a semantic memory was distilled from, oldest first. Empty in other tiers."""
    access_count: int
    accessed_at: datetime | None
    retention: float
    """Estimated probability that the memory is still useful, from 0 to 1, as of now. It falls with time and rises with
    use and importance.
    """
    version: int
    """Increases by one with every client write to this memory. Nothing else changes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryText:
    """Memory text."""

    revision: int
    """Increases with every new text of the memory."""
    content: str
    """The text of the memory, stored byte for byte."""
    held_from: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    held_until: datetime | None
    """Null for the current text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceQuota:
    """Namespace quota."""

    memories: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSummary:
    """Namespace summary."""

    name: str
    """The name of the namespace."""
    working_count: int
    episodic_count: int
    semantic_count: int
    memories: int
    """Number of memories that clients stored and that were not forgotten, including hidden memories."""
    bytes: int
    """UTF-8 size in bytes of the texts that clients stored, including earlier texts and attachments."""
    quota: NamespaceQuota
    keys: int
    """Number of API keys that have not been revoked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacesResponse:
    """Namespaces response."""

    namespaces: tuple[NamespaceSummary, ...]
    """Ordered by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDistillation:
    """Planned distillation."""

    content: str
    """The text of the memory, stored byte for byte."""
    derived_from: tuple[str, ...]
    """Oldest first."""
    refreshes: str | None = None
    """The semantic memory that would be distilled again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDistillations:
    """Semantic memories that would be distilled, or updated if `refreshes` is present."""

    total: int
    memories: tuple[PlannedDistillation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEviction:
    """Planned eviction."""

    id: str
    """The id of the memory, assigned by the service."""
    reason: EvictionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEvictions:
    """Memories that would be evicted to the archive."""

    total: int
    memories: tuple[PlannedEviction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMerge:
    """Planned merge."""

    id: str
    """The id of the memory, assigned by the service."""
    merged_into: str
    """The id of the memory, assigned by the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMerges:
    """Memories that would be merged into a duplicate with the same text."""

    total: int
    memories: tuple[PlannedMerge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPromotion:
    """Planned promotion."""

    id: str
    """The id of the memory, assigned by the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPromotions:
    """Memories that would become episodic."""

    total: int
    memories: tuple[PlannedPromotion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedText:
    """Previewed text."""

    content: str
    """The first 300 characters of the text."""
    tags: tuple[str, ...] | None = None
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    session_id: str | None = None
    """The session that the memory belongs to, such as a conversation. Default: `"default"`."""
    user_id: str | None = None
    """The user that the memory belongs to. If absent, all users share the memory."""
    created_at: datetime | None = None
    """Time of the event, for importing history. Defaults to now."""
    valid_from: datetime | None = None
    """Time from which the memory holds, inclusive. Defaults to `created_at`."""
    valid_to: datetime | None = None
    """Time from which the memory no longer holds; later than `valid_from`. If absent, it has no end."""
    metadata: dict[str, Any] | None = None
    """A JSON object of at most 16384 bytes, at most 32 levels deep."""
    external_id: str
    """Your own id of the memory, unique among the memories of one user and agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaResponse:
    """Quota response."""

    name: str
    """The name of the namespace."""
    quota: NamespaceQuota


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResponse:
    """Recall response."""

    results: tuple[RecallResult, ...]
    """Best first."""
    total: int
    truncated: Literal[True] | None = None
    """True if results were dropped to stay within the maximum response size. Otherwise absent."""
    reranked: bool | None = None
    """Whether a reranker contributed to the scores. False if it failed or took too long, if nothing was found, and for
    a recall of several users. Absent if the service has no reranker.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """Recall result."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    """The text of the memory, stored byte for byte."""
    score: float
    """Relevance to the query, from 0 to 1."""
    tags: tuple[str, ...]
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    session_id: str | None
    """Null for semantic memories."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    external_id: str | None = None
    """Your own id of the memory, unique among the memories of one user and agent."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    valid_to: datetime | None = None
    """Time from which the memory no longer holds."""
    superseded_by: str | None = None
    """The memory that replaces this one at present, or at the time in `as_of`."""
    revision: int | None = None
    """The revision of `content` in the history of the memory. Present only with `known_at`, if the memory has another
    text now.
    """
    explanation: Explanation | None = None
    highlight: str | None = None
    """Up to 300 unchanged characters of the content, around the passage that matches the query best. Only the first
    4194304 characters of all results together are searched; beyond them, the highlight is the beginning of the
    content.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallsResponse:
    """Recalls response."""

    recalls: tuple[RememberedRecall, ...]
    """Newest first."""
    total: int
    """Number of recalls that match."""
    is_remembered: bool
    """Whether recalls are remembered. They are not if questions are not logged (`SERVICE_LOG_QUERIES=false`). They are
    in memory only, and end with the process.
    """
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedSecrets:
    """Redacted secrets."""

    kind: str
    """The kind of secret, such as `github-token`. Each secret was replaced with `[redacted:KIND]`."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """Refused item."""

    place: str
    """Where the item stands in the source, such as a file and a number, or the external id of a text."""
    error: ErrorBody


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedLine:
    """Refused line."""

    line: int
    """Number of the line, or of the item of a JSON array. The header is number 1."""
    error: ErrorBody


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedMemory:
    """Related memory."""

    memory: Memory
    score: float
    """Similarity of the two texts, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedResponse:
    """Related response."""

    id: str
    """The id of the memory, assigned by the service."""
    related: tuple[RelatedMemory, ...]
    """By meaning, best first. By words where no embedding model is available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedRecall:
    """Remembered recall."""

    id: str
    """The id of the recall."""
    at: datetime
    """Time of the recall."""
    kind: Literal["recall", "context"]
    """`context`: an agent was given the memories."""
    query: str
    """The question. Empty for a context without one."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    session_id: str | None = None
    """The session that asked, of a context."""
    results: tuple[RememberedResult, ...]
    """The memories that were returned, best first, at most 256."""
    count: int
    """Number of memories that were returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedResult:
    """Remembered result."""

    memory_id: str
    """The id of the memory, assigned by the service."""
    score: float | None = None
    """Relevance. Absent for a memory that was given without a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeKeyResponse:
    """Revoke key response."""

    id: str
    """The public id of the key."""
    status: Literal["revoked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootResponse:
    """Root response."""

    status: str
    version: str
    working_count: int
    episodic_count: int
    semantic_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Session."""

    session_id: str
    """The session that the memory belongs to, such as a conversation."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    total: int
    """Number of memories in the session that match the filter."""
    first_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    last_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory:
    """Session memory."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    """The text of the memory, stored byte for byte."""
    revision: int | None = None
    """The revision of `content` in the history of the memory. Present only with `known_at`, if the memory has another
    text now.
    """
    tags: tuple[str, ...]
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    importance: float
    """Importance of the memory, from 0 to 1."""
    user_id: str | None = None
    """The user that the memory belongs to. Absent if all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. Absent if all agents share the memory."""
    external_id: str | None = None
    """Your own id of the memory, unique among the memories of one user and agent."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    valid_to: datetime | None = None
    """Time from which the memory no longer holds."""
    superseded_by: str | None = None
    """The memory that replaces this one at present, or at the time in `as_of`."""
    attachment: str | None = None
    """Data that belongs to the memory, such as the JSON of a message with an image, stored byte for byte. Recall does
    not search or return it; a transcript returns it if `attachments` is true.
    """
    merged_into: str | None = None
    """The visible memory that this duplicate was merged into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResponse:
    """Session response."""

    session_id: str
    """The session that the memory belongs to, such as a conversation."""
    memories: tuple[SessionMemory, ...]
    """Oldest first."""
    total: int
    """Number of memories in the whole session."""
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsResponse:
    """Sessions response."""

    sessions: tuple[Session, ...]
    total: int
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarMemory:
    """Similar memory."""

    id: str
    """The id of the memory, assigned by the service."""
    content: str
    """The text of the memory, stored byte for byte."""
    created_at: datetime
    """ISO 8601 date and time with a time zone, with millisecond precision."""
    score: float
    """Similarity to the stored text, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsHistoryResponse:
    """Stats history response."""

    period_seconds: int
    """Length of a period."""
    periods: tuple[StatsPeriod, ...]
    """Oldest first, without gaps. The last period has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsPeriod:
    """Stats period."""

    at: datetime
    """Start of the period."""
    recalls: int
    """Number of recalls."""
    stores: int
    """Number of memories that clients stored or imported."""
    errors: int
    """Number of HTTP error responses."""
    p50_ms: float | None
    """Latency in milliseconds that 50 % of the recalls stayed below. Null without recalls."""
    p99_ms: float | None
    """Latency in milliseconds that 99 % of the recalls stayed below. Null without recalls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsResponse:
    """Stats response."""

    working_count: int
    episodic_count: int
    semantic_count: int
    current_count: int
    """Number of memories in all tiers that hold now."""
    superseded_count: int
    """Number of memories in all tiers that another memory replaces now."""
    ended_count: int
    """Number of memories in all tiers whose `valid_to` has passed."""
    db_size_mb: float
    """Database size in megabytes (1,000,000 bytes). For API keys without the `operate` scope: the UTF-8 size of all
    texts in the namespace, including earlier and hidden texts.
    """
    last_sleep_at: datetime | None
    """Time of the last consolidation run. Null before the first run."""
    next_sleep_at: datetime | None = None
    """Time of the next scheduled consolidation run. An overdue run starts within a minute. Null if no run is scheduled.
    """
    pending_embeddings: int
    """Number of memories that are waiting for embeddings."""
    embedding: EmbeddingProgress | None = None
    token_states_cache: TokenStatesCache | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreBatchError:
    """Store batch error."""

    error: ErrorBody


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreBatchResponse:
    """Store batch response."""

    results: tuple[StoreBatchResult, ...]
    """One result per memory, in request order. Paths in `details` start with the index of the memory, counted from 0.
    """
    stored_count: int
    failed_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """Store request."""

    content: str
    """The text of the memory, stored byte for byte."""
    tags: Sequence[str] | None = None
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    importance: float | None = None
    """Importance of the memory, from 0 to 1. Default: `0.5`."""
    source: str | None = None
    """Where the memory comes from, such as the name of an application. Default: `"api"`."""
    session_id: str | None = None
    """The session that the memory belongs to, such as a conversation. Default: `"default"`."""
    user_id: str | None = None
    """The user that the memory belongs to. If absent, all users share the memory."""
    agent_id: str | None = None
    """The agent that the memory belongs to. If absent, all agents share the memory."""
    external_id: str | None = None
    """Your own id of the memory, such as the id of a document or message. If the user and agent have a memory with this
    id, even an expired, archived or merged one, the given fields change that memory, and absent fields stay as they
    are.
    """
    created_at: datetime | None = None
    """Time of the event, for importing history. Defaults to now."""
    expires_at: datetime | None = None
    """Time at which the memory expires and is hidden. If absent, it never expires."""
    valid_from: datetime | None = None
    """Time from which the memory holds, inclusive. Defaults to `created_at`."""
    valid_to: datetime | None = None
    """Time from which the memory no longer holds; later than `valid_from`. If absent, it has no end."""
    metadata: Mapping[str, Any] | None = None
    """A JSON object of at most 16384 bytes, at most 32 levels deep."""
    attachment: str | None = None
    """Data that belongs to the memory, such as the JSON of a message with an image, stored byte for byte. Recall does
    not search or return it; a transcript returns it if `attachments` is true.
    """
    supersedes: str | None = None
    """The memory that this one replaces. Recall ranks the replaced memory below this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreResponse:
    """Store response."""

    id: str
    """The id of the memory, assigned by the service."""
    status: Literal["stored"]
    created: bool | None = None
    """Whether the memory is new. False if `external_id` is the id of an existing memory. Absent without `external_id`.
    """
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before anything was stored, by kind. Absent if no secret was found."""
    similar: tuple[SimilarMemory, ...] | None = None
    """With `similar`: other memories of the same user and agent that hold now and speak of the same thing in other
    words, best first. Absent if they could not be searched, or did not fit into the response; the memory is stored
    nevertheless.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStatesCache:
    """Token states that the service holds in memory, of all namespaces; it reads others from the file.

    Absent on PostgreSQL, for a user or an agent, and for API keys without the `operate` scope.
    """

    memories: int
    """Number of memories whose token states are in memory."""
    bytes: int
    """Bytes of these token states."""
    max_bytes: int
    """Limit of the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoChangeResponse:
    """Undo change response."""

    status: Literal["undone"]
    id: str
    """The id of the change."""
    restored_count: int
    """Number of memories that have earlier values again."""
    kept_count: int
    """Number of memories that stay as they are, because somebody has changed all these values since, because they would
    become too large, or because they were forgotten or evicted or have expired.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoImportResponse:
    """Undo import response."""

    status: Literal["undone"]
    id: str
    """The id of the import, assigned by the service."""
    forgotten_count: int
    """Number of forgotten memories, including semantic memories that have no source left."""
    kept_count: int
    """Number of memories that the import created or changed, and that stay, because someone, or a later import, changed
    them, or because an earlier import created them.
    """
    purge: Literal["pending"] | None = None
    """Present while deleted bytes may still be on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResponse:
    """Undo response."""

    status: Literal["undone"]
    id: str
    """The id of the consolidation run, assigned by the service."""
    also_undone: tuple[str, ...] | None = None
    """The later runs that were undone too, newest first. Absent if there were none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateManyResponse:
    """Update many response."""

    status: Literal["updated"]
    change_id: str
    """Pass this value to `POST /changes/{id}/undo`, for an hour."""
    updated_count: int
    """Number of memories that changed."""
    unchanged_count: int
    """Number of memories that had these values already."""
    refused_count: int
    """Number of memories that stay unchanged because they would have too many tags or too much metadata."""
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before anything was stored, by kind. Absent if no secret was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResponse:
    """Update response."""

    id: str
    """The id of the memory, assigned by the service."""
    status: Literal["updated"]
    redacted: tuple[RedactedSecrets, ...] | None = None
    """Secrets that were removed before anything was stored, by kind. Absent if no secret was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuotaResponse:
    """User quota response."""

    user_id: str
    """The end user that the memory belongs to."""
    quota: NamespaceQuota


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSummary:
    """User summary."""

    user_id: str
    """The end user that the memory belongs to."""
    working_count: int
    episodic_count: int
    semantic_count: int
    memories: int
    """Number of memories that clients stored and that were not forgotten, including hidden memories."""
    bytes: int
    """UTF-8 size in bytes of the texts that clients stored, including earlier texts and attachments."""
    quota: NamespaceQuota
    last_stored_at: datetime
    """Last storage time of the user's memories, including memories that were forgotten later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersResponse:
    """Users response."""

    users: tuple[UserSummary, ...]
    """Ordered by `user_id`."""
    total: int
    next_cursor: str | None = None
    """Pass this value as `cursor` to get the next page. Absent on the last page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesBefore:
    """Tags and importance of the memory before a `gained` change."""

    tags: tuple[str, ...]
    """Labels of your choice. Their order is preserved, duplicates are removed."""
    importance: float
    """Importance of the memory, from 0 to 1."""


ExportLine: TypeAlias = ExportHeader | ExportedMemory | ExportedDecline
"""A line of an export: the header first, then memories, then groups that must not be distilled again."""

MemoryEvent: TypeAlias = MemoriesEvent | ConsolidationEvent | ImportEvent | GapEvent
"""An operation on memories, progress of a consolidation run or an import, or a gap in the stream."""

StoreBatchResult: TypeAlias = StoreResponse | StoreBatchError
