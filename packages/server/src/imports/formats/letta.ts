import { LIMITS } from '@memoryd/contract';
import { digest } from '../../hooks/keys.ts';
import type { Format, LeftOutReason, Part } from '../format.ts';
import {
  isObject,
  toContent,
  toExternalId,
  toId,
  toMetadata,
  toRoleTag,
  toTags,
  toTextPart,
} from '../parsing/fields.ts';
import { readJsonValues } from '../parsing/read-json.ts';
import { toImportedTime } from '../parsing/times.ts';
import { toUtf8 } from '../parsing/to-utf8.ts';
import type { SourceFile } from '../source/source.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The agent that an item belongs to. */
interface Agent {
  name: string;
  /** True if texts beside calls of tools are thoughts, as in all agents before `letta_v1_agent`. */
  thinksInText: boolean;
  timeZone: string;
}

/**
 * Agent files of Letta: blocks, archival passages, and the messages that the file has, which are the last 50. The
 * present form has lists of agents and blocks; the form before is one agent with its blocks in `core_memory`. Ids of
 * messages count from 0 in each file, so a digest of the message is its external id.
 */
export const letta: Format = {
  name: 'letta',
  title: 'Letta agent file',
  files: 'a file that ends with .af',

  recognizes({ text }) {
    if (!/^\s*\{/.test(text)) return false;
    const hasAgents =
      /"agents"\s*:\s*\[\s*\{/.test(text) && /"(?:block_ids|in_context_message_ids|agent_type)"\s*:/.test(text);
    return hasAgents || (/"agent_type"\s*:/.test(text) && /"core_memory"\s*:\s*\[/.test(text));
  },

  async *read(file, { timeZone }) {
    const agents = await readAgents(file, timeZone);
    const places = ['agents.*', 'blocks.*', 'core_memory.*', 'messages.*', 'passages.*', 'archival_memory.*'];
    for await (const found of readJsonValues(toUtf8(file.open()), places)) {
      const list = found.place.replace('.*', '');
      const place = `${list} ${found.number}`;
      if ('refused' in found) yield { kind: 'refused', place, reason: found.refused };
      else if (!isObject(found.value)) yield { kind: 'refused', place, reason: 'the item must be a JSON object' };
      else yield* toParts(place, list, found.value, agents);
    }
  },
};

/** The agents of a file, and the agent of each block. Both maps are small. */
interface Agents {
  byId: Map<string, Agent>;
  byBlock: Map<string, Agent>;
  /** The agent of a file in the former form, and of items that name no agent. */
  only: Agent;
}

/** Reads the names of agents, which may stand after their blocks and messages. */
async function readAgents(file: SourceFile, timeZone: string): Promise<Agents> {
  const only: Agent = { name: '', thinksInText: true, timeZone };
  const agents: Agents = { byId: new Map(), byBlock: new Map(), only };
  const names = new Set<string>();
  // Broken values are refused by the pass that reads the items.
  for await (const found of readJsonValues(toUtf8(file.open()), ['agents.*', 'name', 'agent_type'])) {
    if (!('value' in found)) continue;
    if (found.place === 'name') only.name = toContent(found.value) ?? '';
    if (found.place === 'agent_type') only.thinksInText = found.value !== PLAIN_AGENT;
    if (found.place === 'agents.*' && isObject(found.value))
      addAgent(agents, names, found.value, found.number, timeZone);
  }
  if (agents.byId.size === 1) agents.only = [...agents.byId.values()][0] ?? only;
  return agents;
}

/** The type of agents whose text is the answer. Others answer with the tool `send_message`. */
const PLAIN_AGENT = 'letta_v1_agent';

function addAgent(agents: Agents, names: Set<string>, item: Fields, number: number, timeZone: string): void {
  const id = toContent(item.id) ?? `agent-${number - 1}`;
  const name = toContent(item.name) ?? id;
  const agent: Agent = {
    name: names.has(name) ? `${name} (${id})` : name,
    thinksInText: item.agent_type !== PLAIN_AGENT,
    timeZone,
  };
  names.add(agent.name);
  agents.byId.set(id, agent);
  // A shared block belongs to the first of its agents.
  for (const block of toList(item.block_ids)) {
    if (typeof block === 'string' && !agents.byBlock.has(block)) agents.byBlock.set(block, agent);
  }
}

function* toParts(place: string, list: string, item: Fields, agents: Agents): Generator<Part> {
  const { byId, byBlock, only } = agents;
  const owner = byId.get(String(item.agent_id)) ?? only;
  if (list === 'blocks') yield toBlockPart(place, item, byBlock.get(String(item.id)) ?? only);
  else if (list === 'core_memory') yield toBlockPart(place, item, only);
  else if (list === 'messages') yield* toMessageParts(place, item, owner);
  else if (list !== 'agents') yield toPassagePart(place, item, owner);
  else yield* toAgentParts(place, item, byId.get(toContent(item.id) ?? '') ?? only);
}

/** The lists inside an agent. */
function* toAgentParts(place: string, item: Fields, agent: Agent): Generator<Part> {
  const readers: [lists: unknown[], read: (place: string, item: Fields, agent: Agent) => Iterable<Part>][] = [
    [[item.memory_blocks, item.core_memory], (...args) => [toBlockPart(...args)]],
    [[item.passages, item.archival_memory], (...args) => [toPassagePart(...args)]],
    [[item.messages], toMessageParts],
  ];
  for (const [lists, read] of readers) {
    for (const [index, value] of lists.flatMap(toList).entries()) {
      const itemPlace = `${place}, item ${index + 1}`;
      if (isObject(value)) yield* read(itemPlace, value, agent);
      else yield { kind: 'refused', place: itemPlace, reason: 'the item must be a JSON object' };
    }
  }
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function toBlockPart(place: string, block: Fields, { name, timeZone }: Agent): Part {
  const content = toContent(block.value);
  if (content === undefined) return { kind: 'left-out', reason: 'empty', count: 1 };
  const label = toContent(block.label) ?? 'block';
  return toTextPart(place, {
    content,
    tags: toTags([label]),
    source: 'letta',
    external_id: toExternalId('letta', `${name}/block/${label}`),
    created_at: toImportedTime(block.created_at, timeZone),
    metadata: toMetadata({ agent: name, description: block.description }),
  });
}

function toPassagePart(place: string, passage: Fields, { name, timeZone }: Agent): Part {
  const content = toContent(passage.text ?? passage.content);
  if (content === undefined) return { kind: 'left-out', reason: 'empty', count: 1 };
  return toTextPart(place, {
    content,
    tags: toTags(toList(passage.tags)),
    source: 'letta',
    external_id: toExternalId('letta', `${name}/passage/${digest(content)}`),
    created_at: toImportedTime(passage.created_at, timeZone),
    metadata: toMetadata({ agent: name }),
  });
}

function* toMessageParts(place: string, message: Fields, agent: Agent): Generator<Part> {
  const role = toContent(message.role) ?? '';
  const { texts, leftOut } = role === 'user' ? readUserMessage(message) : readOtherMessage(role, message, agent);
  for (const reason of leftOut) yield { kind: 'left-out', reason, count: 1 };
  const content = toContent(texts.join('\n\n'));
  if (content === undefined) {
    if (leftOut.length === 0) yield { kind: 'left-out', reason: 'empty', count: 1 };
    return;
  }
  const createdAt = toImportedTime(message.created_at, agent.timeZone);
  yield toTextPart(place, {
    content,
    tags: toTags([toRoleTag(role)]),
    source: 'letta',
    session_id: toId(`letta:${agent.name}`, LIMITS.sessionIdChars),
    external_id: toExternalId('letta', `${agent.name}/message/${digest(createdAt ?? '', role, content)}`),
    created_at: createdAt,
    // A time that cannot be read stays as it is.
    metadata: toMetadata({
      agent: agent.name,
      created_at: createdAt === undefined ? message.created_at : undefined,
    }),
  });
}

interface MessageTexts {
  texts: string[];
  leftOut: LeftOutReason[];
}

/** The program sends events, such as heartbeats, as JSON messages of the user, and wraps real ones in the same way. */
function readUserMessage(message: Fields): MessageTexts {
  const texts: string[] = [];
  const leftOut: LeftOutReason[] = [];
  for (const text of getTexts(message)) {
    const event = parseEvent(text);
    if (event === undefined) texts.push(text);
    else if (event.type === 'user_message') texts.push(toContent(event.message) ?? '');
    else leftOut.push('system');
  }
  return { texts, leftOut };
}

const EVENTS = ['user_message', 'heartbeat', 'login', 'system_alert', 'system_message'];

function parseEvent(text: string): Fields | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const event: unknown = JSON.parse(text);
    return isObject(event) && EVENTS.includes(String(event.type)) ? event : undefined;
  } catch {
    return undefined;
  }
}

function readOtherMessage(role: string, message: Fields, { thinksInText }: Agent): MessageTexts {
  if (role === 'system') return { texts: [], leftOut: ['system'] };
  if (['tool', 'function', 'approval'].includes(role)) return { texts: [], leftOut: ['tool'] };
  if (role !== 'assistant') return { texts: [], leftOut: ['role'] };
  const calls = getToolCalls(message);
  const answers = calls.flatMap((call) => getAnswer(call) ?? []);
  const texts = getTexts(message);
  const isThought = thinksInText && calls.length > 0;
  return {
    texts: isThought ? answers : [...texts, ...answers],
    leftOut: [
      ...(isThought ? texts.map((): LeftOutReason => 'thought') : []),
      ...calls.slice(answers.length).map((): LeftOutReason => 'tool'),
    ],
  };
}

/** The texts of a message: of its parts, of one text, or of the former field `text`. */
function getTexts({ content, text }: Fields): string[] {
  const parts = Array.isArray(content) ? content : [content ?? text];
  return parts.flatMap((part) => {
    if (isObject(part) && part.type !== undefined && part.type !== 'text') return [];
    return toContent(isObject(part) ? part.text : part) ?? [];
  });
}

interface ToolCall {
  name: unknown;
  input: unknown;
}

function getToolCalls({ content, tool_calls: calls }: Fields): ToolCall[] {
  return [...toList(calls), ...toList(content)].flatMap((call) => {
    if (!isObject(call)) return [];
    if (isObject(call.function)) return { name: call.function.name, input: call.function.arguments };
    return call.type === 'tool_call' ? { name: call.name, input: call.input } : [];
  });
}

/** Returns the answer that an agent gives with a tool. */
function getAnswer({ name, input }: ToolCall): string | undefined {
  if (name !== 'send_message') return undefined;
  const fields = typeof input === 'string' ? parseJson(input) : input;
  return isObject(fields) ? toContent(fields.message) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
