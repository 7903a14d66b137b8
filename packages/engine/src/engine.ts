import type { MemoryApi, Scopable, Scope, StatsResponse } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/core';
import type { EmbedderHealth, HookApi, RerankerHealth } from '@memoryd/core/operations';
import type { Administration, Clock, Hooks, IdSource, StorageCondition, StorageCopy } from '@memoryd/core/ports';
import type { DatabaseState } from './database-health.ts';
import type { DatabaseOptions } from './open-storage.ts';

/** Options of `openEngine`. */
export type EngineOptions = DatabaseOptions & EngineSettings;

/** Settings of an engine, independent of its database. */
export interface EngineSettings {
  /**
   * `minilm`: the bundled model. `none`: recall by words alone. `openai:MODEL`: a model behind the OpenAI embeddings
   * protocol. `transformers:NAME_OR_FOLDER`: a model for the package @huggingface/transformers.
   */
  embedder: string;
  /** Base URL of the embedding server for `openai:`, without `/embeddings`. */
  embeddingUrl: string;
  /** API key for the embedding server, if it requires one. */
  embeddingApiKey?: string;
  /**
   * Prefix of each query that `openai:` or `transformers:` embeds, such as `query: `, of at most 256 characters. If
   * empty, no prefix is added. If absent, `transformers:` reads the prefix from the model folder, and `openai:` adds
   * none.
   */
  embeddingQueryPrefix?: string;
  /** Prefix of each memory, or of each part of a long memory, such as `passage: `. See `embeddingQueryPrefix`. */
  embeddingPassagePrefix?: string;
  /**
   * How `transformers:` pools the states of a text's tokens into a vector: their mean, the first token (`cls`) or the
   * last token. If absent, the pooling is read from the model folder.
   */
  embeddingPooling?: 'mean' | 'cls' | 'last';
  /**
   * Value of the field `input_type` in requests of `openai:` for queries, such as `query` or `search_query`. At most 64
   * ASCII letters, digits, `_`, `-` and `.`. If absent or empty, the field is omitted.
   */
  embeddingQueryInputType?: string;
  /** Value of `input_type` for memories, such as `passage` or `search_document`. See `embeddingQueryInputType`. */
  embeddingPassageInputType?: string;
  /**
   * Applies if another model has vectors in the database. True: the other model is not replaced, and recall uses words
   * alone, as if the model could not be opened. False or absent: the model replaces the other model, and all memories
   * are re-embedded.
   */
  keepModel?: boolean;
  /**
   * `off`: the bundled model stores no token states, and recall ranks without them. Token states take most of the disk
   * space of recall. A change of the setting re-embeds all memories. `on` if absent.
   */
  tokenStates?: 'on' | 'off';
  /**
   * Limit of the token states of a database file that each search thread has in memory, in bytes; 128 MiB if absent.
   * Others are read from the file by each recall that needs them.
   */
  tokenStatesCacheBytes?: number;
  /**
   * Maximum threads that search a database file, each with an index of its own in memory; a further one starts when a
   * search has to wait. If absent, 1 below four cores, otherwise 2. Ignored for PostgreSQL.
   */
  searchThreads?: number;
  /**
   * Maximum threads of the bundled model, each with the model in memory; a further one starts when a query has to wait.
   * If absent, 1 below four cores, otherwise 2. Ignored for other embedders.
   */
  modelThreads?: number;
  /**
   * Base URL of the language model that distils memories, without `/chat/completions`. If `llmUrl` and `llmModel` are
   * absent or empty, a distilled memory quotes sentences of its sources.
   */
  llmUrl?: string;
  /** Name of the language model at its server. */
  llmModel?: string;
  /** API key for the server of the language model, if it requires one. */
  llmApiKey?: string;
  /**
   * Whole URL of a reranker's endpoint, such as `http://127.0.0.1:8080/rerank`. If absent or empty, recalls are not
   * reranked.
   */
  rerankUrl?: string;
  /** Name of the reranker at its server, if the server requires one. */
  rerankModel?: string;
  /** API key for the server of the reranker, if it requires one. */
  rerankApiKey?: string;
  /** Form of the requests to the reranker; see `RERANK_FORMS`. `tei` if absent. */
  rerankForm?: 'tei' | 'cohere';
  /** Milliseconds for which a recall waits for the reranker before it returns results without it. 300 if absent. */
  rerankTimeoutMs?: number;
  /**
   * `on`: API keys, tokens, passwords and payment card numbers are removed from queries, and from texts of clients
   * before a text is stored, embedded or logged. `off` if absent.
   */
  redact?: 'on' | 'off';
  /**
   * Whether queries are logged. If true, the last recalls are remembered in memory, for `MemoryApi.recalls`. False if
   * absent.
   */
  logQueries?: boolean;
  /** Interval of automatic consolidation in seconds; 0 turns it off. */
  consolidationIntervalSeconds: number;
  /** Age in seconds at which automatic consolidation promotes a working memory. */
  workingAgeSeconds: number;
  /** Days for which evicted memories and records of consolidations are stored, and consolidations can be undone. */
  archiveDays: number;
  /**
   * Maximum number of working memories per namespace. If a store exceeds three quarters of the maximum, the oldest
   * working memories are promoted.
   */
  workingMax: number;
  /**
   * Maximum number of episodic or semantic memories per namespace. If the number is exceeded, consolidation evicts the
   * memories with the lowest retention. 0 is unlimited.
   */
  episodicMax: number;
  semanticMax: number;
  /**
   * Default quota of a namespace: maximum number of stored memories, including merged and evicted memories but without
   * semantic memories, and maximum bytes of their texts, including earlier texts. 0 or absent is unlimited.
   */
  namespaceMaxMemories?: number;
  namespaceMaxBytes?: number;
  /** Default quota of each user of a namespace. See `namespaceMaxMemories`. */
  userMaxMemories?: number;
  userMaxBytes?: number;
  /** IANA time zone of dates in queries that name no time zone. `UTC` if absent. */
  timezone?: string;
  /** Maximum number of concurrent event streams, in total and per namespace. 0 allows no streams. */
  maxEventStreams?: number;
  maxEventStreamsPerNamespace?: number;
  /** Maximum number of bytes of memory content in a response. */
  maxAnswerBytes: number;
  telemetry: Telemetry;
  /** The system clock if absent. */
  clock?: Clock;
  /** UUIDs of version 7 if absent. */
  ids?: IdSource;
}

