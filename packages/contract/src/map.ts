import { Count, MemoryId, Tier, Timestamp } from './field.ts';
import { LIMITS } from './limits.ts';
import { listFields } from './memories.ts';
import { ownerFields } from './scope.ts';
import Type from './typebox.ts';

/** Requests the positions of the memories that match a filter. */
export const MapRequest = Type.Object({ ...listFields }, { additionalProperties: false });
export type MapRequest = Type.Static<typeof MapRequest>;

/** A memory and its place. Memories of similar meaning are near each other. */
export const MapPoint = Type.Object({
  id: MemoryId,
  x: Type.Number({ minimum: -1, maximum: 1 }),
  y: Type.Number({ minimum: -1, maximum: 1 }),
  cluster: Type.Integer({ minimum: -1, description: 'Index of its cluster in `clusters`; -1 for none.' }),
  created_at: Timestamp,
  tier: Tier,
  tag: Type.Optional(Type.String({ description: 'Its first tag. Absent if it has none.' })),
  session_id: Type.Union([Type.String(), Type.Null()]),
  ...ownerFields,
});
export type MapPoint = Type.Static<typeof MapPoint>;

/** A group of memories that lie together. */
export const MapCluster = Type.Object({
  words: Type.Array(Type.String(), {
    maxItems: LIMITS.clusterWords,
    description: 'Words that are frequent in its texts and rare in the others.',
  }),
  x: Type.Number(),
  y: Type.Number(),
  count: Count,
});
export type MapCluster = Type.Static<typeof MapCluster>;

export const MapResponse = Type.Object({
  state: Type.Enum(['computing', 'ready', 'unavailable'], {
    description:
      '`computing`: there is no map yet; ask again. `ready`: the map of the time `computed_at`. `unavailable`: the memories have no vectors.',
  }),
  computed_at: Type.Union([Timestamp, Type.Null()], { description: 'When the positions were computed.' }),
  points: Type.Array(MapPoint, { maxItems: LIMITS.mappedMemories, description: 'Newest first.' }),
  clusters: Type.Array(MapCluster),
  total: Type.Integer({
    minimum: 0,
    description: `Number of memories that match the filter. The map has the newest ${LIMITS.mappedMemories.toLocaleString('en')} of the user and agent.`,
  }),
  is_changing: Type.Boolean({ description: 'Whether a newer map is being computed.' }),
});
export type MapResponse = Type.Static<typeof MapResponse>;
