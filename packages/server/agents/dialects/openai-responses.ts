import type { Conversation, Dialect, OfferedTool, Part, StreamEvent, Turn } from './dialect.ts';

interface Item {
  type?: string;
  role?: 'system' | 'developer' | 'user' | 'assistant';
  content?: string | { text?: string }[];
  output?: string | { text?: string }[];
}

interface ToolDefinition {
  type: string;
  name?: string;
  /** Tools of a `namespace`. */
  tools?: ToolDefinition[];
}

interface Body {
  model: string;
  stream?: boolean;
  instructions?: string;
  input: string | Item[];
  tools?: ToolDefinition[];
}

/** A tool that may be in a namespace, which a call then names. */
interface NamespacedTool extends OfferedTool {
  namespace?: string;
  /** The name without the namespace. */
  ownName: string;
}

const ROLES = { system: 'system', developer: 'system', user: 'user', assistant: 'model' } as const;

/** The Responses API of OpenAI. */
export const openAiResponses: Dialect = {
  path: /\/responses$/,
  read(body): Conversation {
    const { instructions = '', input, tools = [] } = body as Body;
    const items: Item[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    return {
      tools: tools.flatMap((definition) => toTools(definition)),
      parts: [{ role: 'system', text: instructions }, ...items.map(toPart)],
    };
  },
  isStream: (body) => (body as Body).stream === true,
  toJson: (turn, id, body) => createResponse(createItem(turn, id), id, body as Body),
  toStream(turn, id, body) {
    const item = createItem(turn, id);
    const response = createResponse(item, id, body as Body);
    const at = { item_id: item.id, output_index: 0, content_index: 0 };
    const deltas = 'text' in turn ? [{ type: 'response.output_text.delta', ...at, delta: turn.text }] : [];
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      ...deltas,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ].map((data): StreamEvent => ({ name: data.type, data }));
  },
};

/** Returns a tool, or the tools of a namespace. Their names are joined by two underscores. */
function toTools(definition: ToolDefinition, namespace?: string): NamespacedTool[] {
  if (definition.tools) return definition.tools.flatMap((tool) => toTools(tool, definition.name));
  const ownName = definition.name ?? definition.type;
  return [
    {
      name: namespace === undefined ? ownName : `${namespace}__${ownName}`,
      ownName,
      definition,
      ...(namespace !== undefined && { namespace }),
    },
  ];
}

function toPart(item: Item): Part {
  if (item.output !== undefined) return { role: 'tool', text: toText(item.output) };
  if (item.role === undefined) return { role: 'model', text: JSON.stringify(item) };
  return { role: ROLES[item.role], text: toText(item.content ?? '') };
}

function toText(content: string | { text?: string }[]): string {
  if (typeof content === 'string') return content;
  return content.map((piece) => piece.text ?? JSON.stringify(piece)).join('\n');
}

function createItem(turn: Turn, id: string) {
  if ('text' in turn) {
    const content = [{ type: 'output_text', text: turn.text, annotations: [] }];
    return { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content };
  }
  const { ownName, namespace } = turn.tool as NamespacedTool;
  return {
    ...{ type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, name: ownName, status: 'completed' },
    ...(namespace !== undefined && { namespace }),
    arguments: JSON.stringify(turn.args),
  };
}

function createResponse(item: object, id: string, { model }: Body) {
  const usage = {
    ...{ input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  };
  return { id: `resp_${id}`, object: 'response', status: 'completed', model, output: [item], usage };
}
