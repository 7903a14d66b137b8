import type { SharedEmbedder } from './shared-embedder.ts';

/** One memory as every peer is given it. */
export interface PeerMemory {
  /** `speaker: text`. */
  content: string;
  /** Null where unknown. */
  session: string | null;
  /** ISO 8601; null where unknown. */
  timestamp: string | null;
}

/** A store of memories that is filled and asked. */
export interface Peer {
  /** Adds memories in order; resolved when all of them can be found. */
  store(memories: readonly PeerMemory[]): Promise<void>;
  /** The contents of the best k memories, best first; the question is embedded within, where it is. */
  recall(query: string, k: number): Promise<string[]>;
  close(): Promise<void>;
}

export interface PeerContext {
  /** An empty folder for its files. */
  folder: string;
  embedder: SharedEmbedder;
  signal: AbortSignal;
}

/** Something that keeps memories, and how it is used here. */
export interface PeerKind {
  name: string;
  /** Version of its package. */
  version: string;
  /** In a sentence, what makes the comparison fair: which of its ways to store and to search are taken. */
  use: string;
  /** Memories that one call of `store` takes. */
  batchSize: number;
  /** Whether its vectors come from the shared embedder; otherwise it has none, or makes its own. */
  isGivenVectors: boolean;
  open(context: PeerContext): Promise<Peer>;
}
