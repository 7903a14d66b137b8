import type { Conversation, Dialect, Part, Turn } from './dialect.ts';

interface Message {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content?: string | { text?: string }[] | null;
}

interface Body {
  model: string;
  stream?: boolean;
  messages: Message[];
  tools?: { function: { name: string } }[];
}

const ROLES = { system: 'system', developer: 'system', user: 'user', assistant: 'model', tool: 'tool' } as const;
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** The chat completions API of OpenAI, which many other services have too. */
export const openAiChat: Dialect = {
  path: /\/chat\/completions$/,
  read(body): Conversation {
    const { messages, tools = [] } = body as Body;
    return {
      tools: tools.map((definition) => ({ name: definition.function.name, definition })),
      parts: messages.map(toPart),
    };
  },
  isStream: (body) => (body as Body).stream === true,
  toJson: (turn, id, body) => ({
    ...createHead('chat.completion', id, body as Body),
    choices: [{ index: 0, message: createMessage(turn, id), finish_reason: getFinishReason(turn) }],
    usage: USAGE,
  }),
  toStream(turn, id, body) {
    const head = createHead('chat.completion.chunk', id, body as Body);
    return [
      { ...head, choices: [{ index: 0, delta: createMessage(turn, id), finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: getFinishReason(turn) }], usage: USAGE },
      '[DONE]',
    ].map((data) => ({ data }));
  },
};

function toPart({ role, content }: Message): Part {
  const pieces = typeof content === 'string' ? [{ text: content }] : (content ?? []);
  return { role: ROLES[role], text: pieces.map((piece) => piece.text ?? JSON.stringify(piece)).join('\n') };
}

function createHead(object: string, id: string, { model }: Body) {
  return { id: `chatcmpl-${id}`, object, created: 1, model };
}

function createMessage(turn: Turn, id: string) {
  if ('text' in turn) return { role: 'assistant', content: turn.text };
  const call = { name: turn.tool.name, arguments: JSON.stringify(turn.args) };
  return { role: 'assistant', tool_calls: [{ index: 0, id: `call_${id}`, type: 'function', function: call }] };
}

function getFinishReason(turn: Turn): string {
  return 'text' in turn ? 'stop' : 'tool_calls';
}
