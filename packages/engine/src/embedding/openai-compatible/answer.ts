import { EmbedderUnavailable } from '../../ports/embedder.ts';

/** The part of an answer that matters; https://platform.openai.com/docs/api-reference/embeddings/create */
interface Answer {
  data: { index: number; embedding: number[] }[];
}

/**
 * The unit vectors of an answer in the order of the inputs, wherever in it they stand.
 *
 * @throws EmbedderUnavailable for an answer that does not hold one usable vector for each input, all of one length
 */
export function vectorsOfAnswer(text: string, inputs: number): Float32Array[] {
  const data = dataOf(text);
  if (data.length !== inputs) throw unusable(`${data.length} vectors for ${inputs} texts`);
  const vectors: Float32Array[] = [];
  for (const item of data) {
    if (!isItem(item)) throw unusable('something other than vectors');
    vectors[item.index] = unitVector(item.embedding);
  }
  for (let i = 0; i < inputs; i++) if (!vectors[i]) throw unusable('two vectors for one text');
  if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw unusable('vectors of several lengths');
  return vectors;
}

function dataOf(text: string): unknown[] {
  let answer: Partial<Answer> | null;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    // What the parser quotes is the server's; where it stopped is enough.
    throw new EmbedderUnavailable('the embedding server answers no JSON', {
      option: 'embeddingUrl',
      cause: new Error(`${text.length} characters, ${(cause as Error).name}`),
    });
  }
  if (!Array.isArray(answer?.data)) throw unusable('no list of vectors');
  return answer.data;
}

function isItem(item: unknown): item is Answer['data'][number] {
  const { index, embedding } = (item ?? {}) as Partial<Answer['data'][number]>;
  return Number.isInteger(index) && (index as number) >= 0 && Array.isArray(embedding) && embedding.length > 0;
}

function unitVector(embedding: unknown[]): Float32Array {
  if (!embedding.every((value) => typeof value === 'number')) throw unusable('vectors of other things than numbers');
  const length = Math.hypot(...embedding);
  if (!Number.isFinite(length) || length === 0) throw unusable('vectors without a direction');
  return Float32Array.from(embedding, (value) => value / length);
}

function unusable(what: string): EmbedderUnavailable {
  return new EmbedderUnavailable(`the embedding server answers ${what}`, { option: 'embeddingUrl' });
}
