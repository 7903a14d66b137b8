import type { MemoryApi, RecallRequest, RecallResult } from '@memoryd/contract';
import { type OfUser, scopeToUser } from './of-user.ts';
import { select } from './selection.ts';
import { estimateTokens } from './token-estimate.ts';

const QUERY_CHARS = 8192;

/** How tokens are counted, and what is recalled. */
export interface RecallingOptions {
  /**
   * Counts the tokens of a text, as `countTokens` of the package gpt-tokenizer does. Where absent they are estimated: one for
   * every three characters of ASCII and for every two bytes of UTF-8 beyond.
   */
  countTokens?: (text: string) => number;
  /** Tokens beside those of its text that each item takes in a prompt; 4, as chat formats put around a message, where absent. */
  tokensPerItem?: number;
  /**
   * How it is recalled: filters, `min_score`, `only_relevant`, and `top_k`, which is 20 where absent. All sessions where
   * no filter says otherwise. `shared: true` adds memories without a user to those of the user.
   */
  recall?: Omit<RecallRequest, 'query' | 'explain'>;
}

/** What `recalled` may be told beside the query. */
export interface RecalledOptions extends RecallingOptions, OfUser {
  /** Most tokens of all results together; any number where absent. */
  tokens?: number;
  /** Texts that the reader has anyway: what says the same is left out. */
  said?: readonly string[];
  /** How a result stands in the prompt, for its tokens; as its text alone where absent. */
  getLine?: (result: RecallResult) => string;
}

/**
 * Returns what a query recalls of one user, best first: no text twice, nothing that another result corrects or that only
 * quotes others. What does not fit into the budget makes room for the next. Rejects with TypeError where no `userId` is given.
 *
 * @param query its first 8,192 characters are asked for; nothing where it is blank
 */
export async function recalled(all: MemoryApi, query: string, options: RecalledOptions): Promise<RecallResult[]> {
  const memory = scopeToUser(all, options);
  const { tokens = Number.POSITIVE_INFINITY, said = [], getLine = getContent } = options;
  const results = await answersTo(memory, query, options.recall);
  const getCost = costOfText(options);
  const room = { getCost: (result: RecallResult) => getCost(getLine(result)), tokens, recentTurns: 0, said };
  return select([], results, room).recalled;
}

/** Everything that a query recalls, best first, but for what another result corrects. */
export async function answersTo(
  memory: MemoryApi,
  query: string,
  recall: RecallingOptions['recall'] = {},
): Promise<RecallResult[]> {
  const asked = [...query.trim()].slice(0, QUERY_CHARS).join('').trim();
  if (asked === '') return [];
  const { results } = await memory.recall({ top_k: 20, ...recall, query: asked });
  const ids = new Set(results.map(({ id }) => id));
  return results.filter(({ superseded_by: successor }) => successor === undefined || !ids.has(successor));
}

/** What an item of a text costs. */
export function costOfText({
  countTokens = estimateTokens,
  tokensPerItem = 4,
}: Pick<RecallingOptions, 'countTokens' | 'tokensPerItem'>): (text: string) => number {
  return (text) => countTokens(text) + tokensPerItem;
}

function getContent({ content }: RecallResult): string {
  return content;
}
