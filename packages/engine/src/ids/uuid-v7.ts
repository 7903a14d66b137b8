import { v7 } from 'uuid';
import type { IdSource } from '../ports/id-source.ts';

/** UUIDs of version 7 (RFC 9562): random, and in the order of their making, which keeps the index over them compact. */
export const uuidV7: IdSource = { next: () => v7() };
