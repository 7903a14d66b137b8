import type { ContextRequest, ContextResponse, MemoryApi } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';

/** Maximum UTF-16 units of one text and of all texts that the service compares. */
const MAX_TEXT_CHARS = 20_000;
const MAX_KNOWN_CHARS = 200_000;

/** Options of the memories of a prompt. */
export interface PromptContextOptions {
  /**
   * Fields of the context request, such as `filter`, `recent: true` for the newest statements too, and `shared: true`
   * for memories without a user. Without a filter, all sessions of the user are used.
   */
  context?: Omit<ContextRequest, 'query' | 'budget' | 'session_id' | 'once' | 'reset' | 'exclude_texts'>;
}

/** A request for the context of a prompt. */
interface PromptContextRequest extends PromptContextOptions {
  /** Maximum tokens of the text, at least `LIMITS.minContextTokens`. Values above `LIMITS.contextTokens` mean that. */
  budget: number;
  /**
   * Texts that the prompt already contains, besides the message that is being answered: a memory that the message
   * repeats must not be left out. The last 1,000, of 200,000 characters, are left out of the context.
   */
  knownTexts: readonly string[];
  /** The session that asks, if what was stored in it is left out. */
  asking?: Pick<ContextRequest, 'session_id'>;
}

/**
 * Returns the context of a prompt that is rebuilt for each call of a model, so that a memory may be given again. If
 * the request is larger than the service accepts, requests the context again without `knownTexts`, so that the context
 * may repeat them.
 *
 * @param query such as the user's last message, of which the first 8,192 characters are used
 */
export async function getContext(
  memory: MemoryApi,
  query: string,
  { context, budget, knownTexts, asking }: PromptContextRequest,
): Promise<ContextResponse> {
  const request: ContextRequest = {
    ...{ ...context, ...asking, once: false },
    query: toAccepted([...query.trim()].slice(0, LIMITS.queryChars).join('')),
    budget: Math.min(Math.floor(budget), LIMITS.contextTokens),
  };
  const exclude_texts = takeLast(knownTexts);
  if (exclude_texts.length === 0) return memory.context(request);
  try {
    return await memory.context({ ...request, exclude_texts });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'PAYLOAD_TOO_LARGE') throw error;
    return memory.context(request);
  }
}

/** Returns the last texts, so that a long conversation does not exceed the maximum size of a request. */
function takeLast(texts: readonly string[]): string[] {
  const last: string[] = [];
  let chars = 0;
  for (const text of texts.slice(-LIMITS.excludedTexts).toReversed()) {
    const compared = toAccepted(text.slice(0, MAX_TEXT_CHARS));
    chars += compared.length;
    if (chars > MAX_KNOWN_CHARS) break;
    last.unshift(compared);
  }
  return last;
}

/** Replaces the characters that the service rejects, U+0000 and lone surrogates, by U+FFFD. */
function toAccepted(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
