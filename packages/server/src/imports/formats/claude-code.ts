import { type Body, getText, getTime } from '../../hooks/programs/program.ts';
import type { Format, FormatOptions, Part } from '../format.ts';
import type { SourceFile } from '../source/source.ts';
import { getBlocks, getHeadObjects, readObjects, Transcript, toBody } from './transcript.ts';

/** Types of lines of which a transcript has at least one near its start. */
const LINE_TYPES = new Set(['user', 'assistant', 'system', 'attachment', 'progress', 'queue-operation']);

/** The start of a line that is longer than the head of a file. */
const LONG_LINE = /^\{"parentUuid":(?:null|"[^"]*"),.*"(?:isSidechain|sessionId)":/s;

/** The prompt that Claude Code writes when a person interrupts it. */
const INTERRUPTION = /^\[Request interrupted by user/;

/** Kinds of `origin` of the prompts that a person sent. */
const HUMAN_ORIGINS = new Set<unknown>(['human', 'voice-call', undefined]);

/**
 * Transcripts of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`. Each line is an object: `type` user or
 * assistant, `message` {role, content}, `sessionId`, `promptId` (since 2026), `cwd`, `gitBranch`, `uuid`, `timestamp`.
 */
export const claudeCode: Format = {
  name: 'claude-code',
  title: 'transcripts of Claude Code',
  files: 'the folder ~/.claude/projects, or a .jsonl file in it',
  recognizes: (head) => getHeadObjects(head).some(isLine) || LONG_LINE.test(head.text),
  read,
};

function isLine(body: Body): boolean {
  const type = getText(body, 'type') ?? '';
  if (type === 'summary') return typeof body.leafUuid === 'string';
  return LINE_TYPES.has(type) && typeof body.sessionId === 'string';
}

async function* read(file: SourceFile, options: FormatOptions): AsyncIterable<Part> {
  const transcript = new Transcript('claude-code', options);
  /** The time of the first line that has one. Lines with an earlier time were copied from another session. */
  let start: number | undefined;
  /** The id of the running turn. */
  let turnId: string | undefined;
  for await (const line of readObjects(file)) {
    const place = `line ${line.number}`;
    if ('refused' in line) {
      yield { kind: 'refused', place, reason: line.refused };
      continue;
    }
    const at = getTime(line.body, 'timestamp');
    start ??= at;
    turnId = getText(line.body, 'promptId') ?? turnId;
    yield* readLine(transcript, toPromptLine(line.body, turnId), { place, at, start });
  }
  yield* transcript.end();
}

/**
 * Returns a message that a person sent during a turn as a line of its own, which has the id of that turn, as hooks report
 * it. Returns any other line unchanged.
 */
function toPromptLine(body: Body, turnId: string | undefined): Body {
  const attachment = toBody(body.attachment) ?? {};
  if (attachment.type !== 'queued_command') return body;
  const { prompt, origin, isMeta, commandMode = 'prompt' } = attachment;
  const promptSource = commandMode === 'prompt' ? undefined : 'system';
  return { ...body, type: 'user', message: { content: prompt }, promptId: turnId, origin, isMeta, promptSource };
}

interface LinePlace {
  place: string;
  at: number | undefined;
  start: number | undefined;
}

function* readLine(transcript: Transcript, body: Body, line: LinePlace): Iterable<Part> {
  const { type } = body;
  if (type === 'summary') transcript.leaveOut('system');
  if (type !== 'user' && type !== 'assistant') return;
  if (body.isSidechain === true || getText(body, 'agentId') !== undefined) transcript.leaveOut('agent');
  else if (type === 'user') yield* readUser(transcript, body, line);
  else readAssistant(transcript, body, line);
}

function* readUser(transcript: Transcript, body: Body, { place, at, start }: LinePlace): Iterable<Part> {
  const session = getText(body, 'sessionId');
  if (body.isMeta === true || body.isCompactSummary === true || body.isVisibleInTranscriptOnly === true) {
    transcript.leaveOut('system');
    return;
  }
  const blocks = getBlocks(toBody(body.message)?.content);
  const results = blocks.filter(({ type }) => type === 'tool_result').length;
  transcript.leaveOut('tool', results);
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  if (session === undefined || (results > 0 && texts.length === 0)) return;
  const text = toTypedText(texts.join('\n'));
  if (INTERRUPTION.test(text)) {
    transcript.abort();
    transcript.leaveOut('system');
    return;
  }
  // `/branch` keeps the id of a prompt, and names the session where it was sent.
  const original = getText(toBody(body.forkedFrom) ?? {}, 'sessionId');
  const isCopy = original !== undefined || (at !== undefined && start !== undefined && at < start);
  yield* transcript.prompt({
    ...{ session: original ?? session, text, at, place, isCopy, copyKey: getText(body, 'uuid') },
    // A fork gives all prompts of the copied session the id of its own first prompt.
    promptId: isCopy && original === undefined ? undefined : getText(body, 'promptId'),
    folder: getText(body, 'cwd'),
    // Without a branch, Claude Code writes the name of the commit that is checked out.
    branch: body.gitBranch === 'HEAD' ? undefined : getText(body, 'gitBranch'),
    isAutomatic: isAutomatic(body),
    isAttachment: blocks.some(({ type }) => type === 'image' || type === 'document'),
  });
}

function isAutomatic(body: Body): boolean {
  if (body.promptSource === 'system' || getText(body, 'wakeupSource') !== undefined) return true;
  return !HUMAN_ORIGINS.has(toBody(body.origin)?.kind);
}

/** Returns a command as the person typed it and as hooks report it, and any other text unchanged. */
function toTypedText(text: string): string {
  const name = /<command-name>\s*(\/[^<\s]+)\s*<\/command-name>/.exec(text)?.[1];
  if (name === undefined) return text;
  const args = /<command-args>(.*?)<\/command-args>/s.exec(text)?.[1] ?? '';
  return `${name} ${args}`.trim();
}

function readAssistant(transcript: Transcript, body: Body, { at }: LinePlace): void {
  const message = toBody(body.message) ?? {};
  // The program writes errors of its API as answers. No hook reports such an answer.
  if (body.isApiErrorMessage === true || message.model === '<synthetic>') {
    transcript.abort();
    transcript.leaveOut('system');
    return;
  }
  const asked = getText(body, 'requestSessionId');
  if (asked !== undefined && asked !== body.sessionId && body.forkedFrom === undefined) transcript.markCopy(asked);
  const blocks = getBlocks(message.content);
  const count = (pattern: RegExp) => blocks.filter(({ type }) => typeof type === 'string' && pattern.test(type)).length;
  transcript.leaveOut('tool', count(/tool_(?:use|result)$/));
  transcript.leaveOut('thought', count(/^(?:redacted_)?thinking$/));
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  transcript.answer(texts.join('\n'), at);
}
