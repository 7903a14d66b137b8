import { LRUCache } from 'lru-cache';
import type { HookOwner } from './activity.ts';
import { createPromptKey, createSessionId, digest, type PromptReport } from './keys.ts';
import type { Project } from './project.ts';

/** Maximum owners, sessions of one owner and prompts of one session that are remembered; the least recent are forgotten. */
const LIMITS = { owners: 1000, sessions: 64, prompts: 8 };

/** Scheduled prompts of one session that are remembered, and the characters by which they are compared. */
const SCHEDULED = { prompts: 16, chars: 1000 };

/** Time within which two programs report the same prompt, at most. */
const REPORT_WINDOW_MS = 60_000;

/** A prompt that was reported. */
interface ReportedPrompt {
  key: string;
  textDigest: string;
  /** When the prompt was reported last, in ms since 1970. */
  reportedAt: number;
  /** A digest of the id of the prompt in each program that reported it; undefined for a program without ids. */
  ids: Map<string, string | undefined>;
}

/** A session of an agent program, as far as this process remembers it. See `HookSessions`. */
export class HookSession {
  /** The session of the memories. */
  readonly id: string;
  /** The project, once it is known, and whether a header named it. */
  project: { value: Project | undefined; isNamed: boolean } | undefined;
  /** The folder in which the session began. */
  folder: string | undefined;
  /** Whether a start of the session was reported. */
  isStarted = false;
  /** Whether the program no longer has what it was given. */
  needsReset = false;
  /** Whether the program itself sent the last prompt. */
  isAutomatic = false;
  readonly #prompts: ReportedPrompt[] = [];
  /** Digests of the prompts that the program will send itself. */
  #scheduled = new Set<string>();

  constructor(id: string) {
    this.id = id;
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
    return this.#prompts.findLast(({ ids }) => [...ids.values()].includes(id))?.key;
  }

  /**
   * Remembers a prompt. Returns its external id, and whether the same program reported it before. Two reports are of one
   * prompt if they have the same id, or if they have the same text within a minute and no program gave them two ids.
   */
  report(program: string, report: PromptReport, now: number): { key: string; isRepeated: boolean } {
    const textDigest = digest(report.text);
    const id = report.promptId === undefined ? undefined : digest(report.promptId);
    const known = this.#prompts.findLast((prompt) => {
      if (id !== undefined && [...prompt.ids.values()].includes(id)) return true;
      if (prompt.textDigest !== textDigest || now - prompt.reportedAt > REPORT_WINDOW_MS) return false;
      return id === undefined || prompt.ids.get(program) === undefined;
    });
    const prompt = known ?? { key: createPromptKey(report), textDigest, reportedAt: now, ids: new Map() };
    const isRepeated = prompt.ids.has(program);
    prompt.reportedAt = now;
    prompt.ids.set(program, id ?? prompt.ids.get(program));
    if (!known) this.#prompts.push(prompt);
    if (this.#prompts.length > LIMITS.prompts) this.#prompts.shift();
    return { key: prompt.key, isRepeated };
  }
}

function digestStart(text: string): string {
  return digest(text.slice(0, SCHEDULED.chars));
}

/**
 * The recent sessions of agent programs, in this process. After a restart, a session is found by its memories: the
 * external ids of prompts do not depend on this record, except for a prompt that two programs report in different ways.
 */
export class HookSessions {
  readonly #owners = new LRUCache<string, LRUCache<string, HookSession>>({ max: LIMITS.owners });

  /** Returns a session. Two programs that report a session with the same id have one session, named by the first. */
  open({ namespace, userId }: HookOwner, program: string, session: string): HookSession {
    const owner = JSON.stringify([namespace, userId]);
    const sessions = this.#owners.get(owner) ?? new LRUCache<string, HookSession>({ max: LIMITS.sessions });
    this.#owners.set(owner, sessions);
    const key = digest(session);
    const known = sessions.get(key) ?? new HookSession(createSessionId(program, session));
    sessions.set(key, known);
    return known;
  }
}
