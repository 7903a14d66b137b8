import type { ErrorBody } from '@memoryd/contract';
import type { ForeignFormat, FormatOptions, Part } from '../format.ts';

/** The first message to a reader process. */
export interface ReaderData {
  /** The path of the uploaded file. */
  path: string;
  /** The name of the file; absent if the client sent none. */
  name?: string | undefined;
  from?: ForeignFormat | undefined;
  format: FormatOptions;
  /** Maximum size of a zip in bytes. */
  maxZipBytes: number;
}

/**
 * A request to a reader process. `open` recognizes the file, `start` begins a pass, and `next` reads a batch of the pass.
 * The process reads nothing without a request, so that a slow store slows the reading.
 */
export type ReaderRequest = 'open' | 'start' | 'next';

/** An error in a file that its format did not expect. */
export interface Defect {
  path: string;
  error: unknown;
}

/** A response of a reader process; each request gets one, in order. `alive` is sent while the process is at work. */
export type ReaderResponse =
  | { kind: 'alive' }
  | { kind: 'opened'; from: ForeignFormat | 'memoryd'; contentKey: string }
  | { kind: 'started' }
  | { kind: 'batch'; parts: Part[]; isLast: boolean; defects: Defect[] }
  | { kind: 'refused'; error: ErrorBody }
  | { kind: 'failed'; error: unknown };
