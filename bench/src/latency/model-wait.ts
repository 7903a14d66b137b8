import type { HttpClient } from '../http-client.ts';
import { type Figures, rounded } from './figures.ts';

const METRIC = 'service_recall_stage_duration_seconds';
const STAGE = '{stage="embed"}';

/**
 * Adds `embed_ms` to a step's figures: for how long a recall waited for its query's vector, as the server tells; the
 * mean, null where it tells none. Models take several times as long on one processor as on another.
 */
export async function withModelWait(client: HttpClient, measure: () => Promise<Figures>): Promise<Figures> {
  const before = await waited(client);
  const figures = await measure();
  const after = await waited(client);
  const recalls = after.count - before.count;
  return { ...figures, embed_ms: recalls > 0 ? rounded(((after.seconds - before.seconds) * 1000) / recalls) : null };
}

async function waited(client: HttpClient): Promise<{ seconds: number; count: number }> {
  const read = async (part: string): Promise<number> => (await client.metric(`${METRIC}_${part}${STAGE}`)) ?? 0;
  return { seconds: await read('sum'), count: await read('count') };
}
