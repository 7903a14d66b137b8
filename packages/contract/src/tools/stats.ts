import { StatsResponse } from '../stats.ts';
import Type from '../typebox.ts';
import { formatTime } from './listing.ts';
import { tool } from './tool.ts';

export const stats = tool({
  name: 'memory_stats',
  title: 'Count memories',
  description:
    'Counts the memories: by tier (working: recently stored, episodic: promoted, semantic: distilled), how many hold now, are ' +
    'superseded or have ended, and how many wait for embeddings. Also returns the size of the database.',
  scope: 'read',
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: Type.Object({}, { additionalProperties: false }),
  output: StatsResponse,
  call: (api) => api.stats(),
  text: (stats, { zone }) =>
    `${stats.working_count} working, ${stats.episodic_count} episodic and ${stats.semantic_count} semantic memories; ` +
    `${stats.current_count} hold now, ${stats.superseded_count} are superseded, ${stats.ended_count} have ended; ` +
    `${stats.db_size_mb} MB; ${stats.pending_embeddings} waiting for embeddings; ` +
    `last consolidated: ${stats.last_sleep_at ? `${formatTime(stats.last_sleep_at, zone)} ${zone.name}` : 'never'}.`,
});
