import type { MemoryApi, Scopable, Scope } from '@memoryd/contract';
import type { EmbedderHealth } from './core/embedding-queue/embedding-queue.ts';
import type { DatabaseOptions } from './open-storage.ts';
import type { Administration } from './ports/administration.ts';
import type { Clock, IdSource, Telemetry } from './ports/runtime.ts';
import type { StorageCondition } from './ports/storage.ts';
import type { StorageCopy } from './ports/storage-kept.ts';

/** What an engine is opened with. */
export type EngineOptions = DatabaseOptions & EngineSettings;

/** How an engine works, whatever its database. */
export interface EngineSettings {
  /**
   * `minilm`: the bundled model; `none`: recall by words alone; `openai:MODEL`: a model behind the OpenAI embeddings
   * protocol; `transformers:NAME_OR_FOLDER`: a model for the package @huggingface/transformers.
   */
  embedder: string;
  /** Where `openai:` asks, up to what comes before `/embeddings`. */
  embeddingUrl: string;
  /** The key that `openai:` shows, where the server wants one. */
  embeddingApiKey?: string;
  /**
   * Text put before each query that `openai:` or `transformers:` embeds, such as `query: `, of at most 256 characters. An
   * empty text is no prefix. If absent, `transformers:` reads it from the folder of the model.
   */
  embeddingQueryPrefix?: string;
  /** The same before each memory, or each part of a long one, such as `passage: `. */
  embeddingPassagePrefix?: string;
  /**
   * How `transformers:` makes one vector of a text's tokens: their mean, the first token (`cls`) or the last one. If
   * absent, it is read from the folder of the model.
   */
  embeddingPooling?: 'mean' | 'cls' | 'last';
  /**
   * Whether the model may not replace another whose vectors the database has. Recall then goes by words, as where no model
   * can be opened. It may where absent, and everything is embedded anew.
   */
  keepModel?: boolean;
  /**
   * `off`: the bundled model keeps its vectors alone and not the states of tokens, which take most of the disk that recall
   * needs; recall then ranks without them. To switch has everything embedded anew. `on` where absent.
   */
  tokenStates?: 'on' | 'off';
  /**
   * Where the language model that distils memories is asked, up to what comes before `/chat/completions`. Absent or
   * empty, with `llmModel`, where sentences are quoted instead.
   */
  llmUrl?: string;
  /** The language model's name. */
  llmModel?: string;
  /** The key that the language model's server wants, where it wants one. */
  llmApiKey?: string;
  /**
   * `on`: keys, tokens, passwords and numbers of cards are taken out of what clients send before it is kept, embedded or
   * logged, and out of queries. `off` where absent.
   */
  redact?: 'on' | 'off';
  /** Seconds between consolidations that run by themselves; 0 turns them off. */
  consolidationIntervalSeconds: number;
  /** Seconds since storing after which the run by itself promotes a working memory. */
  workingAgeSeconds: number;
  /** Days that evicted memories and records of consolidations are kept, and consolidations can be undone. */
  archiveDays: number;
  /** Most working memories of a namespace; past three quarters of it the oldest promote at once. */
  workingMax: number;
  /** Most memories of a namespace in these tiers, beyond which a consolidation evicts the least retained; 0 is any number. */
  episodicMax: number;
  semanticMax: number;
  /**
   * Most memories of a namespace, hidden ones included, and most bytes of their texts, earlier ones included, unless it has
   * a quota of its own; 0, or absent, is any number.
   */
  namespaceMaxMemories?: number;
  namespaceMaxBytes?: number;
  /** Most of both for each user of a namespace, in the same way. */
  userMaxMemories?: number;
  userMaxBytes?: number;
  /** The time zone (IANA) of dates in queries that name none themselves. `UTC` if absent. */
  timezone?: string;
  /** Most streams of events that are open at a time, in all and of one namespace. */
  maxEventStreams?: number;
  maxEventStreamsPerNamespace?: number;
  /** Most bytes of memory content that one answer holds. */
  maxAnswerBytes: number;
  telemetry: Telemetry;
  /** The system's clock where absent. */
  clock?: Clock;
  /** UUIDs of version 7 where absent. */
  ids?: IdSource;
}

/** An open database with everything that serves it. */
export interface Engine extends Administration {
  /**
   * The memories of one namespace; a namespace exists as soon as it is named and sees only itself. Throws INVALID_REQUEST
   * for a name with U+0000 or a lone surrogate.
   *
   * @param scope without `operate`, which it is where absent, the size of the database is not told; what else a scope lets
   *   callers do is for whoever serves them to see to
   * @param keyId the public id of the caller's key, for reports of recalls
   */
  namespace(name: string, scope?: Scope, keyId?: string): Scopable<MemoryApi>;
  /**
   * A copy of the whole database, all namespaces, while it is used. UNAVAILABLE where the disk has no room for it, too many
   * copies are being made or read, or the signal gave it up; NOT_FOUND on a PostgreSQL server, which has its own tools.
   */
  backup(signal?: AbortSignal): Promise<StorageCopy>;
  /**
   * Returns what keeps the database from being read or written now, half a sentence for an operator; undefined for nothing.
   * It writes a little, at most once a second. Never rejects.
   */
  databaseProblem(): Promise<string | undefined>;
  /** See `StorageCondition`. */
  databaseCondition(): Promise<StorageCondition>;
  /** Notes that a backup has just been made. */
  noteBackup(): Promise<void>;
  /** Whether recall by meaning works now, and if not, why. */
  embedder(): EmbedderHealth;
  /** Finishes what was accepted, writes what was gathered, and leaves of a file one without a log beside it; once. */
  close(): Promise<void>;
}
