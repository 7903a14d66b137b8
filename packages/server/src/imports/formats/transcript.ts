import { getProjectHeaders, toProjectHeaders } from '../../../assets/project-headers.js';
import { createAnswerKey, createNeighborKeys, createPromptKey, createSessionId, getMinute } from '../../hooks/keys.ts';
import { isAutomaticPrompt, isCommand, isWideEnough, toPersonText } from '../../hooks/person-text.ts';
import type { Body } from '../../hooks/programs/program.ts';
import { type Project, readProject, toFolderProject } from '../../hooks/project.ts';
import { toAnswerText, toTurnRequest } from '../../hooks/turn-text.ts';
import type { FormatOptions, LeftOutReason, Part } from '../format.ts';
import { LeftOutCounts } from '../left-out-counts.ts';
import { readLines } from '../parsing/read-lines.ts';
import { toImportedTime } from '../parsing/times.ts';
import type { SourceFile } from '../source/source.ts';

/** The folder and the repository of a session, from its transcript. */
export interface Place {
  folder?: string | undefined;
  branch?: string | undefined;
  /** The URL of the remote `origin`. */
  remote?: string | undefined;
}

/** A prompt of a transcript. */
export interface TranscriptPrompt extends Place {
  /** The program's id of the session. */
  session: string;
  promptId?: string | undefined;
  /** The text with everything that the program put into it. */
  text: string;
  /** In ms since 1970, if the transcript has a time. */
  at: number | undefined;
  /** Such as `line 7`. */
  place: string;
  /** Whether the program sent the prompt itself. */
  isAutomatic?: boolean;
  /** Whether the person sent a file or an image without a text. */
  isAttachment?: boolean;
  /** As in `Part`. */
  copyKey?: string | undefined;
  isCopy?: boolean;
}

interface Turn {
  prompt: TranscriptPrompt;
  /** The text that the person typed. */
  text: string;
  /** The reason for leaving out the prompt. Its answer may still become a memory. */
  reason: LeftOutReason | undefined;
  answer?: { text: string; at: number | undefined };
}

/**
 * The turns of a transcript. Yields the texts that the hooks of the program would have stored, under the same external
 * ids, and counts the others. A turn ends with the next prompt: only then is its last answer known.
 */
export class Transcript {
  readonly #program: string;
  readonly #options: FormatOptions;
  readonly #leftOut = new LeftOutCounts();
  #turn: Turn | undefined;
  #project: { session: string; value: Project | undefined } | undefined;

  constructor(program: string, options: FormatOptions) {
    this.#program = program;
    this.#options = options;
  }

  /** Counts items that are no memories. */
  leaveOut(reason: LeftOutReason, count = 1): void {
    this.#leftOut.add(reason, count);
  }

