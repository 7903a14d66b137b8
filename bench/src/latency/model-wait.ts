import type { HttpClient } from '../http-client.ts';
import { type Figures, roundFigure } from './figures.ts';

const METRIC = 'service_recall_stage_duration_seconds';
const STAGE = '{stage="embed"}';

/**
 * Adds `embed_ms` to a step's figures: the mean time that recalls waited for the query's vector, from the server's
 * metrics; null if no recall waited. This time varies severalfold between processors.
 */
export async function withModelWait(client: HttpClient, measure: () => Promise<Figures>): Promise<Figures> {
  const before = await readEmbedStage(client);
  const figures = await measure();
  const after = await readEmbedStage(client);
  const recalls = after.count - before.count;
  return {
    ...figures,
    embed_ms: recalls > 0 ? roundFigure(((after.seconds - before.seconds) * 1000) / recalls) : null,
  };
}

async function readEmbedStage(client: HttpClient): Promise<{ seconds: number; count: number }> {
  const read = async (part: string): Promise<number> => (await client.metric(`${METRIC}_${part}${STAGE}`)) ?? 0;
  return { seconds: await read('sum'), count: await read('count') };
}
