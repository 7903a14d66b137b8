import type { MemoryApi, RecallRequest, RecallResult } from '@memoryd/contract';
import { toCurrentRecall } from '@memoryd/contract/current-recall';
import { estimateTokens } from '@memoryd/contract/token-estimate';
import { select } from './selection.ts';
import { scopeToUser, type UserScope } from './user-scope.ts';

const MAX_QUERY_CHARS = 8192;

/** Options for counting tokens and for the recall. */
export interface PromptRecallOptions {
  /**
   * Counts the tokens of a text, such as `countTokens` of the package gpt-tokenizer. If absent, tokens are estimated:
   * one per three ASCII characters, and one per two bytes of UTF-8 for other characters.
   */
  countTokens?: (text: string) => number;
  /** Tokens that each item needs in a prompt in addition to its text. Defaults to 4, the overhead of a chat message. */
  tokensPerItem?: number;
  /**
   * Options of the recall: filters, `min_score`, `only_relevant` and `top_k`, which defaults to 20. Without a filter,
   * all sessions of the user are searched. `shared: true` includes memories without a user. Only memories that hold are
   * recalled, unless `current`, `as_of`, `known_at` or `superseded` is given, or the query asks for what was before.
   */
  recall?: Omit<RecallRequest, 'query' | 'explain'>;
}

export interface RecallForPromptOptions extends PromptRecallOptions, UserScope {
  /** Maximum tokens of all results together. Unlimited if absent. */
  tokens?: number;
  /** Texts that the prompt already contains. Results that only repeat such a text are left out. */
  knownTexts?: readonly string[];
  /** Formats a result as in the prompt, to count its tokens. By default, returns the content of the result. */
  getLine?: (result: RecallResult) => string;
}

/**
 * Recalls memories of one user for a prompt, best first. Leaves out duplicates, memories that do not hold, unless the
 * query asks for what was before, and distilled memories that only quote other results. A result that exceeds the remaining token budget is
 * skipped.
 *
 * @param query only its first 8,192 characters are used; a blank query returns no results
 * @throws TypeError if `userId` is missing
 */
export async function recallForPrompt(
  api: MemoryApi,
  query: string,
  options: RecallForPromptOptions,
): Promise<RecallResult[]> {
  const memory = scopeToUser(api, options);
  const { tokens = Number.POSITIVE_INFINITY, knownTexts = [], getLine = getContent } = options;
  const results = await recallCurrent(memory, query, options.recall);
  const getTextCost = createTextCost(options);
  const budget = {
    getCost: (result: RecallResult) => getTextCost(getLine(result)),
    tokens,
    recentTurns: 0,
    knownTexts,
  };
  return select([], results, budget).recalled;
}

/**
 * Returns the results of a query, best first: what holds, unless the options or the query ask for more. A blank query
 * has no results.
 */
export async function recallCurrent(
  memory: MemoryApi,
  query: string,
  recall: PromptRecallOptions['recall'] = {},
): Promise<RecallResult[]> {
  const shortened = [...query.trim()].slice(0, MAX_QUERY_CHARS).join('').trim();
  if (shortened === '') return [];
  return (await memory.recall(toCurrentRecall({ top_k: 20, ...recall, query: shortened }))).results;
}

/** Returns a function that counts the tokens of a text, including the overhead of an item in a prompt. */
export function createTextCost({
  countTokens = estimateTokens,
  tokensPerItem = 4,
}: Pick<PromptRecallOptions, 'countTokens' | 'tokensPerItem'>): (text: string) => number {
  return (text) => countTokens(text) + tokensPerItem;
}

function getContent({ content }: RecallResult): string {
  return content;
}
