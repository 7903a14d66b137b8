import type { SharedEmbedder } from './shared-embedder.ts';

/** One memory to store in a peer. */
export interface PeerMemory {
  /** Text in the form `speaker: text`, or only the text if the speaker is unknown. */
  content: string;
  /** Null if unknown. */
  session: string | null;
  /** ISO 8601; null if unknown. */
  timestamp: string | null;
}

/** An open memory store of a peer. */
export interface Peer {
  /** Stores memories in order. Resolves when all of them can be recalled. */
  store(memories: readonly PeerMemory[]): Promise<void>;
  /** Returns the contents of at most `k` memories, best first. Embeds the question if the peer uses vectors. */
  recall(query: string, k: number): Promise<string[]>;
  close(): Promise<void>;
}

export interface PeerContext {
  /** An empty folder for the peer's files. */
  folder: string;
  embedder: SharedEmbedder;
  signal: AbortSignal;
}

/** A memory product and the way that the benchmark uses it. */
export interface PeerKind {
  name: string;
  /** Version of the package. */
  version: string;
  /** Description of the storage and search methods used, for a fair comparison. */
  use: string;
  /** Maximum number of memories per call of `store`. */
  batchSize: number;
  /** Whether the vectors come from the shared embedder. If false, the peer uses no vectors or a model of its own. */
  usesSharedVectors: boolean;
  open(context: PeerContext): Promise<Peer>;
}
