/** A step from one version of the schema to the next. */
export interface SchemaStep {
  /** SQL statements. */
  script: string;
  /** Whether servers that know only the previous version can still write. */
  mayOlderWrite: boolean;
}

/**
 * Migrations from an empty database to the current schema; step n migrates version n to n + 1. A released step must not
 * be changed.
 *
 * Every key starts with `namespace`, so that a cluster can distribute rows by that column. Texts are compared bytewise.
 * Times are milliseconds since 1970 in UTC.
 */
export const MIGRATIONS: readonly SchemaStep[] = [
  {
    mayOlderWrite: false,
    script: `
  -- Ordinals of memories, unique across namespaces.
  CREATE SEQUENCE memory_ordinal;

  -- user_id and agent_id: '' if all users, or all agents, share the memory; both never change. revision: number of texts
  -- so far. distilled_revision: revision of the last text written by consolidation, or null. tags and metadata: JSON as
  -- text, because jsonb would not preserve the order of fields. fields: the metadata again, for filters, which would parse
  -- the text for each memory. attachment_bytes: size of the row in memory_attachment, or 0. external_id: the caller's own
  -- id, or null. external_key: digest of user_id, agent_id and external_id, or null, because the three texts may be too
  -- long for an index row.
  CREATE TABLE memory (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C",
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    external_key text COLLATE "C",
    source text COLLATE "C" NOT NULL,
    tier text COLLATE "C" NOT NULL CHECK (tier IN ('working', 'episodic', 'semantic')),
    importance double precision NOT NULL,
    created_at bigint NOT NULL,
    stored_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint,
    valid_from bigint,
    valid_to bigint,
    evicted_at bigint,
    supersedes text COLLATE "C",
    merged_into text COLLATE "C",
    version integer NOT NULL,
    revision integer NOT NULL,
    distilled_revision integer,
    text_digest bytea NOT NULL,
    tags text NOT NULL,
    metadata text NOT NULL,
    fields jsonb GENERATED ALWAYS AS (metadata::jsonb) STORED,
    attachment_bytes integer NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );
  CREATE UNIQUE INDEX memory_by_id ON memory (namespace, id);
  CREATE UNIQUE INDEX memory_by_external_key ON memory (namespace, external_key) WHERE external_key IS NOT NULL;
  CREATE INDEX memory_by_time ON memory (namespace, created_at, ordinal);
  CREATE INDEX memory_by_session ON memory (namespace, session_id, created_at, ordinal);
  CREATE INDEX memory_by_user ON memory (namespace, user_id, session_id, created_at, ordinal);
  CREATE INDEX memory_by_agent ON memory (namespace, agent_id, created_at, ordinal) WHERE agent_id <> '';
  CREATE INDEX memory_by_source ON memory (namespace, source, created_at, ordinal);
  CREATE INDEX memory_by_tier ON memory (namespace, tier, created_at, ordinal)
    WHERE merged_into IS NULL AND evicted_at IS NULL;
  -- Orders of lists.
  CREATE INDEX memory_by_change ON memory (namespace, updated_at, created_at, ordinal);
  CREATE INDEX memory_by_importance ON memory (namespace, importance, created_at, ordinal);
  -- Standing notes, which contexts read.
  CREATE INDEX memory_standing ON memory (namespace, user_id, created_at, ordinal)
    WHERE importance >= 0.9 AND merged_into IS NULL AND evicted_at IS NULL;
  -- Not a partial index on memories in a tier: without statistics, the planner would assume few rows and scan all of it.
  CREATE INDEX memory_by_text ON memory (namespace, text_digest, user_id, session_id);
  CREATE INDEX memory_working ON memory (namespace, stored_at, ordinal)
    WHERE tier = 'working' AND merged_into IS NULL AND evicted_at IS NULL;
  CREATE INDEX memory_expiring ON memory (namespace, expires_at)
    WHERE expires_at IS NOT NULL AND merged_into IS NULL AND evicted_at IS NULL;
  -- Memories that end or begin at a time of their own, which statistics count.
  CREATE INDEX memory_ending ON memory (namespace, valid_to)
    WHERE valid_to IS NOT NULL AND merged_into IS NULL AND evicted_at IS NULL;
  CREATE INDEX memory_beginning ON memory (namespace, valid_from)
    WHERE valid_from IS NOT NULL AND merged_into IS NULL AND evicted_at IS NULL;
  CREATE INDEX memory_evicted ON memory (namespace, evicted_at) WHERE evicted_at IS NOT NULL;
  CREATE INDEX memory_merged ON memory (namespace, merged_into) WHERE merged_into IS NOT NULL;
  CREATE INDEX memory_superseding ON memory (namespace, supersedes) WHERE supersedes IS NOT NULL;

  -- Memory successor supersedes memory ordinal: the memory that it names in supersedes, and the memories with the
  -- same text. unlinked_at: null while the link exists.
  CREATE TABLE succession (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    successor bigint NOT NULL,
    linked_at bigint NOT NULL,
    unlinked_at bigint,
    PRIMARY KEY (namespace, ordinal, successor, linked_at)
  );
  CREATE INDEX succession_by_successor ON succession (namespace, successor);
  CREATE INDEX succession_by_time ON succession (namespace, linked_at);
  CREATE INDEX succession_ended ON succession (namespace, unlinked_at) WHERE unlinked_at IS NOT NULL;

  CREATE TABLE memory_history (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    revision integer NOT NULL,
    replaced_at bigint NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (namespace, ordinal, revision)
  );

  -- The fields that a memory had until a change, since the change before. regroups: true if the change merged the memory,
  -- or detached it from the memory that it was merged into.
  CREATE TABLE field_history (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    until bigint NOT NULL,
    regroups boolean NOT NULL,
    session_id text COLLATE "C",
    source text COLLATE "C" NOT NULL,
    importance double precision NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    valid_from bigint,
    valid_to bigint,
    supersedes text COLLATE "C",
    merged_into text COLLATE "C",
    version integer NOT NULL,
    tags text NOT NULL,
    metadata text NOT NULL,
    PRIMARY KEY (namespace, ordinal, until)
  );
  CREATE INDEX field_history_by_time ON field_history (namespace, until);
  CREATE INDEX field_history_of_groups ON field_history (namespace, until) WHERE regroups;
  CREATE INDEX field_history_superseding ON field_history (namespace, supersedes) WHERE supersedes IS NOT NULL;
  CREATE INDEX field_history_merged ON field_history (namespace, merged_into) WHERE merged_into IS NOT NULL;

  CREATE TABLE memory_attachment (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    attachment text NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );

  -- The distinct words of the present text that lists find, folded, each after a key of the namespace.
  CREATE TABLE memory_words (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );
  CREATE INDEX memory_words_by_word ON memory_words USING gin (words);

  -- The fill factor leaves space for heap-only updates of counts.
  CREATE TABLE memory_access (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    count integer NOT NULL,
    last_at bigint NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  ) WITH (fillfactor = 70);

  -- Tags under the name 'tag', scalar metadata fields under 'metadata.' followed by their name. Names and values that are
  -- too long for a key are replaced with digests.
  CREATE TABLE attribute (
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (namespace, name, value, ordinal)
  );

  -- Number of memories of namespaces (user_id '') and of users by tier, including expired ones. The count of a tier is
  -- the sum of its slots. Connections write to different slots, so that stores do not wait for each other.
  CREATE TABLE tier_count (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    tier text COLLATE "C" NOT NULL,
    slot smallint NOT NULL DEFAULT pg_backend_pid() % 16,
    count bigint NOT NULL,
    PRIMARY KEY (namespace, user_id, tier, slot)
  ) WITH (fillfactor = 50);
  -- Finds the rows of namespaces among the rows of their users.
  CREATE INDEX tier_count_of_namespace ON tier_count (namespace) WHERE user_id = '';
  -- Number of memories in the tiers by session, user and agent ('' for memories without one), and their first and last
  -- creation time; the slots are as for tiers. Each session of a user has a row with an empty agent_id in slot -1, which
  -- counts nothing. A session without memories in the tiers has no row.
  CREATE TABLE session_count (
    namespace text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    slot smallint NOT NULL DEFAULT pg_backend_pid() % 16,
    count bigint NOT NULL,
    first_at bigint,
    last_at bigint,
    PRIMARY KEY (namespace, session_id, user_id, agent_id, slot)
  ) WITH (fillfactor = 70);
  CREATE INDEX session_count_by_user ON session_count (namespace, user_id, session_id) WHERE user_id <> '';
  CREATE INDEX session_count_by_agent ON session_count (namespace, agent_id, session_id, user_id) WHERE agent_id <> '';

  -- Index entries of memories in recall, including expired memories. terms: digests of the distinct words of the text,
  -- with their frequencies at the same positions. speaker_terms: digests of the words of the speaker's name. made_by:
  -- version of the rules by which the index entry was built. model: number of the model that made the vectors, or that
  -- found nothing to embed; 0 before that.
  CREATE TABLE recall_entry (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    made_by integer NOT NULL,
    length integer NOT NULL,
    speaker bigint NOT NULL,
    marks integer NOT NULL,
    terms bigint[] NOT NULL,
    frequencies smallint[] NOT NULL,
    speaker_terms bigint[] NOT NULL,
    model integer NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, ordinal)
  );
  -- Memories that contain a term, with the data for BM25: frequency, length of the text, and whether the memory is
  -- semantic, because words of semantic memories are counted in their sources.
  CREATE TABLE posting (
    namespace text COLLATE "C" NOT NULL,
    term bigint NOT NULL,
    ordinal bigint NOT NULL,
    length integer NOT NULL,
    frequency smallint NOT NULL,
    is_semantic boolean NOT NULL,
    PRIMARY KEY (namespace, term, ordinal) INCLUDE (length, frequency, is_semantic)
  );
  -- A random sample of 1/16 of the postings, ordered by hash, to estimate document frequencies.
  CREATE INDEX posting_sample ON posting (namespace, term, hashint8(ordinal)) INCLUDE (ordinal)
    WHERE NOT is_semantic AND hashint8(ordinal) < -1879048192;
  CREATE TABLE memory_vector (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    part smallint NOT NULL,
    model integer NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (namespace, ordinal, part)
  );
  -- Without this, vectors above 2 kB would be stored out of line, and each read would need several pages.
  ALTER TABLE memory_vector ALTER COLUMN embedding SET STORAGE PLAIN;
  -- Token states of the model that made the vectors.
  CREATE TABLE token_states (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    model integer NOT NULL,
    states bytea NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );

  -- dimensions: null before the first vector of the model. cosine_scales: JSON of the ranges of its
  -- cosines; null for the bundled model, and until they were measured.
  CREATE TABLE embedding_model (
    no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id text NOT NULL UNIQUE,
    dimensions integer,
    cosine_scales text,
    in_use boolean NOT NULL
  );
  -- Queue of memories without vectors, in order of arrival. Only the claiming process embeds a memory until
  -- claimed_until. reembed: true for low priority, after memories written by clients: the memory had vectors of another
  -- model or layout, or was written by consolidation. stage: 0 for a short text, 1 for a long text, 2 for the rest of a
  -- text. embedded_chars: UTF-16 units at the start of the text that have vectors of the model of the index entry.
  CREATE TABLE pending_embedding (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    reembed boolean NOT NULL DEFAULT false,
    stage smallint NOT NULL,
    embedded_chars integer NOT NULL DEFAULT 0,
    claimed_by text COLLATE "C" NOT NULL DEFAULT '',
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (namespace, ordinal)
  ) WITH (fillfactor = 70);
  CREATE INDEX pending_embedding_by_ordinal ON pending_embedding (ordinal);
  CREATE INDEX pending_embedding_by_turn ON pending_embedding (reembed, stage, namespace, user_id, ordinal);

  -- Memories whose text has not been checked for duplicates.
  CREATE TABLE merge_candidate (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );

  -- created: 1 if the first request created the memory, 0 if it named an existing memory by its external id.
  CREATE TABLE idempotency_key (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    digest text NOT NULL,
    memory_id text NOT NULL,
    created integer NOT NULL,
    used_at bigint NOT NULL,
    PRIMARY KEY (namespace, user_id, agent_id, key)
  );
  CREATE INDEX idempotency_key_by_age ON idempotency_key (used_at);

  -- Consolidation runs. ended_at: null while the run is in progress. counts: number of changes by kind at the end of the
  -- run. undone_from: while a run is being undone, the last change that was undone.
  CREATE SEQUENCE consolidation_run_no;
  CREATE TABLE consolidation_run (
    namespace text COLLATE "C" NOT NULL,
    no bigint NOT NULL DEFAULT nextval('consolidation_run_no'),
    id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('running', 'completed', 'undoing', 'undone', 'reverted')),
    started_at bigint NOT NULL,
    ended_at bigint,
    promoted_until bigint NOT NULL,
    undone_from bigint,
    counts text NOT NULL DEFAULT '{}',
    notes text NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, no)
  );
  CREATE UNIQUE INDEX consolidation_run_by_id ON consolidation_run (namespace, id);
  -- Changes of a run, in order. detail: JSON of ordinals, numbers and tags, but never of texts. Changes of a memory are
  -- deleted when it is forgotten.
  CREATE TABLE consolidation_change (
    namespace text COLLATE "C" NOT NULL,
    run bigint NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    ordinal bigint NOT NULL,
    detail text NOT NULL,
    PRIMARY KEY (namespace, run, seq)
  );
  CREATE INDEX consolidation_change_by_memory ON consolidation_change (namespace, ordinal);

  -- Sources of semantic memories, by ordinal. A memory is a source of at most one semantic memory.
  CREATE TABLE memory_source (
    namespace text COLLATE "C" NOT NULL,
    semantic bigint NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (namespace, semantic, source)
  );
  CREATE UNIQUE INDEX memory_source_by_source ON memory_source (namespace, source);
  -- Former sources, of which only earlier texts of the semantic memory may contain information.
  CREATE TABLE former_source (
    namespace text COLLATE "C" NOT NULL,
    semantic bigint NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (namespace, semantic, source)
  );
  CREATE INDEX former_source_by_source ON former_source (namespace, source);
  -- New and changed memories that are queued for distillation.
  CREATE TABLE distil_candidate (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );
  -- Groups whose semantic memory was forgotten by a client: a digest of the sources and their texts.
  CREATE TABLE declined_group (
    namespace text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, digest, user_id, agent_id)
  );
  -- Suggestions that memory later corrects memory earlier, both of one user and agent. earlier_revision and
  -- later_revision: the texts that were compared. decided_at: null if pending. Forgetting a memory deletes its rows.
  CREATE TABLE correction (
    namespace text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    earlier bigint NOT NULL,
    later bigint NOT NULL,
    earlier_revision integer NOT NULL,
    later_revision integer NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'accepted', 'declined')),
    reason text NOT NULL,
    suggested_at bigint NOT NULL,
    decided_at bigint,
    PRIMARY KEY (namespace, earlier, later)
  );
  CREATE UNIQUE INDEX correction_by_id ON correction (namespace, id);
  CREATE INDEX correction_by_later ON correction (namespace, later);
  CREATE INDEX correction_by_state ON correction (namespace, state, id);
  CREATE INDEX correction_by_user ON correction (namespace, user_id, state, id) WHERE user_id <> '';
  CREATE INDEX correction_by_agent ON correction (namespace, agent_id, state, id) WHERE agent_id <> '';

  -- fence: increases whenever another holder acquires the lease. holder: '' if the lease was released.
  CREATE TABLE lease (
    name text PRIMARY KEY,
    holder text NOT NULL,
    ends_at bigint NOT NULL,
    fence bigint NOT NULL
  );

  -- Quota of a namespace (user_id '') or of one of its users. 0: unlimited. null: the default from the settings.
  CREATE TABLE quota (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    memories bigint,
    bytes bigint,
    PRIMARY KEY (namespace, user_id)
  );
  -- The settings of a user, or of nobody (user_id ''), for the hooks of agent programs. paused: 1 if the hooks do nothing.
  -- ignored_folders: JSON array of paths. An owner with the default settings has no row.
  CREATE TABLE hook_setting (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    paused integer NOT NULL,
    ignored_folders text NOT NULL,
    PRIMARY KEY (namespace, user_id)
  );
  -- Imports. user_id and agent_id: the owner, or ''. content_digest: digest of the owner, the format and the content, or
  -- null if the client named no content. ended_at: null while the import is in progress, and if it was interrupted.
  -- undoing: 1 once an undo has begun. imported_count: number of memories that the import created.
  CREATE SEQUENCE import_run_no;
  CREATE TABLE import_run (
    namespace text COLLATE "C" NOT NULL,
    no bigint NOT NULL DEFAULT nextval('import_run_no'),
    id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    format text NOT NULL,
    name text,
    content_digest text COLLATE "C",
    started_at bigint NOT NULL,
    ended_at bigint,
    undoing integer NOT NULL DEFAULT 0,
    imported_count bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, no)
  );
  CREATE UNIQUE INDEX import_run_by_id ON import_run (namespace, id);
  CREATE UNIQUE INDEX import_run_by_content ON import_run (namespace, content_digest) WHERE content_digest IS NOT NULL;
  CREATE INDEX import_run_by_user ON import_run (namespace, user_id, no);
  CREATE INDEX import_run_by_agent ON import_run (namespace, agent_id, no) WHERE agent_id <> '';
  -- Memories that imports created. run: the import that the memory belongs to. It created the memory, or changed it before
  -- the import that created it was undone. changed_by: the other import that changed the memory last, or null. digest: of
  -- the text and fields as imported last, or '' for a memory of an export. version: the version that the imports left. A
  -- memory with another version was changed since.
  CREATE TABLE imported_memory (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    run bigint NOT NULL,
    changed_by bigint,
    digest text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );
  CREATE INDEX imported_memory_by_run ON imported_memory (namespace, run, ordinal);
  CREATE INDEX imported_memory_by_change ON imported_memory (namespace, changed_by, ordinal) WHERE changed_by IS NOT NULL;
  -- Changes of many memories, until they can no longer be undone. user_id and agent_id: the owner that the change is
  -- limited to, or ''. digest: SHA-256 of the selection and the new values, to recognize a repeated request. The values
  -- are not stored. arrived_until: the change is of memories with at most this ordinal. done_until: ordinal of the last
  -- memory that the change has looked at.
  CREATE SEQUENCE bulk_change_no;
  CREATE TABLE bulk_change (
    namespace text COLLATE "C" NOT NULL,
    no bigint NOT NULL DEFAULT nextval('bulk_change_no'),
    id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    digest text NOT NULL,
    state text NOT NULL DEFAULT 'made' CHECK (state IN ('made', 'undoing', 'undone')),
    expires_at bigint NOT NULL,
    arrived_until bigint NOT NULL,
    done_until bigint NOT NULL DEFAULT 0,
    updated_count bigint NOT NULL DEFAULT 0,
    unchanged_count bigint NOT NULL DEFAULT 0,
    refused_count bigint NOT NULL DEFAULT 0,
    restored_count bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, no)
  );
  CREATE INDEX bulk_change_by_id ON bulk_change (namespace, id);
  CREATE INDEX bulk_change_by_age ON bulk_change (expires_at);
  -- Memories that a change has changed and no undo has looked at. before, after: JSON of the values before and after the
  -- change, of the fields that it changed. Forgetting a memory deletes its rows.
  CREATE TABLE changed_memory (
    namespace text COLLATE "C" NOT NULL,
    change bigint NOT NULL,
    ordinal bigint NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    PRIMARY KEY (namespace, change, ordinal)
  );
  CREATE INDEX changed_memory_by_memory ON changed_memory (namespace, ordinal);
  -- Usage of a namespace (user_id '') and of each user: memories that clients stored, including merged and evicted
  -- memories, and bytes of their texts, including earlier texts. Semantic memories and texts written by consolidation
  -- are not counted. The usage is the sum of its slots, as for tiers. Slot -1 is the row that every user with memories
  -- has; a user without any memory has no row. users and sessions: only for namespaces, the number of users with a row,
  -- and of sessions in session_count. last_stored_at: only for users, the last time of a memory that a client stored, even
  -- if the memory was forgotten.
  CREATE TABLE usage (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    slot smallint NOT NULL DEFAULT pg_backend_pid() % 16,
    memories bigint NOT NULL,
    bytes bigint NOT NULL,
    users bigint NOT NULL,
    sessions bigint NOT NULL,
    last_stored_at bigint,
    PRIMARY KEY (namespace, user_id, slot)
  ) WITH (fillfactor = 50);
  CREATE INDEX usage_of_namespace ON usage (namespace) WHERE user_id = '';

  -- API keys of all namespaces. digest: SHA-256 of the secret in hexadecimal. user_id and agent_id: restriction of the
  -- key, or ''.
  CREATE TABLE api_key (
    no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    scope text NOT NULL CHECK (scope IN ('metrics', 'read', 'write', 'operate')),
    digest text NOT NULL,
    created_at bigint NOT NULL,
    name text NOT NULL,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint
  );
  INSERT INTO property
    SELECT 'secret', left(encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 'hex'), 32);
  `,
  },
];
