import type { ContextRequest, ContextResponse, MemoryApi } from '@memoryd/contract';

/** Range of the budget of a context, in tokens. */
export const MIN_BUDGET = 50;
const MAX_BUDGET = 20_000;
/** Maximum texts that a context leaves out, and maximum UTF-16 units of one and of all of them that the service compares. */
const MAX_KNOWN_TEXTS = 1000;
const MAX_TEXT_CHARS = 20_000;
const MAX_KNOWN_CHARS = 200_000;

/** Options of the memories of a prompt. */
export interface PromptContextOptions {
  /**
   * Fields of the context request, such as `filter`, `recent: true` for the newest statements too, and `shared: true` for
   * memories without a user. Without a filter, all sessions of the user are used.
   */
  context?: Omit<ContextRequest, 'query' | 'budget' | 'session_id' | 'once' | 'reset' | 'exclude_texts'>;
}

/** A request for the context of a prompt. */
interface PromptContextRequest extends PromptContextOptions {
  /** Maximum tokens of the text, at least 50. Above 20,000 means 20,000. */
  budget: number;
  /** Texts that the prompt already contains. The last 1,000, of 200,000 characters, are left out of the context. */
  knownTexts: readonly string[];
  /** The session that asks, if what was stored in it is left out. */
  asking?: Pick<ContextRequest, 'session_id'>;
}

/**
 * Returns the context of a prompt that is built anew for each call of a model, so that a memory may be given again.
 *
 * @param query such as the user's last message
 */
export function getContext(
  memory: MemoryApi,
  query: string,
  { context, budget, knownTexts, asking }: PromptContextRequest,
): Promise<ContextResponse> {
  return memory.context({
    ...{ ...context, ...asking, query, once: false },
    budget: Math.min(Math.floor(budget), MAX_BUDGET),
    exclude_texts: takeLast(knownTexts),
  });
}

/** Returns the last texts, so that a long conversation does not exceed the maximum size of a request. */
function takeLast(texts: readonly string[]): string[] {
  const last: string[] = [];
  let chars = 0;
  for (const text of texts.slice(-MAX_KNOWN_TEXTS).toReversed()) {
    // Does not end with half of a surrogate pair, which the service rejects.
    const compared = text.slice(0, MAX_TEXT_CHARS).toWellFormed();
    chars += compared.length;
    if (chars > MAX_KNOWN_CHARS) break;
    last.unshift(compared);
  }
  return last;
}
