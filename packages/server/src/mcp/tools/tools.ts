import { consolidate } from './consolidate.ts';
import { forget } from './forget.ts';
import { recall } from './recall.ts';
import { session } from './session.ts';
import { stats } from './stats.ts';
import { store } from './store.ts';
import type { Tool } from './tool.ts';
import { update } from './update.ts';

/** Every tool, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [recall, store, update, forget, session, consolidate, stats];
