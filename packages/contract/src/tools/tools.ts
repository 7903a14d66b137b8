import { consolidate } from './consolidate.ts';
import { forget } from './forget.ts';
import { recall } from './recall.ts';
import { session } from './session.ts';
import { stats } from './stats.ts';
import { store } from './store.ts';
import { update } from './update.ts';

/** Every tool, in the order in which they are listed. */
export const TOOLS = { recall, store, update, forget, session, consolidate, stats } as const;

/** Those that a model needs in a conversation; the others are for whoever looks after the memories. */
export const MODEL_TOOLS = { recall, store, update, forget } as const;
