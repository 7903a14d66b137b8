import type { LanguageModelMiddleware } from 'ai';

type TransformParams = NonNullable<LanguageModelMiddleware['transformParams']>;

/** Arguments of a model call. */
export type CallOptions = Parameters<TransformParams>[0]['params'];
export type Prompt = CallOptions['prompt'];
type Message = Prompt[number];
type UserMessage = Extract<Message, { role: 'user' }>;

/** Option that marks text from memory, so that the text is not mistaken for user input. Providers ignore the option. */
const FROM_MEMORY = { memoryd: { recalled: true } };

/** Texts of the messages in a prompt, without texts that were added from memory. */
export interface MessageTexts {
  /** Text of the last user message; empty if there is no user message. */
  last: string;
  /** Texts of the user messages after the last answer, oldest first. */
  unanswered: string[];
  /** Texts of all messages except system messages. */
  all: string[];
  /** The same without the last user message. */
  others: string[];
  /** Texts of the messages up to the last user message. The same in all steps of a turn. */
  asked: string[];
}

/** Returns the texts of the messages in a prompt, without texts that were added from memory. */
export function getMessageTexts(prompt: Prompt): MessageTexts {
  const all: string[] = [];
  let unanswered: string[] = [];
  let last = '';
  let askedCount = 0;
  for (const message of prompt) {
    if (message.role === 'system') continue;
    const text = getText(message);
    if (message.role !== 'user') unanswered = [];
    else {
      last = text;
      if (text !== '') unanswered.push(text);
    }
    if (text !== '') all.push(text);
    if (message.role === 'user') askedCount = all.length;
  }
  const others = last === '' ? all : all.toSpliced(askedCount - 1, 1);
  return { last, unanswered, all, others, asked: all.slice(0, askedCount) };
}

/**
 * Adds the text of a context to the beginning of the last user message. There, it has the authority of user input. The
 * prompt before that message stays unchanged, so that providers can use cached prefixes.
 */
export function addMemories(prompt: Prompt, memories: string): Prompt {
  const index = prompt.findLastIndex(({ role }) => role === 'user');
  const message = prompt[index];
  if (memories === '' || message?.role !== 'user') return prompt;
  const note: UserMessage['content'][number] = { type: 'text', text: `${memories}\n`, providerOptions: FROM_MEMORY };
  return prompt.with(index, { ...message, content: [note, ...message.content] });
}

function getText({ content }: Exclude<Message, { role: 'system' }>): string {
  return content
    .flatMap((part) => (part.type === 'text' && !part.providerOptions?.memoryd?.recalled ? [part.text] : []))
    .join('\n')
    .trim();
}
