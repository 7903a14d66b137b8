import type { MemoryApi } from '@memoryd/contract';
import type { EmbedderHealth } from './core/embedding-queue.ts';
import type { Clock } from './ports/clock.ts';
import type { StorageCopy } from './ports/storage.ts';
import type { Telemetry } from './ports/telemetry.ts';

/** What an engine is opened with. */
export interface EngineOptions {
  /** Path of the database file; its folders are made. */
  dbPath: string;
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
   * Where the language model that distils memories is asked, up to what comes before `/chat/completions`. Absent or
   * empty, with `llmModel`, where sentences are quoted instead.
   */
  llmUrl?: string;
  /** The language model's name. */
  llmModel?: string;
  /** The key that the language model's server wants, where it wants one. */
  llmApiKey?: string;
  /** Seconds between consolidations that run by themselves; 0 turns them off. */
  sleepIntervalSeconds: number;
  /** Seconds since storing after which the run by itself settles a working memory. */
  workingAgeSeconds: number;
  /** Days that evicted memories and records of consolidations are kept, and consolidations can be undone. */
  archiveDays: number;
  /** Most working memories of a namespace; past three quarters of it the oldest settle at once. */
  workingMax: number;
  /** Most memories of a namespace in these tiers, beyond which a consolidation evicts the least retained; 0 is any number. */
  episodicMax: number;
  semanticMax: number;
  /** Most bytes of memory content that one answer holds. */
  maxAnswerBytes: number;
  telemetry: Telemetry;
  /** The system's clock where absent. */
  clock?: Clock;
}

/** An open database with everything that serves it. */
export interface Engine {
  /** The memories of one namespace; a namespace exists as soon as it is named and sees only itself. */
  namespace(name: string): MemoryApi;
  /**
   * A copy of the whole database, all namespaces, while it is used. UNAVAILABLE where the disk has no room for it, too many
   * copies are being made or read, or the signal gave it up.
   */
  backup(signal?: AbortSignal): Promise<StorageCopy>;
  /** Whether recall by meaning works now, and if not, why. */
  embedder(): EmbedderHealth;
  /** Finishes what was accepted, writes what was gathered, and leaves one file without a log beside it. */
  close(): Promise<void>;
}
