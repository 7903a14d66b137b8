import { type Body, getItems, getText, getTime } from '../../hooks/programs/program.ts';
import type { FileHead, Format, FormatOptions, Part } from '../format.ts';
import { readJsonValues } from '../parsing/read-json.ts';
import { readLines } from '../parsing/read-lines.ts';
import type { SourceFile } from '../source/source.ts';
import { getBlocks, parseObject, readObjects, Transcript, toBody } from './transcript.ts';

/** Fields before the messages of a transcript that is one JSON object. */
const FIELDS = ['sessionId', 'kind', 'directories'];

/** Maximum UTF-16 units of the answers of one turn that are held, of which the hooks store the first 4,000. */
const MAX_ANSWER_CHARS = 65_536;
/** Maximum answers of one turn that are held. Texts of further answers would be cut off. */
const MAX_ANSWERS = 10_000;

/** The folder in the first message of a session, which the program writes. */
const WORKSPACE = /^<session_context>.*?Workspace Directories:\*\*\s*\n\s*- ([^\n]+)\n/s;

/**
 * Transcripts of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`. The first line has `sessionId` and
 * `projectHash`. A message is a line with `id`, `timestamp`, `type` user or gemini, and `content`; it is written again
 * when it changes. `$set` lines change the fields of the first line. Until 2026, a file was one JSON object with these
 * fields and `messages`.
 */
export const geminiCli: Format = {
  name: 'gemini-cli',
  title: 'transcripts of Gemini CLI',
  files: 'the folder ~/.gemini/tmp, or a session-….jsonl or session-….json file in it',
  recognizes,
  read,
};

