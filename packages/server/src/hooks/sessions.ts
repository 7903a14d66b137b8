import { LRUCache } from 'lru-cache';
import { createPromptKey, createSessionId, digest, getMinute, type PromptReport } from './keys.ts';
import { type HookOwner, OwnerMap } from './owner-map.ts';
import type { Project } from './project.ts';

/** Maximum owners, sessions of one owner and prompts of one session that are remembered; the least recent are forgotten. */
const LIMITS = { owners: 1000, sessions: 64, prompts: 8 };

/** Scheduled prompts of one session that are remembered, and the characters by which they are compared. */
const SCHEDULED = { prompts: 16, chars: 1000 };

/** Maximum UTF-16 units of a folder that is remembered. */
const MAX_FOLDER_CHARS = 4096;

/** Time within which two programs report the same prompt, at most. */
const REPORT_WINDOW_MS = 60_000;

/** A prompt that was reported. */
interface ReportedPrompt {
  key: string;
  textDigest: string;
  /** When the prompt was reported last, in ms since 1970. */
  reportedAt: number;
  /** The first report of each program: the minute, and a digest of the program's id of the prompt, if it has ids. */
  reports: Map<string, { id: string | undefined; minute: number }>;
}

/** A session of an agent program, as far as this process remembers it. See `HookSessions`. */
export class HookSession {
  /** The session of the memories. */
  readonly id: string;
  /** The project, once it is known, and whether a header named it. */
  project: { value: Project | undefined; isNamed: boolean } | undefined;
  /** Whether a start of the session was reported. */
  isStarted = false;
  /** Whether the program no longer has what it was given. */
  needsReset = false;
  /** Whether the answer to the last prompt is not stored: nothing may be stored, or no person sent the prompt. */
  skipsAnswer = false;
  #folder: string | undefined;
  readonly #prompts: ReportedPrompt[] = [];
  /** Digests of the prompts that the program will send itself. */
  #scheduled = new Set<string>();

  constructor(id: string) {
    this.id = id;
  }

  /** The folder in which the session began, if it is known. */
  get folder(): string | undefined {
    return this.#folder;
  }

  /** Remembers the first folder of the session. Ignores a text that is longer than the paths of operating systems. */
  noteFolder(folder: string | undefined): void {
    if (folder !== undefined && folder.length <= MAX_FOLDER_CHARS) this.#folder ??= folder;
  }

  /** Remembers the prompts that the program will send itself. They may be cut to `SCHEDULED.chars` characters. */
  schedule(prompts: readonly string[]): void {
    this.#scheduled = new Set(prompts.slice(0, SCHEDULED.prompts).map(digestStart));
  }

  /** Returns whether the program was to send a prompt itself. */
  isScheduled(text: string): boolean {
    return this.#scheduled.has(digestStart(text));
  }

  /** Returns the external id of a prompt, of the last one without an id. Undefined if it is not remembered. */
  findKey(promptId: string | undefined): string | undefined {
    if (promptId === undefined) return this.#prompts.at(-1)?.key;
    const id = digest(promptId);
    return this.#prompts.findLast((prompt) => hasId(prompt, id))?.key;
  }

  /**
   * Remembers a prompt. Returns its external id, and whether the same program reported it before. Two reports are of one
   * prompt if they have the same id, and from one program also the same text, since Codex gives the prompts of one turn
   * the same id; or the same text and come from two programs within a minute; or the same text and come from one program
   * without ids in the same minute.
   *
   * @param isRepeated whether the program reports a prompt several times, with less than a minute in between
   */
  report(
    program: string,
    report: PromptReport,
    { now, isRepeated = false }: { now: number; isRepeated?: boolean | undefined },
  ): { key: string; isKnown: boolean } {
    const textDigest = digest(report.text);
    const own = {
      id: report.promptId === undefined ? undefined : digest(report.promptId),
      minute: getMinute(report.at),
    };
    const known = this.#prompts.findLast((prompt) => {
      const hasText = prompt.textDigest === textDigest;
      if (own.id !== undefined && hasId(prompt, own.id)) return hasText || !prompt.reports.has(program);
      if (!hasText || now - prompt.reportedAt > REPORT_WINDOW_MS) return false;
      const before = prompt.reports.get(program);
      if (!before) return true;
      return own.id === undefined && before.id === undefined && (isRepeated || own.minute === before.minute);
    });
    const prompt = known ?? { key: createPromptKey(report), textDigest, reportedAt: now, reports: new Map() };
    const isKnown = prompt.reports.has(program);
    prompt.reportedAt = now;
    if (!isKnown) prompt.reports.set(program, own);
    if (!known) this.#prompts.push(prompt);
    if (this.#prompts.length > LIMITS.prompts) this.#prompts.shift();
    return { key: prompt.key, isKnown };
  }
}

function hasId({ reports }: ReportedPrompt, id: string): boolean {
  return [...reports.values()].some((report) => report.id === id);
}

function digestStart(text: string): string {
  return digest(text.slice(0, SCHEDULED.chars));
}

/**
 * The recent sessions of agent programs, in this process. After a restart, a session is found by its memories: the
 * external ids of prompts do not depend on this record, except for a prompt that two programs report in different ways.
 */
export class HookSessions {
  readonly #owners: OwnerMap<LRUCache<string, HookSession>>;

  constructor(maxOwners: number = LIMITS.owners) {
    this.#owners = new OwnerMap(maxOwners);
  }

  /** Returns a session. Two programs that report a session with the same id have one session, named by the first. */
  open(owner: HookOwner, program: string, session: string): HookSession {
    const sessions = this.#owners.take(owner, () => new LRUCache({ max: LIMITS.sessions }));
    const key = digest(session);
    const known = sessions.get(key) ?? new HookSession(createSessionId(program, session));
    sessions.set(key, known);
    return known;
  }
}