/** See `DatabaseState`. The statistics are those that a caller may see. */
export interface EngineState extends Omit<DatabaseState, 'stats'> {
  stats: StatsResponse | undefined;
}

/** An open database with its embedder, consolidation and APIs. */
export interface Engine extends Administration {
  /**
   * Returns the API of one namespace. Namespaces are isolated from each other, and exist without being created. Throws
   * INVALID_REQUEST for a name with U+0000 or a lone surrogate.
   *
   * @param scope `operate` if absent. Without `operate`, `stats` omits the size of the database. The caller enforces
   * all other limits of a scope.
   * @param keyId the public id of the caller's key, for the log of recalls
   */
  namespace(name: string, scope?: Scope, keyId?: string): Scopable<MemoryApi>;
  hooks: Hooks;
  /**
   * Returns the API of one namespace for the hooks of agent programs. Secrets are removed from all texts and queries,
   * whatever `redact` is. See `namespace` for the other properties.
   */
  hookMemories(name: string, keyId?: string): Scopable<HookApi>;
  /**
   * Creates a copy of the whole database while the database is in use. Rejects with UNAVAILABLE if the disk has no
   * room, too many backups and exports are in progress, or the signal is aborted. Rejects with NOT_FOUND for PostgreSQL,
   * which has backup tools of its own.
   */
  backup(signal?: AbortSignal): Promise<StorageCopy>;
  /**
   * Returns the state of the database within a fifth of a second, even if the database does not answer. The first call
   * begins to check the database with a write and a read every second, and waits for the first check, for up to five
   * seconds. The checks pause after ten minutes without a call. Never rejects.
   *
   * @param scope `operate` if absent. Without `operate`, the statistics omit the size of the database.
   */
  databaseState(scope?: Scope): Promise<EngineState>;
  /** See `StorageCondition`. */
  databaseCondition(): Promise<StorageCondition>;
  /** Records the current time as the time of the last backup. */
  recordBackup(): Promise<void>;
  /** Returns whether recall by vectors works at the moment, and the reason if not. */
  embedder(): EmbedderHealth;
  /** Returns whether the last call of the reranker succeeded, and the reason if not. */
  reranker(): RerankerHealth;
  /**
   * Completes accepted writes, writes buffered data and closes the database. Leaves a SQLite database as a single file
   * without a write-ahead log. Further calls return the same promise.
   */
  close(): Promise<void>;
}