function recognizes({ text }: FileHead): boolean {
  const first = parseObject(text.slice(0, text.indexOf('\n') + 1 || text.length));
  if (first) return isMeta(first);
  // One object on several lines, or on a line that is longer than the head.
  const start = text.slice(0, text.search(/"messages"\s*:/) + 1 || text.length);
  return /^\s*\{/.test(text) && /"sessionId"\s*:\s*"/.test(start) && /"projectHash"\s*:\s*"/.test(start);
}

function isMeta(body: Body): boolean {
  return typeof body.sessionId === 'string' && typeof body.projectHash === 'string';
}

async function* read(file: SourceFile, options: FormatOptions): AsyncIterable<Part> {
  const chat = new Chat(new Transcript('gemini-cli', options));
  if (await hasLines(file)) yield* readJsonLines(chat, file);
  else yield* readDocument(chat, file);
  yield* chat.end();
}

/** Returns whether the first line is an object of its own, without the messages. */
async function hasLines(file: SourceFile): Promise<boolean> {
  for await (const line of readLines(file.open())) {
    const first = 'text' in line ? parseObject(line.text) : undefined;
    return first !== undefined && !Array.isArray(first.messages);
  }
  return false;
}

async function* readJsonLines(chat: Chat, file: SourceFile): AsyncIterable<Part> {
  for await (const line of readObjects(file)) {
    const place = `line ${line.number}`;
    if ('refused' in line) yield { kind: 'refused', place, reason: line.refused };
    else yield* chat.readRecord(line.body, place);
  }
}

/** Reads the fields of the session before its messages, because they may come after the messages in the file. */
async function* readDocument(chat: Chat, file: SourceFile): AsyncIterable<Part> {
  for await (const found of readJsonValues(file.open(), FIELDS)) {
    if ('value' in found) chat.setFields({ [found.place]: found.value });
  }
  for await (const found of readJsonValues(file.open(), ['messages.*'])) {
    const place = `message ${found.number}`;
    const body = 'value' in found ? toBody(found.value) : undefined;
    if (body) yield* chat.readMessage(body, place);
    else yield { kind: 'refused', place, reason: 'refused' in found ? found.refused : 'the message is not an object' };
  }
}

/** A message of the model. */
interface Answer {
  text: string;
  toolCount: number;
  hasThoughts: boolean;
}

/** The state of reading a transcript. */
class Chat {
  readonly #transcript: Transcript;
  #session: string | undefined;
  #folder: string | undefined;
  #isByAgent = false;
  /** Answers of the turn by the ids of their messages. The hooks report them as one text. */
  readonly #answers = new Map<string, Answer>();
  #answerChars = 0;
  /** Time of the last answer. */
  #answeredAt: number | undefined;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
  }

  *readRecord(body: Body, place: string): Iterable<Part> {
    const changed = toBody(body.$set);
    if (changed) {
      this.setFields(changed);
      // The program repeats all messages with new times here when it continues or shortens a session.
      const [first] = getItems(changed, 'messages');
      this.#findFolder(toBody(first) ?? {});
    } else if (isMeta(body)) this.setFields(body);
    else if (getText(body, 'type') !== undefined) yield* this.readMessage(body, place);
  }

  setFields(fields: Body): void {
    this.#session = getText(fields, 'sessionId') ?? this.#session;
    if (fields.kind === 'subagent') this.#isByAgent = true;
    const [directory] = getItems(fields, 'directories');
    if (typeof directory === 'string') this.#folder ??= directory;
  }

  *readMessage(body: Body, place: string): Iterable<Part> {
    const at = getTime(body, 'timestamp');
    if (body.type === 'user') yield* this.#readUser(body, at, place);
    else if (this.#isByAgent) this.#transcript.leaveOut('agent');
    else if (body.type === 'gemini') this.#readAnswer(body, at);
    else this.#transcript.leaveOut('system');
  }

  *end(): Iterable<Part> {
    this.#endAnswers();
    yield* this.#transcript.end();
  }

  *#readUser(body: Body, at: number | undefined, place: string): Iterable<Part> {
    this.#findFolder(body);
    const blocks = getBlocks(body.content);
    const results = blocks.filter(({ functionResponse }) => functionResponse !== undefined).length;
    // Messages of the model have these calls too, and are counted there.
    if (results > 0 && results === blocks.length) return;
    if (this.#session === undefined) {
      yield { kind: 'refused', place, reason: 'the file names no session before the message' };
      return;
    }
    this.#endAnswers();
    yield* this.#transcript.prompt({
      ...{ session: this.#session, text: joinTexts(blocks), at, place, folder: this.#folder },
      isAutomatic: this.#isByAgent,
      isAttachment: blocks.some((block) => block.inlineData !== undefined || block.fileData !== undefined),
    });
  }

  #findFolder({ content }: Body): void {
    if (this.#folder === undefined) this.#folder = WORKSPACE.exec(joinTexts(getBlocks(content)).trimStart())?.[1];
  }

  #readAnswer(body: Body, at: number | undefined): void {
    const id = getText(body, 'id') ?? '';
    const known = this.#answers.get(id);
    const others = this.#answerChars - (known?.text.length ?? 0);
    const answer = {
      text: joinTexts(getBlocks(body.content)).slice(0, Math.max(0, MAX_ANSWER_CHARS - others)),
      toolCount: Math.max(getItems(body, 'toolCalls').length, known?.toolCount ?? 0),
      hasThoughts: getItems(body, 'thoughts').length > 0,
    };
    if (!known && this.#answers.size >= MAX_ANSWERS) {
      this.#count(answer);
      return;
    }
    this.#answers.set(id, answer);
    this.#answerChars = others + answer.text.length;
    this.#answeredAt = at;
  }

  /** Gives the answers of a turn to the transcript as one text. */
  #endAnswers(): void {
    const answers = [...this.#answers.values()];
    const texts = answers.flatMap(({ text }) => (text === '' ? [] : [text]));
    this.#transcript.answer(texts.join('\n'), this.#answeredAt);
    for (const answer of answers) this.#count(answer);
    this.#answers.clear();
    this.#answerChars = 0;
  }

  #count({ toolCount, hasThoughts }: Answer): void {
    this.#transcript.leaveOut('tool', toolCount);
    this.#transcript.leaveOut('thought', hasThoughts ? 1 : 0);
  }
}

/** Joins texts as the program does for its hooks. */
function joinTexts(blocks: readonly Body[]): string {
  return blocks.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('');
}
