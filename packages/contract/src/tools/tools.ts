import { consolidate } from './consolidate.ts';
import { forget } from './forget.ts';
import { recall } from './recall.ts';
import { session } from './session.ts';
import { stats } from './stats.ts';
import { store } from './store.ts';
import { update } from './update.ts';

/** Tools that a model needs in a conversation, by name, in listing order. */
export const MODEL_TOOLS = {
  memory_store: store,
  memory_recall: recall,
  memory_session: session,
  memory_update: update,
  memory_forget: forget,
} as const;

/** All tools, by name, in listing order: the tools of a conversation, and those for maintenance. */
export const TOOLS = { ...MODEL_TOOLS, memory_consolidate: consolidate, memory_stats: stats } as const;
