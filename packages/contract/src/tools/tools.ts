import { consolidate } from './consolidate.ts';
import { forget } from './forget.ts';
import { recall } from './recall.ts';
import { session } from './session.ts';
import { stats } from './stats.ts';
import { store } from './store.ts';
import { update } from './update.ts';

/** All tools, in listing order. */
export const TOOLS = { recall, store, update, forget, session, consolidate, stats } as const;

/** Tools that a model needs in a conversation. The other tools are for maintenance. */
export const MODEL_TOOLS = { recall, store, update, forget } as const;
