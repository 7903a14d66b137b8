import type { Conversation, Dialect, Part } from './dialect.ts';

interface Piece {
  text?: string;
  functionResponse?: { response?: { output?: unknown } };
}

interface Body {
  systemInstruction?: { parts?: Piece[] };
  contents: { role?: 'user' | 'model'; parts?: Piece[] }[];
  tools?: { functionDeclarations?: { name: string }[] }[];
}

/** The `generateContent` and `streamGenerateContent` methods of the Gemini API. */
export const gemini: Dialect = {
  path: /:(?:generateContent|streamGenerateContent)$/,
  read(body): Conversation {
    const { systemInstruction, contents, tools = [] } = body as Body;
    const system = systemInstruction?.parts ?? [];
    return {
      tools: tools
        .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
        .map((definition) => ({ name: definition.name, definition })),
      parts: [
        ...system.map((piece) => toPart('system', piece)),
        ...contents.flatMap(({ role = 'user', parts = [] }) => parts.map((piece) => toPart(role, piece))),
      ],
    };
  },
  isStream: (_body, path) => path.endsWith(':streamGenerateContent'),
  toJson(turn) {
    const part = 'text' in turn ? { text: turn.text } : { functionCall: { name: turn.tool.name, args: turn.args } };
    return {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: 'fake',
    };
  },
  toStream(turn, id, body) {
    return [{ data: this.toJson(turn, id, body) }];
  },
};

function toPart(role: Part['role'], { text, functionResponse, ...other }: Piece): Part {
  if (!functionResponse) return { role, text: text ?? JSON.stringify(other) };
  const output = functionResponse.response?.output ?? functionResponse;
  return { role: 'tool', text: typeof output === 'string' ? output : JSON.stringify(output) };
}
