import { type NewMemory, type Queries, type StoreOutcome, sql } from '@memoryd/engine/storage-kit';
/** Which of these memories are kept already, each as its outcome: those of a commit that nobody heard of. */
export async function storedAlready(
  queries: Queries,
  memories: readonly NewMemory[],
): Promise<(StoreOutcome | undefined)[]> {
  const found = await queries.rows<{ place: number; ordinal: number }>(sql`
    SELECT asked.place, m.ordinal
    FROM unnest(${memories.map((memory) => memory.namespace)}::text[], ${memories.map((memory) => memory.id)}::text[])
      WITH ORDINALITY AS asked(namespace, id, place)
    JOIN memory m ON m.namespace = asked.namespace AND m.id = asked.id`);
  const ordinals = new Map(found.map(({ place, ordinal }) => [place - 1, ordinal]));
  return memories.map((_, place) => {
    const ordinal = ordinals.get(place);
    return ordinal === undefined ? undefined : { outcome: 'stored', ordinal };
  });
}
