/** A step from one version of the schema to the next. */
export interface SchemaStep {
  /** SQL statements. */
  script: string;
  /** Whether servers that know no more than the version before may write beside those that know this one. */
  mayOlderWrite: boolean;
}

/**
 * The steps from an empty database to the present schema; step n takes one of version n to n + 1. A step that has been
 * released is never changed.
 *
 * Every key begins with `namespace`, so that a cluster can spread rows by that column, and texts compare by their bytes.
 * Times are milliseconds since 1970 in UTC.
 */
export const MIGRATIONS: readonly SchemaStep[] = [
  {
    mayOlderWrite: false,
    script: `
  -- Ordinals of memories, over all namespaces.
  CREATE SEQUENCE memory_ordinal;

  CREATE TABLE memory (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C",
    -- '' where all users, or all agents, share it. Neither ever changes.
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    tier text COLLATE "C" NOT NULL CHECK (tier IN ('working', 'episodic', 'semantic')),
    importance double precision NOT NULL,
    created_at bigint NOT NULL,
    stored_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint,
    evicted_at bigint,
    supersedes text COLLATE "C",
    superseded_by text COLLATE "C",
    merged_into text COLLATE "C",
    version integer NOT NULL,
    -- Counts its texts; that of the text which consolidation gave it last, null where every text is a client's.
    revision integer NOT NULL,
    distilled_revision integer,
    text_digest bytea NOT NULL,
    -- JSON as it was given, in text: the order of its fields is the client's.
    tags text NOT NULL,
    metadata text NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );
  CREATE UNIQUE INDEX memory_by_id ON memory (namespace, id);
  CREATE INDEX memory_by_time ON memory (namespace, created_at, ordinal);
  CREATE INDEX memory_by_session ON memory (namespace, session_id, created_at, ordinal);
  CREATE INDEX memory_by_user ON memory (namespace, user_id, session_id, created_at, ordinal);
  CREATE INDEX memory_by_agent ON memory (namespace, agent_id, created_at, ordinal) WHERE agent_id <> '';
  CREATE INDEX memory_by_source ON memory (namespace, source, created_at, ordinal);
  CREATE INDEX memory_by_tier ON memory (namespace, tier, created_at, ordinal)
    WHERE merged_into IS NULL AND evicted_at IS NULL;
  -- Not of those in a tier alone: a planner that has no statistics yet would take that for few, and read all of it.
  CREATE INDEX memory_by_text ON memory (namespace, text_digest, user_id, session_id);
  CREATE INDEX memory_working ON memory (namespace, stored_at, ordinal)
    WHERE tier = 'working' AND merged_into IS NULL AND evicted_at IS NULL;
  CREATE INDEX memory_expiring ON memory (namespace, expires_at)
    WHERE expires_at IS NOT NULL AND merged_into IS NULL AND evicted_at IS NULL;
  CREATE INDEX memory_evicted ON memory (namespace, evicted_at) WHERE evicted_at IS NOT NULL;
  CREATE INDEX memory_merged ON memory (namespace, merged_into) WHERE merged_into IS NOT NULL;
  CREATE INDEX memory_superseding ON memory (namespace, supersedes) WHERE supersedes IS NOT NULL;
  CREATE INDEX memory_superseded ON memory (namespace, superseded_by) WHERE superseded_by IS NOT NULL;

  CREATE TABLE memory_history (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    revision integer NOT NULL,
    replaced_at bigint NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (namespace, ordinal, revision)
  );

  -- Room is left in its pages, for a count is written anew beside the one before.
  CREATE TABLE memory_access (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    count integer NOT NULL,
    last_at bigint NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  ) WITH (fillfactor = 70);

  -- Tags under the name 'tag', scalar metadata fields under 'metadata.' and their name; of what is too long for a key,
  -- a digest.
  CREATE TABLE attribute (
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (namespace, name, value, ordinal)
  );

  -- Memories in recall or hidden only by their expiry. A tier's count is the sum of its slots; connections write to
  -- different ones, so that stores do not wait for each other.
  CREATE TABLE tier_count (
    namespace text COLLATE "C" NOT NULL,
    tier text COLLATE "C" NOT NULL,
    slot smallint NOT NULL DEFAULT pg_backend_pid() % 16,
    count bigint NOT NULL,
    PRIMARY KEY (namespace, tier, slot)
  ) WITH (fillfactor = 50);

  -- What recall knows of the memories in recall, those hidden only by their expiry included. terms: digests of the words
  -- of the text, each once, and in the same places how often they occur; speaker_terms: digests of those of its speaker's
  -- name. made_by: the rules by which all that was made. model: number of the model that made its vectors, or found that
  -- there are none to make; 0 before any has.
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
  -- The memories that hold a term, with what BM25 needs: how often, how long the text is, and whether it is semantic,
  -- whose words are counted in its sources.
  CREATE TABLE posting (
    namespace text COLLATE "C" NOT NULL,
    term bigint NOT NULL,
    ordinal bigint NOT NULL,
    length integer NOT NULL,
    frequency smallint NOT NULL,
    is_semantic boolean NOT NULL,
    PRIMARY KEY (namespace, term, ordinal) INCLUDE (length, frequency, is_semantic)
  );
  -- One in 16 of those that are counted, in an order that is one of chance: the lowest tell how many there are.
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
  -- Vectors beyond 2 kB would be kept apart, where each takes several pages to read.
  ALTER TABLE memory_vector ALTER COLUMN embedding SET STORAGE PLAIN;
  -- The states of tokens, from the model that made the vectors.
  CREATE TABLE token_states (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    model integer NOT NULL,
    states bytea NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );

  -- dimensions: null until the model has made a vector.
  CREATE TABLE embedding_model (
    no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id text NOT NULL UNIQUE,
    dimensions integer,
    in_use boolean NOT NULL
  );
  -- Memories that wait for vectors, in order of arrival; one that a process has claimed is left to it until then. anew:
  -- true for a memory that waits behind those that clients have written: it had vectors, of another model or layout, or
  -- consolidation wrote it.
  CREATE TABLE pending_embedding (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    anew boolean NOT NULL DEFAULT false,
    claimed_by text COLLATE "C" NOT NULL DEFAULT '',
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (namespace, ordinal)
  ) WITH (fillfactor = 70);
  CREATE INDEX pending_embedding_by_turn ON pending_embedding (anew, ordinal);

  -- Memories with a text that has not yet been looked at for duplicates.
  CREATE TABLE merge_candidate (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );

  CREATE TABLE idempotency_key (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    digest text NOT NULL,
    memory_id text NOT NULL,
    used_at bigint NOT NULL,
    PRIMARY KEY (namespace, user_id, agent_id, key)
  );
  CREATE INDEX idempotency_key_by_age ON idempotency_key (used_at);

  -- Runs of consolidation. ended_at is null until the run has done all its work; counts: changes by kind, as they were
  -- then. Of a run that is being undone, undone_from is the last change that has been taken back.
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
  -- What a run did to a memory, in order. detail is JSON of ordinals, numbers and tags, never of texts; a forgotten
  -- memory has none.
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

  -- The memories that a semantic memory was distilled from, by their ordinals. A memory is a source of one at most.
  CREATE TABLE memory_source (
    namespace text COLLATE "C" NOT NULL,
    semantic bigint NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (namespace, semantic, source)
  );
  CREATE UNIQUE INDEX memory_source_by_source ON memory_source (namespace, source);
  -- Those that its earlier texts alone may tell of.
  CREATE TABLE former_source (
    namespace text COLLATE "C" NOT NULL,
    semantic bigint NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (namespace, semantic, source)
  );
  CREATE INDEX former_source_by_source ON former_source (namespace, source);
  -- Memories that are to be looked at for what they say together with others: new ones, and those that have changed.
  CREATE TABLE distil_candidate (
    namespace text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  );
  -- Groups whose semantic memory a client forgot: a digest of its sources and their texts.
  CREATE TABLE declined_group (
    namespace text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, digest)
  );

  -- fence grows whenever another holder takes the lease; one that was given up has the empty holder.
  CREATE TABLE lease (
    name text PRIMARY KEY,
    holder text NOT NULL,
    ends_at bigint NOT NULL,
    fence bigint NOT NULL
  );

  -- What a namespace, whose user is '', or one of its users may hold; 0 is any number, null what the setting says.
  CREATE TABLE quota (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    memories bigint,
    bytes bigint,
    PRIMARY KEY (namespace, user_id)
  );
  -- What clients gave a namespace, whose user is '', and each of its users, and nobody has erased: memories, hidden ones included, and bytes of texts, earlier ones
  -- included. Neither semantic memories nor the texts that consolidation gave them are counted. As with tiers, it is the
  -- sum of its slots.
  CREATE TABLE usage (
    namespace text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    slot smallint NOT NULL DEFAULT pg_backend_pid() % 16,
    memories bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (namespace, user_id, slot)
  ) WITH (fillfactor = 50);

  -- API keys, of all namespaces together, for they are few; digest is the SHA-256 of the secret in hexadecimal digits.
  -- user_id and agent_id: those that a key is bound to, or ''.
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
