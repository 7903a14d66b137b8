import { type Body, getText, getTime } from '../../hooks/programs/program.ts';
import type { Format, FormatOptions, Part } from '../format.ts';
import type { SourceFile } from '../source/source.ts';
import { getBlocks, getHeadObjects, type Place, readObjects, Transcript, toBody } from './transcript.ts';

/** Types of lines with a `payload`. */
const ENVELOPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted']);

/** The start of a first line that is longer than the head of a file. */
const LONG_LINE = /^\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"session_meta","payload":\{/;

/** Instructions that Codex sends as a message of the person. */
const INSTRUCTIONS = /^\s*(?:# AGENTS\.md instructions|<(?:INSTRUCTIONS|skill|user_shell_command|permissions)[\s>])/;

/** Maximum messages without an event that are held until it is known whether a person sent them. */
const MAX_CANDIDATES = 32;

/** Maximum sessions that are held. A fork names the session before it, so that few are named in one file. */
const MAX_SESSIONS = 1000;

/**
 * Transcripts of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`. Each line is {timestamp, type,
 * payload}. Files of 2025 have the payload alone, after a first line with `id` and `timestamp`.
 */
export const codex: Format = {
  name: 'codex',
  title: 'transcripts of Codex',
  files: 'the folder ~/.codex/sessions, or a rollout-….jsonl file in it',
  recognizes: (head) => isTranscript(getHeadObjects(head)) || LONG_LINE.test(head.text),
  read,
};

function isTranscript(lines: readonly Body[]): boolean {
  if (lines.some((body) => ENVELOPES.has(getText(body, 'type') ?? '') && toBody(body.payload))) return true;
  const [first, ...others] = lines;
  return first !== undefined && isFormerMeta(first) && others.every(isFormerLine);
}

function isFormerMeta(body: Body): boolean {
  return body.type === undefined && typeof body.id === 'string' && getTime(body, 'timestamp') !== undefined;
}

function isFormerLine(body: Body): boolean {
  return (
    body.record_type === 'state' || /^(?:message|reasoning|\w+_call(?:_output)?)$/.test(getText(body, 'type') ?? '')
  );
}

async function* read(file: SourceFile, options: FormatOptions): AsyncIterable<Part> {
  const rollout = new Rollout(new Transcript('codex', options));
  for await (const line of readObjects(file)) {
    const place = `line ${line.number}`;
    if ('refused' in line) yield { kind: 'refused', place, reason: line.refused };
    else yield* rollout.read(toEnvelope(line.body), place);
  }
  yield* rollout.end();
}

interface Envelope {
  type: string;
  payload: Body;
  at: number | undefined;
}

/** Returns a line in the present form. */
function toEnvelope(body: Body): Envelope {
  const payload = toBody(body.payload);
  const at = getTime(body, 'timestamp');
  if (payload) return { type: getText(body, 'type') ?? '', payload, at };
  return { type: isFormerMeta(body) ? 'session_meta' : 'response_item', payload: body, at };
}

/** A message of the person or of the program. */
interface Message {
  text: string;
  turnId: string | undefined;
  at: number | undefined;
  place: string;
}

/** The state of reading a transcript. */
class Rollout {
  readonly #transcript: Transcript;
  /** The session, and the sessions that it was forked from, whose lines it repeats. */
  readonly #sessions: { id: string; at: number }[] = [];
  #where: Place = {};
  #isByAgent = false;
  #startedAt: number | undefined;
  #turnId: string | undefined;
  /** Whether the file has events, which mark the messages that a person sent. */
  #hasEvents = false;
  /** Messages with the role of the person. The program may have sent some of them. */
  #candidates: Message[] = [];

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
  }

  *read({ type, payload, at = this.#startedAt }: Envelope, place: string): Iterable<Part> {
    if (type === 'session_meta') this.#readMeta(payload);
    else if (type === 'turn_context') this.#turnId = getText(payload, 'turn_id') ?? this.#turnId;
    else if (type === 'compacted') this.#transcript.leaveOut('system');
    else if (type === 'event_msg') yield* this.#readEvent(payload, at, place);
    else if (type === 'response_item') yield* this.#readItem(payload, at, place);
  }

  *end(): Iterable<Part> {
    yield* this.#judgeCandidates();
    yield* this.#transcript.end();
  }

  #readMeta(payload: Body): void {
    const id = getText(payload, 'id', 'session_id');
    if (id === undefined) return;
    if (this.#sessions.length === 0) {
      const git = toBody(payload.git) ?? {};
      this.#where = {
        ...{ folder: getText(payload, 'cwd'), branch: getText(git, 'branch') },
        remote: getText(git, 'repository_url'),
      };
      this.#startedAt = getTime(payload, 'timestamp');
      this.#isByAgent = payload.thread_source === 'subagent' || toBody(payload.source)?.subagent !== undefined;
    }
    for (const session of [id, getText(payload, 'forked_from_id') ?? id]) {
      if (this.#sessions.length >= MAX_SESSIONS || this.#sessions.some((known) => known.id === session)) continue;
      this.#sessions.push({ id: session, at: getIdTime(session) ?? Number.POSITIVE_INFINITY });
    }
  }

  *#readEvent(payload: Body, at: number | undefined, place: string): Iterable<Part> {
    const turnId = getText(payload, 'turn_id') ?? this.#turnId;
    const item = toBody(payload.item) ?? {};
    const text = joinTexts(item.content);
    switch (payload.type === 'item_completed' ? item.type : payload.type) {
      case 'task_started':
        this.#turnId = turnId;
        break;
      case 'user_message':
        yield* this.#readPrompt({ text: getText(payload, 'message') ?? '', turnId, at, place });
        break;
      case 'UserMessage':
        yield* this.#readPrompt({ text, turnId, at, place });
        break;
      case 'agent_message':
        this.#transcript.answer(getText(payload, 'message') ?? '', at);
        break;
      case 'AgentMessage':
        this.#transcript.answer(text, at);
        break;
      case 'task_complete':
        this.#transcript.answer(getText(payload, 'last_agent_message') ?? '', at);
        break;
      case 'turn_aborted':
        this.#transcript.abort();
    }
  }

  *#readPrompt(message: Message): Iterable<Part> {
    this.#hasEvents = true;
    // One of the candidates has the same message as the event.
    this.#candidates = this.#candidates.filter(({ text }) => text !== message.text);
    yield* this.#judgeCandidates();
    yield* this.#send(message);
  }

  *#readItem(payload: Body, at: number | undefined, place: string): Iterable<Part> {
    const { type, role } = payload;
    if (type === 'message' && role === 'user') {
      yield* this.#readUserItem(payload, at, place);
      return;
    }
    yield* this.#judgeCandidates();
    if (type === 'message' && role === 'assistant') this.#transcript.answer(joinTexts(payload.content), at);
    else if (type === 'message') this.#transcript.leaveOut('system');
    else if (type === 'reasoning') this.#transcript.leaveOut('thought');
    else if (typeof type === 'string' && /_call(?:_output)?$/.test(type)) this.#transcript.leaveOut('tool');
  }

  *#readUserItem(payload: Body, at: number | undefined, place: string): Iterable<Part> {
    const { turn_id: turnId = this.#turnId, content_item_kinds: kinds } =
      toBody(payload.internal_chat_message_metadata_passthrough) ?? {};
    const message = {
      ...{ text: joinTexts(payload.content), at, place },
      turnId: typeof turnId === 'string' ? turnId : undefined,
    };
    if (Array.isArray(kinds) && !kinds.includes('user.text')) this.#transcript.leaveOut('system');
    else if (Array.isArray(kinds)) yield* this.#send(message);
    else this.#candidates.push(message);
    if (this.#candidates.length > MAX_CANDIDATES) yield* this.#judgeCandidates();
  }

  /** Takes the candidates for prompts in a file without events, except for instructions. */
  *#judgeCandidates(): Iterable<Part> {
    const candidates = this.#candidates;
    this.#candidates = [];
    for (const message of candidates) {
      if (this.#hasEvents) this.#transcript.leaveOut('system');
      else yield* this.#send(message);
    }
  }

  *#send({ text, turnId, at, place }: Message): Iterable<Part> {
    const session = this.#findSession(turnId);
    if (session === undefined || INSTRUCTIONS.test(text)) {
      this.#transcript.leaveOut('system');
      return;
    }
    const isAutomatic = this.#isByAgent;
    yield* this.#transcript.prompt({ ...this.#where, session, promptId: turnId, text, at, place, isAutomatic });
  }

  /** Returns the session in which a turn began: the newest one that is older than the turn. */
  #findSession(turnId: string | undefined): string | undefined {
    const [own] = this.#sessions;
    const turnAt = turnId === undefined ? undefined : getIdTime(turnId);
    if (!own || turnAt === undefined || turnAt >= own.at) return own?.id;
    const older = this.#sessions.filter(({ at }) => at <= turnAt).sort((a, b) => b.at - a.at);
    return (older[0] ?? own).id;
  }
}

/** Returns the time in a UUID of version 7, in ms since 1970; undefined for another id. */
function getIdTime(id: string): number | undefined {
  const [, high = '', low = ''] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(id) ?? [];
  return high === '' ? undefined : Number.parseInt(high + low, 16);
}

function joinTexts(content: unknown): string {
  return getBlocks(content)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('');
}
