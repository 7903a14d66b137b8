import { Count, Timestamp } from './field.ts';
import Type from './typebox.ts';

const countFields = { working_count: Count, episodic_count: Count, semantic_count: Count };
const DbSizeMb = Type.Number({
  minimum: 0,
  description:
    'Database size in megabytes of 1,000,000 bytes; for who may not operate, what the texts of their namespace take in UTF-8, earlier and hidden ones included.',
});
const LastSleepAt = Type.Union([Timestamp, Type.Null()], {
  description: 'When the last consolidation ran; null before the first.',
});

/** Entries in each tier. */
export const TierCounts = Type.Object(countFields);
export type TierCounts = Type.Static<typeof TierCounts>;

export const RootResponse = Type.Object({ status: Type.String(), version: Type.String(), ...countFields });
export type RootResponse = Type.Static<typeof RootResponse>;

export const StatsResponse = Type.Object({
  ...countFields,
  db_size_mb: DbSizeMb,
  last_sleep_at: LastSleepAt,
  next_sleep_at: Type.Optional(
    Type.Union([Timestamp, Type.Null()], {
      description:
        'When the next consolidation is due by itself; one that is overdue comes within a minute. Null where none does.',
    }),
  ),
  pending_embeddings: Type.Integer({ minimum: 0, description: 'Memories that wait for their vectors.' }),
  embedding: Type.Optional(
    Type.Object(
      {
        model: Type.String({
          description: 'Names what the vectors depend on; those of two models are never compared.',
        }),
        embedded: Type.Integer({ minimum: 0, description: 'Memories that do not wait for vectors of this model.' }),
        total: Type.Integer({
          minimum: 0,
          description: 'Memories that have a tier, those hidden by their expiry included.',
        }),
      },
      {
        description:
          'How far recall by meaning reaches: after a change of the model, memories are embedded anew, and found by ' +
          'their words meanwhile. Absent before a model was first used.',
      },
    ),
  ),
});
export type StatsResponse = Type.Static<typeof StatsResponse>;

export const EmbedderState = Type.Enum(['ready', 'unavailable', 'off'], {
  description: 'Whether recall by meaning works; where it does not, recall goes on by words.',
});
export type EmbedderState = Type.Static<typeof EmbedderState>;

export const LivenessResponse = Type.Object({
  status: Type.Literal('alive'),
  version: Type.String(),
  uptime_seconds: Type.Integer({ minimum: 0 }),
});
export type LivenessResponse = Type.Static<typeof LivenessResponse>;

export const HealthResponse = Type.Object({
  status: Type.Enum(['healthy', 'unhealthy']),
  reason: Type.Optional(Type.String({ description: 'Why the service is unhealthy; absent while it is healthy.' })),
  version: Type.String(),
  db_connected: Type.Boolean(),
  db_size_mb: DbSizeMb,
  ...countFields,
  last_sleep_at: LastSleepAt,
  uptime_seconds: Type.Integer({ minimum: 0 }),
  embedder: EmbedderState,
  embedder_problem: Type.Optional(
    Type.String({
      description: 'Why recall by meaning does not work, and which setting to look at; absent where it does.',
    }),
  ),
});
export type HealthResponse = Type.Static<typeof HealthResponse>;
