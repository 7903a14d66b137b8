import { Count, Timestamp } from './field.ts';
import Type from './typebox.ts';

const countFields = { working_count: Count, episodic_count: Count, semantic_count: Count };
const DbSizeMb = Type.Number({
  minimum: 0,
  description:
    'Database size in megabytes (1,000,000 bytes). For API keys without the `operate` scope: the UTF-8 size of all texts in the namespace, including earlier and hidden texts.',
});
const LastSleepAt = Type.Union([Timestamp, Type.Null()], {
  description: 'Time of the last consolidation run. Null before the first run.',
});

/** Number of memories in each tier. */
export const TierCounts = Type.Object(countFields);
export type TierCounts = Type.Static<typeof TierCounts>;

/** Number of memories by whether they hold. A memory may count as superseded and as ended. */
export const ValidityCounts = Type.Object({
  current_count: Type.Integer({ minimum: 0, description: 'Number of memories in all tiers that hold now.' }),
  superseded_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories in all tiers that another memory replaces now.',
  }),
  ended_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories in all tiers whose `valid_to` has passed.',
  }),
});
export type ValidityCounts = Type.Static<typeof ValidityCounts>;

export const RootResponse = Type.Object({ status: Type.String(), version: Type.String(), ...countFields });
export type RootResponse = Type.Static<typeof RootResponse>;

export const EmbeddingProgress = Type.Object(
  {
    model: Type.String({
      description: 'Identifier of the embedding model. Vectors of different models are never compared.',
    }),
    embedded: Type.Integer({
      minimum: 0,
      description: 'Number of memories that are not waiting for embeddings of this model.',
    }),
    total: Type.Integer({
      minimum: 0,
      description: 'Number of memories in all tiers, including expired memories that are hidden.',
    }),
  },
  {
    description:
      'Embedding progress. After a change of the model, all memories are embedded again; until then they are found ' +
      'by their words. Absent before a model is first used.',
  },
);
export type EmbeddingProgress = Type.Static<typeof EmbeddingProgress>;

export const TokenStatesCache = Type.Object(
  {
    memories: Type.Integer({ minimum: 0, description: 'Number of memories whose token states are in memory.' }),
    bytes: Type.Integer({ minimum: 0, description: 'Bytes of these token states.' }),
    max_bytes: Type.Integer({ minimum: 0, description: 'Limit of the bytes.' }),
  },
  {
    description:
      'Token states that the service holds in memory, of all namespaces; it reads others from the file. Absent on ' +
      'PostgreSQL, for a user or an agent, and for API keys without the `operate` scope.',
  },
);
export type TokenStatesCache = Type.Static<typeof TokenStatesCache>;

export const StatsResponse = Type.Object({
  ...countFields,
  ...ValidityCounts.properties,
  db_size_mb: DbSizeMb,
  last_sleep_at: LastSleepAt,
  next_sleep_at: Type.Optional(
    Type.Union([Timestamp, Type.Null()], {
      description:
        'Time of the next scheduled consolidation run. An overdue run starts within a minute. Null if no run is scheduled.',
    }),
  ),
  pending_embeddings: Type.Integer({ minimum: 0, description: 'Number of memories that are waiting for embeddings.' }),
  embedding: Type.Optional(EmbeddingProgress),
  token_states_cache: Type.Optional(TokenStatesCache),
});
export type StatsResponse = Type.Static<typeof StatsResponse>;

export const EmbedderState = Type.Enum(['ready', 'unavailable', 'off'], {
  description: 'Whether semantic search is available. If not, recall searches by words only.',
});
export type EmbedderState = Type.Static<typeof EmbedderState>;

export const RerankerState = Type.Enum(['ready', 'unavailable'], {
  description:
    'Whether the last call of the reranker succeeded. If not, the order of results is that of a service without a reranker. Absent if the service has no reranker.',
});
export type RerankerState = Type.Static<typeof RerankerState>;

export const LivenessResponse = Type.Object({
  status: Type.Literal('alive'),
  version: Type.String(),
  uptime_seconds: Type.Integer({ minimum: 0 }),
});
export type LivenessResponse = Type.Static<typeof LivenessResponse>;

export const HealthResponse = Type.Object({
  status: Type.Enum(['healthy', 'unhealthy']),
  reason: Type.Optional(Type.String({ description: 'Why the service is unhealthy. Absent if it is healthy.' })),
  version: Type.String(),
  checked_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Time of the last answer of the database, which is checked every second. Null before the first.',
  }),
  db_connected: Type.Boolean(),
  db_size_mb: DbSizeMb,
  ...countFields,
  last_sleep_at: LastSleepAt,
  uptime_seconds: Type.Integer({ minimum: 0 }),
  embedder: EmbedderState,
  embedder_problem: Type.Optional(
    Type.String({
      description: 'Why semantic search is unavailable, and which setting to check. Absent if it is available.',
    }),
  ),
  reranker: Type.Optional(RerankerState),
  reranker_problem: Type.Optional(
    Type.String({ description: 'Why the reranker is unavailable, and which setting to check. Otherwise absent.' }),
  ),
});
export type HealthResponse = Type.Static<typeof HealthResponse>;
