import type { Conversation, Dialect, Part, StreamEvent, Turn } from './dialect.ts';

interface Block {
  type: string;
  text?: string;
  content?: string | Block[];
  input?: object;
}

interface Body {
  model: string;
  stream?: boolean;
  system?: string | Block[];
  tools?: { name: string }[];
  messages: { role: 'user' | 'assistant' | 'system'; content: string | Block[] }[];
}

const ROLES = { user: 'user', assistant: 'model', system: 'system' } as const;

/** The Messages API of Anthropic. */
export const anthropic: Dialect = {
  path: /\/v1\/messages$/,
  read(body): Conversation {
    const { system = [], tools = [], messages } = body as Body;
    return {
      tools: tools.map((definition) => ({ name: definition.name, definition })),
      parts: [
        ...toBlocks(system).map((block) => toPart('system', block)),
        ...messages.flatMap(({ role, content }) => toBlocks(content).map((block) => toPart(ROLES[role], block))),
      ],
    };
  },
  isStream: (body) => (body as Body).stream === true,
  toJson: (turn, id, body) => ({
    ...createMessage(id, body as Body),
    content: ['text' in turn ? { type: 'text', text: turn.text } : { ...createToolUse(turn, id), input: turn.args }],
    stop_reason: getStopReason(turn),
  }),
  toStream(turn, id, body) {
    const start = 'text' in turn ? { type: 'text', text: '' } : createToolUse(turn, id);
    const delta =
      'text' in turn
        ? { type: 'text_delta', text: turn.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(turn.args) };
    return [
      { type: 'message_start', message: createMessage(id, body as Body) },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: getStopReason(turn), stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: 'message_stop' },
    ].map((data): StreamEvent => ({ name: data.type, data }));
  },
};

function toBlocks(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function toPart(role: Part['role'], block: Block): Part {
  if (block.type !== 'tool_result') return { role, text: block.text ?? JSON.stringify(block) };
  const text = toBlocks(block.content ?? '').map((piece) => piece.text ?? JSON.stringify(piece));
  return { role: 'tool', text: text.join('\n') };
}

function createMessage(id: string, { model }: Body) {
  return {
    ...{ id: `msg_${id}`, type: 'message', role: 'assistant', model, content: [] as object[] },
    ...{ stop_reason: null as string | null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
  };
}

function createToolUse({ tool }: Exclude<Turn, { text: string }>, id: string) {
  return { type: 'tool_use', id: `toolu_${id}`, name: tool.name, input: {} };
}

function getStopReason(turn: Turn): string {
  return 'text' in turn ? 'end_turn' : 'tool_use';
}