  /** Begins a turn, and yields the texts of the turn before it. A repetition of the last prompt continues its turn. */
  *prompt(prompt: TranscriptPrompt): Iterable<Part> {
    const text = toPersonText(prompt.text);
    if (this.#turn && isSamePrompt(this.#turn, prompt, text)) return;
    if (prompt.isAutomatic || isAutomaticPrompt(prompt.text)) {
      this.leaveOut('agent');
      // After an automatic prompt inside a turn, the answer still belongs to the prompt of the person.
      const isDuringTurn = prompt.promptId !== undefined && prompt.promptId === this.#turn?.prompt.promptId;
      if (!isDuringTurn) yield* this.#endTurn();
      return;
    }
    yield* this.#endTurn();
    if (text === '' && !prompt.isAttachment) {
      this.leaveOut(prompt.text.trim() === '' ? 'empty' : 'system');
      return;
    }
    this.#turn = { prompt, text, reason: getReason(text) };
  }

  /** Notes the answer of the turn. A later one replaces it. */
  answer(text: string, at: number | undefined): void {
    if (text.trim() === '') return;
    if (this.#turn) this.#turn.answer = { text, at };
  }

  /** Forgets the answer of a turn that was aborted, for which no hook reports an answer. */
  abort(): void {
    delete this.#turn?.answer;
  }

  /** Notes that the turn was copied from another session, where its prompt had another id. */
  markCopy(session: string): void {
    if (this.#turn) Object.assign(this.#turn.prompt, { session, promptId: undefined, isCopy: true });
  }

  /** Yields the texts of the last turn, and the counts. */
  *end(): Iterable<Part> {
    yield* this.#endTurn();
    yield* this.#leftOut.toParts();
  }

  *#endTurn(): Iterable<Part> {
    const turn = this.#turn;
    this.#turn = undefined;
    if (!turn) return;
    const { prompt, text, reason } = turn;
    // Without a time and an id, only their texts distinguish the prompts of a session.
    const report = { session: prompt.session, promptId: prompt.promptId, text, at: prompt.at ?? 0 };
    const keys = [createPromptKey(report), ...createNeighborKeys(report)];
    if (reason) this.leaveOut(reason);
    else yield this.#toPart(prompt, { role: 'user', text, keys, at: prompt.at });
    const answer = turn.answer && toAnswerText(turn.answer.text);
    if (!answer) return;
    if (this.#options.capture !== 'turns') this.leaveOut('answer');
    else
      yield this.#toPart(prompt, {
        ...{ role: 'assistant', text: answer, at: turn.answer?.at ?? prompt.at },
        keys: keys.map((key) => createAnswerKey(key)),
      });
  }

  #toPart(
    prompt: TranscriptPrompt,
    { role, text, keys, at }: { role: 'user' | 'assistant'; text: string; keys: string[]; at: number | undefined },
  ): Part {
    const [key = '', ...aliases] = keys;
    const createdAt = toImportedTime(at);
    const request = toTurnRequest({
      ...{ program: this.#program, role, text, key, project: this.#getProject(prompt) },
      sessionId: createSessionId(this.#program, prompt.session),
    });
    return {
      kind: 'text',
      text: { ...request, ...(createdAt && { created_at: createdAt }), ...(aliases.length > 0 && { aliases }) },
      place: prompt.place,
      ...(prompt.copyKey !== undefined && { copyKey: `${role}:${prompt.copyKey}` }),
      ...(prompt.isCopy && { isCopy: true }),
    };
  }

  /** Returns the project of a session, which is the one where the session began. */
  #getProject(prompt: TranscriptPrompt): Project | undefined {
    if (this.#project?.session !== prompt.session) {
      this.#project = { session: prompt.session, value: findProject(prompt, this.#options) };
    }
    return this.#project.value;
  }
}

function getReason(text: string): LeftOutReason | undefined {
  if (text === '') return 'attachment';
  if (isCommand(text)) return 'command';
  return isWideEnough(text) ? undefined : 'short';
}

/** Returns whether hooks would use the same external id for a prompt and the last one. */
function isSamePrompt({ prompt, text }: Turn, next: TranscriptPrompt, nextText: string): boolean {
  if (prompt.session !== next.session || text !== nextText || prompt.promptId !== next.promptId) return false;
  return prompt.promptId !== undefined || getMinute(prompt.at ?? 0) === getMinute(next.at ?? 0);
}

/**
 * Returns the project with the name that the hooks use. The name comes from the remote of the transcript, else from the
 * remote of the repository if its folder may be read, else from the folder. The branch comes from the transcript,
 * because another branch may be checked out now.
 */
function findProject({ folder, branch, remote }: Place, { readsRepositories }: FormatOptions): Project | undefined {
  const headers = toProjectHeaders(remote ?? '', branch || undefined);
  const project = readProject(headers['X-Memoryd-Project'], headers['X-Memoryd-Branch']);
  if (project || folder === undefined) return project;
  const found = readsRepositories && isLocal(folder) ? getProjectHeaders(folder)['X-Memoryd-Project'] : undefined;
  return readProject(found, headers['X-Memoryd-Branch']) ?? toFolderProject(folder);
}

/** Returns whether a path is absolute and names no other computer, which Windows would ask for the folder. */
function isLocal(folder: string): boolean {
  return /^(?:\/(?![\\/])|[a-z]:[\\/])/i.test(folder) && !folder.includes('\0');
}

/** A JSON object of a line, or the reason for refusing the line. */
export type TranscriptLine = { number: number; body: Body } | { number: number; refused: string };

/** Reads the JSON objects of a file, one per line. Refuses any other line, and reads the next one. */
export async function* readObjects(file: SourceFile): AsyncIterable<TranscriptLine> {
  for await (const line of readLines(file.open())) {
    if ('refused' in line) {
      yield line;
      continue;
    }
    const body = parseObject(line.text);
    yield body
      ? { number: line.number, body }
      : { number: line.number, refused: 'the line is not a complete JSON object' };
  }
}

/** Returns a JSON object; undefined for any other text. An error of `JSON.parse` costs more than the look at the start. */
export function parseObject(text: string): Body | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return toBody(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns an object with fields; undefined for any other value. */
export function toBody(value: unknown): Body | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Body) : undefined;
}

/** Returns the objects in a field that is an array, or an object. A text stands for a block with that text. */
export function getBlocks(value: unknown): Body[] {
  if (typeof value === 'string') return [{ type: 'text', text: value }];
  const blocks: unknown[] = Array.isArray(value) ? value : [value];
  return blocks.flatMap((block) => {
    const body = typeof block === 'string' ? { type: 'text', text: block } : toBody(block);
    return body ? [body] : [];
  });
}

/** Lines by which a transcript is recognized. Lines of other files are parsed in vain. */
const MAX_HEAD_LINES = 200;

/** Returns the objects of the complete first lines of a file. */
export function getHeadObjects(head: { text: string; isWhole: boolean }): Body[] {
  const lines = head.text.split('\n', MAX_HEAD_LINES + 1);
  return (head.isWhole ? lines : lines.slice(0, -1)).flatMap((line) => {
    const body = parseObject(line);
    return body ? [body] : [];
  });
}
