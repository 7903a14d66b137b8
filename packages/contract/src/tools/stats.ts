import { StatsResponse } from '../stats.ts';
import Type from '../typebox.ts';
import { tool } from './tool.ts';

export const stats = tool({
  name: 'stats',
  title: 'Count memories',
  description:
    'How many memories there are in each tier (working: just stored; episodic: promoted; semantic: distilled), how large ' +
    'the database is, when it was last consolidated, and how many memories wait to be found by meaning too.',
  scope: 'read',
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: Type.Object({}, { additionalProperties: false }),
  output: StatsResponse,
  call: (api) => api.stats(),
  text: (stats) =>
    `${stats.working_count} working, ${stats.episodic_count} episodic and ${stats.semantic_count} semantic memories; ` +
    `${stats.db_size_mb} MB; ${stats.pending_embeddings} wait to be found by meaning; ` +
    `last consolidated: ${stats.last_sleep_at ?? 'never'}.`,
});
