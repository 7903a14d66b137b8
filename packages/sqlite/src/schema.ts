/** The `application_id` of memoryd files: "mmry" in ASCII. */
export const APPLICATION_ID = 0x6d6d7279;

/**
 * The migration steps from an empty file to the current schema. Step n migrates version n to n + 1. A released step
 * must never change. Comments stand between the statements, because a file stores the text of each statement with the
 * comments inside it.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- user_id and agent_id: '' if all users, or all agents, share the memory; both never change. revision: number of texts
  -- so far. distilled_revision: revision of the last text written by consolidation, or null. attachment_bytes: size of the
  -- row in memory_attachment, or 0. external_id: the caller's own id, or null. external_key: digest of user_id, agent_id
  -- and external_id, or null.
  CREATE TABLE memory (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    external_id TEXT,
    external_key TEXT,
    source TEXT NOT NULL,
    tier TEXT NOT NULL CHECK (tier IN ('working', 'episodic', 'semantic')),
    importance REAL NOT NULL,
    created_at INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    evicted_at INTEGER,
    supersedes TEXT,
    merged_into TEXT,
    version INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    distilled_revision INTEGER,
    text_digest BLOB NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    attachment_bytes INTEGER NOT NULL,
    content TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX memory_by_id ON memory (namespace, id);
  CREATE UNIQUE INDEX memory_by_external_key ON memory (namespace, external_key) WHERE external_key IS NOT NULL;
  CREATE INDEX memory_by_time ON memory (namespace, created_at, ordinal, expires_at, evicted_at, merged_into, user_id);
  -- The last columns make the index cover scopes and counts.
  CREATE INDEX memory_by_session
    ON memory (namespace, session_id, created_at, ordinal, expires_at, evicted_at, merged_into, user_id);
  CREATE INDEX memory_by_user
    ON memory (namespace, user_id, session_id, created_at, ordinal, expires_at, evicted_at, merged_into)
    WHERE user_id <> '';
  CREATE INDEX memory_by_agent ON memory (namespace, agent_id, created_at, ordinal) WHERE agent_id <> '';
  CREATE INDEX memory_by_source ON memory (namespace, source, created_at, ordinal, expires_at, evicted_at, merged_into);
  CREATE INDEX memory_by_tier ON memory (namespace, tier, created_at, ordinal, expires_at, evicted_at, merged_into);
  -- Orders of lists.
  CREATE INDEX memory_by_change ON memory (namespace, updated_at, created_at, ordinal, expires_at, evicted_at, merged_into);
  CREATE INDEX memory_by_importance
    ON memory (namespace, importance, created_at, ordinal, expires_at, evicted_at, merged_into);
  -- Standing notes, which contexts read.
  CREATE INDEX memory_standing ON memory (namespace, user_id, created_at, ordinal)
    WHERE importance >= 0.9 AND merged_into IS NULL AND evicted_at IS NULL;
  CREATE INDEX memory_by_text ON memory (namespace, session_id, user_id, text_digest, expires_at)
    WHERE merged_into IS NULL AND evicted_at IS NULL;
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
  -- Memories with a state other than the default of the in-memory index. Working memories have an index of their own.
  CREATE INDEX memory_unusual ON memory (ordinal)
    WHERE tier = 'semantic' OR expires_at IS NOT NULL OR valid_from IS NOT NULL OR valid_to IS NOT NULL;
  CREATE INDEX memory_superseding ON memory (namespace, supersedes) WHERE supersedes IS NOT NULL;

  -- Memory successor supersedes memory ordinal: the memory that it names in supersedes, and the memories with the
  -- same text. unlinked_at: null while the link exists.
  CREATE TABLE succession (
    namespace TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    successor INTEGER NOT NULL,
    linked_at INTEGER NOT NULL,
    unlinked_at INTEGER,
    PRIMARY KEY (ordinal, successor, linked_at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX succession_by_successor ON succession (successor);
  CREATE INDEX succession_of_namespace ON succession (namespace, ordinal);
  CREATE INDEX succession_by_time ON succession (namespace, linked_at);
  CREATE INDEX succession_ended ON succession (namespace, unlinked_at) WHERE unlinked_at IS NOT NULL;

  CREATE TABLE memory_history (
    namespace TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    replaced_at INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (ordinal, revision)
  ) STRICT, WITHOUT ROWID;

  -- The fields that a memory had until a change, since the change before. regroups: 1 if the change merged the memory, or
  -- detached it from the memory that it was merged into.
  CREATE TABLE field_history (
    namespace TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    until INTEGER NOT NULL,
    regroups INTEGER NOT NULL,
    session_id TEXT,
    source TEXT NOT NULL,
    importance REAL NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    supersedes TEXT,
    merged_into TEXT,
    version INTEGER NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (ordinal, until)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX field_history_by_time ON field_history (namespace, until);
  CREATE INDEX field_history_of_groups ON field_history (namespace, until) WHERE regroups;
  CREATE INDEX field_history_superseding ON field_history (namespace, supersedes) WHERE supersedes IS NOT NULL;
  CREATE INDEX field_history_merged ON field_history (namespace, merged_into) WHERE merged_into IS NOT NULL;

  -- Not a column of memory, because every change of a row rewrites its texts.
  CREATE TABLE memory_attachment (
    ordinal INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    attachment TEXT NOT NULL
  ) STRICT;

  -- The distinct words of the present text that lists find, folded, each in quotes and after a key of the namespace.
  CREATE TABLE memory_words (
    ordinal INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    words TEXT NOT NULL
  ) STRICT;
  -- The analysis of texts has found the words already, so this index only separates them. Signs of words such as c++ and
  -- 10:30 belong to them. prefix: the key has four characters, so the beginnings of one to three letters, which many
  -- words have, are indexed.
  CREATE VIRTUAL TABLE word_index USING fts5(
    words, content = '', columnsize = 0, detail = none, prefix = '5 6 7', tokenize = "ascii tokenchars '+#.:/-'");
  INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 1);
  CREATE TRIGGER words_begin AFTER INSERT ON memory_words BEGIN
    INSERT INTO word_index (rowid, words) VALUES (new.ordinal, new.words);
  END;
  CREATE TRIGGER words_end AFTER DELETE ON memory_words BEGIN
    INSERT INTO word_index (word_index, rowid, words) VALUES ('delete', old.ordinal, old.words);
  END;

  CREATE TABLE memory_access (
    ordinal INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    count INTEGER NOT NULL,
    last_at INTEGER NOT NULL
  ) STRICT;

  -- Tags have the name 'tag', scalar metadata fields the name 'metadata.' plus their field name.
  CREATE TABLE attribute (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (namespace, name, value, ordinal)
  ) STRICT, WITHOUT ROWID;

  -- Number of memories of namespaces (user_id is '') and of users in each tier, including expired ones that are not
  -- evicted yet. Every write updates it.
  CREATE TABLE tier_count (
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    tier TEXT NOT NULL,
    slot INTEGER NOT NULL DEFAULT 0,
    count INTEGER NOT NULL,
    PRIMARY KEY (namespace, user_id, tier, slot)
  ) STRICT, WITHOUT ROWID;
  -- Finds the rows of namespaces among the rows of their users.
  CREATE INDEX tier_count_of_namespace ON tier_count (namespace) WHERE user_id = '';
  -- Number of memories in the tiers by session, user and agent, as for tier_count, and their first and last creation
  -- time. user_id and agent_id: '' for memories without one. Each session of a user has a row with an empty agent_id, even
  -- if the row counts nothing. A session without memories in the tiers has no row.
  CREATE TABLE session_count (
    namespace TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    slot INTEGER NOT NULL DEFAULT 0,
    count INTEGER NOT NULL,
    first_at INTEGER,
    last_at INTEGER,
    PRIMARY KEY (namespace, session_id, user_id, agent_id, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX session_count_by_user ON session_count (namespace, user_id, session_id) WHERE user_id <> '';
  CREATE INDEX session_count_by_agent ON session_count (namespace, agent_id, session_id, user_id) WHERE agent_id <> '';

  -- The entries of the in-memory index: all memories in a tier, including expired ones that are not evicted yet.
  CREATE TABLE recall_entry (ordinal INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
  -- Token states, which a search reads for its candidates only. They are not part of the in-memory index. model: the
  -- number of the embedding_model that computed them.
  CREATE TABLE token_states (ordinal INTEGER PRIMARY KEY, model INTEGER NOT NULL, states BLOB NOT NULL) STRICT;
  -- Log of changed entries, states and fields, which updates the in-memory indexes. New memories are not logged, because their
  -- ordinals are higher than all before.
  CREATE TABLE recall_change (seq INTEGER PRIMARY KEY AUTOINCREMENT, ordinal INTEGER NOT NULL) STRICT;
  -- The times of a successor decide when a memory holds.
  CREATE TRIGGER memory_changes_state
    AFTER UPDATE OF tier, expires_at, valid_from, valid_to, created_at, updated_at ON memory
    WHEN new.tier <> old.tier OR new.expires_at IS NOT old.expires_at OR new.valid_from IS NOT old.valid_from
      OR new.valid_to IS NOT old.valid_to OR new.created_at <> old.created_at OR new.updated_at <> old.updated_at
  BEGIN
    INSERT INTO recall_change (ordinal) VALUES (new.ordinal);
    INSERT INTO recall_change (ordinal) SELECT ordinal FROM succession WHERE successor = new.ordinal;
  END;
  CREATE TRIGGER succession_begins AFTER INSERT ON succession
  BEGIN
    INSERT INTO recall_change (ordinal) VALUES (new.ordinal);
  END;
  CREATE TRIGGER succession_ends AFTER DELETE ON succession
  BEGIN
    INSERT INTO recall_change (ordinal) VALUES (old.ordinal);
  END;
  CREATE TRIGGER succession_changes AFTER UPDATE OF unlinked_at ON succession
  BEGIN
    INSERT INTO recall_change (ordinal) VALUES (new.ordinal);
  END;
  -- Keeps about the last 100,000 changes. An index that is further behind is rebuilt.
  CREATE TRIGGER recall_change_ages AFTER INSERT ON recall_change WHEN new.seq % 1024 = 0
  BEGIN
    DELETE FROM recall_change WHERE seq <= new.seq - 100000;
  END;

  -- dimensions: null until the model has produced a vector. cosine_scales: JSON of the ranges of its
  -- cosines; null for the bundled model, and until they were measured.
  CREATE TABLE embedding_model (
    no INTEGER PRIMARY KEY,
    model_id TEXT NOT NULL UNIQUE,
    dimensions INTEGER,
    cosine_scales TEXT,
    in_use INTEGER NOT NULL
  ) STRICT;
  -- Queue of memories to check for duplicates.
  CREATE TABLE merge_candidate (
    namespace TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  ) STRICT, WITHOUT ROWID;

  -- Queue of memories to embed. reembed: 1 for low priority, which means re-embedding for another model or layout, or a
  -- text written by consolidation. stage: 0 for a short text, 1 for a long text, 2 for the rest of a text. embedded_chars:
  -- UTF-16 units at the start of the text that have vectors of the model of the index entry.
  CREATE TABLE pending_embedding (
    ordinal INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    reembed INTEGER NOT NULL,
    stage INTEGER NOT NULL,
    embedded_chars INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX pending_embedding_by_turn ON pending_embedding (reembed, stage, namespace, user_id, ordinal);
  CREATE INDEX pending_embedding_by_namespace ON pending_embedding (namespace);

  -- created: 1 if the first request created the memory, 0 if it named an existing memory by its external id.
  CREATE TABLE idempotency_key (
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    created INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, user_id, agent_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_key_by_age ON idempotency_key (used_at);

  -- Consolidation runs. ended_at: null until the run is complete. counts: changes by kind at that time. undone_from:
  -- the last undone change of a run that is being undone.
  CREATE TABLE consolidation_run (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'undoing', 'undone', 'reverted')),
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    promoted_until INTEGER NOT NULL,
    undone_from INTEGER,
    counts TEXT NOT NULL DEFAULT '{}',
    notes TEXT NOT NULL DEFAULT '{}'
  ) STRICT;
  CREATE UNIQUE INDEX consolidation_run_by_id ON consolidation_run (namespace, id);
  CREATE INDEX consolidation_run_by_namespace ON consolidation_run (namespace, no);
  -- Changes of a run, in order. detail: JSON with ordinals, numbers and tags, never texts. Forgetting a memory deletes
  -- its changes.
  CREATE TABLE consolidation_change (
    namespace TEXT NOT NULL,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX consolidation_change_by_memory ON consolidation_change (ordinal);

  -- The sources of semantic memories, by ordinal. A memory is a source of at most one.
  CREATE TABLE memory_source (
    namespace TEXT NOT NULL,
    semantic INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (semantic, source)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX memory_source_by_source ON memory_source (source);
  -- Former sources, whose words may occur in earlier texts of the semantic memory.
  CREATE TABLE former_source (
    namespace TEXT NOT NULL,
    semantic INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (semantic, source)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX former_source_by_source ON former_source (source);
  -- Queue of new and changed memories to distill.
  CREATE TABLE distil_candidate (
    namespace TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (namespace, ordinal)
  ) STRICT, WITHOUT ROWID;
  -- Groups whose semantic memory was forgotten by a client. digest: of the sources and their texts.
  CREATE TABLE declined_group (
    namespace TEXT NOT NULL,
    digest BLOB NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (namespace, digest, user_id, agent_id)
  ) STRICT, WITHOUT ROWID;

  -- Suggestions that memory later corrects memory earlier, both of one user and agent. earlier_revision and
  -- later_revision: the texts that were compared. decided_at: null if pending. Forgetting a memory deletes its rows.
  CREATE TABLE correction (
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    earlier INTEGER NOT NULL,
    later INTEGER NOT NULL,
    earlier_revision INTEGER NOT NULL,
    later_revision INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'declined')),
    reason TEXT NOT NULL,
    suggested_at INTEGER NOT NULL,
    decided_at INTEGER,
    PRIMARY KEY (earlier, later)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX correction_by_id ON correction (namespace, id);
  CREATE INDEX correction_by_later ON correction (later);
  CREATE INDEX correction_by_state ON correction (namespace, state, id);
  CREATE INDEX correction_by_user ON correction (namespace, user_id, state, id) WHERE user_id <> '';
  CREATE INDEX correction_by_agent ON correction (namespace, agent_id, state, id) WHERE agent_id <> '';

  -- fence: increases whenever another holder takes the lease. holder: empty if the lease was released.
  CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    ends_at INTEGER NOT NULL,
    fence INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE property (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO property VALUES ('secret', lower(hex(randomblob(16))));

  -- API keys. digest: SHA-256 of the secret, in hexadecimal digits. user_id and agent_id: the user and agent that the
  -- key is bound to, or ''.
  CREATE TABLE api_key (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('metrics', 'read', 'write', 'operate')),
    digest TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    name TEXT NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
  ) STRICT;

  -- Quotas of namespaces (user_id is '') and of users. 0: unlimited. null: the default of the settings.
  CREATE TABLE quota (
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    memories INTEGER,
    bytes INTEGER,
    PRIMARY KEY (namespace, user_id)
  ) STRICT, WITHOUT ROWID;

  -- The settings of users, or of nobody (user_id is ''), for the hooks of agent programs. paused: 1 if the hooks do nothing.
  -- ignored_folders: JSON array of paths. Owners with the default settings have no row.
  CREATE TABLE hook_setting (
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    paused INTEGER NOT NULL,
    ignored_folders TEXT NOT NULL,
    PRIMARY KEY (namespace, user_id)
  ) STRICT, WITHOUT ROWID;

  -- Imports. user_id and agent_id: the owner, or ''. content_digest: digest of the owner, the format and the content, or
  -- null if the client named no content. ended_at: null while the import is in progress, and if it was interrupted.
  -- undoing: 1 once an undo has begun. imported_count: number of memories that the import created.
  CREATE TABLE import_run (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    format TEXT NOT NULL,
    name TEXT,
    content_digest TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    undoing INTEGER NOT NULL DEFAULT 0,
    imported_count INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX import_run_by_id ON import_run (namespace, id);
  CREATE UNIQUE INDEX import_run_by_content ON import_run (namespace, content_digest) WHERE content_digest IS NOT NULL;
  CREATE INDEX import_run_by_namespace ON import_run (namespace, no);
  CREATE INDEX import_run_by_user ON import_run (namespace, user_id, no);
  CREATE INDEX import_run_by_agent ON import_run (namespace, agent_id, no) WHERE agent_id <> '';
  -- Memories that imports created. run: the import that the memory belongs to. It created the memory, or changed it before
  -- the import that created it was undone. changed_by: the other import that changed the memory last, or null. digest: of
  -- the text and fields as imported last, or '' for a memory of an export. version: the version that the imports left. A
  -- memory with another version was changed since.
  CREATE TABLE imported_memory (
    ordinal INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    run INTEGER NOT NULL,
    changed_by INTEGER,
    digest TEXT NOT NULL,
    version INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX imported_memory_by_run ON imported_memory (run);
  CREATE INDEX imported_memory_by_change ON imported_memory (changed_by) WHERE changed_by IS NOT NULL;

  -- Changes of many memories, until they can no longer be undone. user_id and agent_id: the owner that the change is
  -- limited to, or ''. digest: SHA-256 of the selection and the new values, to recognize a repeated request. The values
  -- are not stored. arrived_until: the change is of memories with at most this ordinal. done_until: ordinal of the last
  -- memory that the change has looked at.
  CREATE TABLE bulk_change (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'made' CHECK (state IN ('made', 'undoing', 'undone')),
    expires_at INTEGER NOT NULL,
    arrived_until INTEGER NOT NULL,
    done_until INTEGER NOT NULL DEFAULT 0,
    updated_count INTEGER NOT NULL DEFAULT 0,
    unchanged_count INTEGER NOT NULL DEFAULT 0,
    refused_count INTEGER NOT NULL DEFAULT 0,
    restored_count INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX bulk_change_by_id ON bulk_change (namespace, id);
  CREATE INDEX bulk_change_by_age ON bulk_change (expires_at);
  -- Memories that a change has changed and no undo has looked at. before, after: JSON of the values before and after the
  -- change, of the fields that it changed. Forgetting a memory deletes its rows.
  CREATE TABLE changed_memory (
    namespace TEXT NOT NULL,
    change INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    PRIMARY KEY (change, ordinal)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX changed_memory_by_memory ON changed_memory (ordinal);

  -- Usage of namespaces (user_id is '') and of users: memories including hidden ones, and bytes of texts including
  -- earlier ones. Semantic memories and texts written by consolidation do not count. A user without any memory has no
  -- row. users and sessions: only for namespaces, the number of users with a row, and of sessions in session_count.
  -- last_stored_at: only for users, the last time of a memory that a client stored, even if the memory was forgotten.
  CREATE TABLE usage (
    namespace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    slot INTEGER NOT NULL DEFAULT 0,
    memories INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    users INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    last_stored_at INTEGER,
    PRIMARY KEY (namespace, user_id, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX usage_of_namespace ON usage (namespace) WHERE user_id = '';
  `,
];
