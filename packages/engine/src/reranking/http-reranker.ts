import { MemoryError } from '@memoryd/contract';
import { type Reranker, type RerankerOption, RerankerUnavailable } from '@memoryd/core/models';
import type { RerankForm } from '../engine-defaults.ts';
import {
  type Protocol,
  RemoteFailure,
  RemoteModelClient,
  type RemoteServer,
  type RemoteSetting,
} from '../remote-model.ts';

const PROTOCOL: Protocol = {
  path: '',
  server: 'the reranker',
  answers: 'reranking',
  // Some servers return the texts too, of up to 6 bytes of JSON for each of their characters.
  maxResponseBytes: 1024 * 1024,
};

/** Limits the time of a request whose caller sets no shorter one. */
const MAX_REQUEST_MS = 30_000;

const OPTIONS: Record<RemoteSetting, RerankerOption> = {
  url: 'rerankUrl',
  model: 'rerankModel',
  apiKey: 'rerankApiKey',
};

/**
 * The fields of a request in each form.
 *
 * - `tei`: https://huggingface.github.io/text-embeddings-inference/ (rerank). Servers truncate long texts only on request.
 * - `cohere`: https://docs.cohere.com/reference/rerank. Without `top_n`, some servers return only the best texts.
 */
const FORMS: Record<RerankForm, (query: string, texts: readonly string[]) => object> = {
  tei: (query, texts) => ({ query, texts, truncate: true }),
  cohere: (query, documents) => ({ query, documents, top_n: documents.length }),
};

/**
 * Creates a client of a reranker behind HTTP. Requests are not repeated, because a recall waits for them.
 *
 * @param server `url` is the whole URL of the endpoint
 * @throws RerankerUnavailable if the API key cannot be a header value
 */
export function createHttpReranker(server: RemoteServer, form: RerankForm): Reranker {
  const client = createClient(server);
  return {
    async score(query, texts, signal) {
      try {
        const patience = { attemptMs: MAX_REQUEST_MS, totalMs: MAX_REQUEST_MS, retries: 0 };
        const response = await client.post({ body: FORMS[form](query, texts), patience, secret: true, signal });
        return parseScores(response, texts.length);
      } catch (error) {
        throw toRerankerError(error, signal);
      }
    },
    close: () => client.close(),
  };
}

function createClient(server: RemoteServer): RemoteModelClient {
  try {
    return new RemoteModelClient(server, PROTOCOL);
  } catch (error) {
    throw toRerankerError(error);
  }
}

function toRerankerError(error: unknown, signal?: AbortSignal): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const { kind, message, setting, cause } = error;
  if (signal?.aborted) return new RerankerUnavailable('the reranker does not respond in time', { option: 'rerankUrl' });
  if (kind === 'closed') return new MemoryError('UNAVAILABLE', 'the reranker is closed');
  // The texts are short, so the server probably expects other fields.
  if (kind === 'refused') return new RerankerUnavailable('the reranker rejects the request', { option: 'rerankForm' });
  return new RerankerUnavailable(message, { ...(setting && { option: OPTIONS[setting] }), cause });
}

/** A row of a response: `score` of the form `tei`, `relevance_score` of the form `cohere`. */
interface Row {
  index: number;
  relevance_score?: unknown;
  score?: unknown;
}

/**
 * Returns the scores of a response, sorted by the index of their text. A response is a list of rows, or an object with
 * the list as `results`, in both forms.
 *
 * @throws RerankerUnavailable unless the response has exactly one finite number for each text
 */
function parseScores(text: string, count: number): number[] {
  const rows = getRows(text);
  const scores: number[] = [];
  for (const row of rows) {
    if (!isRow(row, count)) throw unusable('a row without the index of a text');
    const score = row.relevance_score ?? row.score;
    // JSON can contain numbers that are too large, such as 1e999.
    if (!Number.isFinite(score)) throw unusable('a row without a score');
    if (scores[row.index] !== undefined) throw unusable('two scores for one text');
    scores[row.index] = score as number;
  }
  if (rows.length !== count) throw unusable(`${rows.length} scores for ${count} texts`);
  return scores;
}

function getRows(text: string): unknown[] {
  let response: { results?: unknown } | unknown[] | null;
  try {
    response = JSON.parse(text);
  } catch {
    // Without a cause, because the parser's message quotes the response.
    throw unusable('something other than JSON');
  }
  const rows = Array.isArray(response) ? response : response?.results;
  if (!Array.isArray(rows)) throw unusable('no list of scores');
  return rows;
}

function isRow(row: unknown, count: number): row is Row {
  const { index } = (row ?? {}) as Partial<Row>;
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < count;
}

function unusable(content: string): RerankerUnavailable {
  return new RerankerUnavailable(`the reranker returned ${content}`, { option: 'rerankUrl' });
}
