/** The fields that every event has. */
interface EventFields {
  /** The program's id of its session. */
  session: string;
  /** The folder in which the program works. */
  folder?: string | undefined;
  /** Further folders of the same workspace. */
  otherFolders?: readonly string[];
  /** Whether a sub-agent, not the person, is at work. */
  isByAgent?: boolean;
}

/** A session began, or the program continues it after it lost or restored its own context. */
export interface StartEvent extends EventFields {
  kind: 'start';
  /** Whether the program no longer has what it was given before. */
  reset: boolean;
  /** Whether the program reports the start with each call of the model, so that only the first report counts. */
  isRepeated?: boolean;
}

/** A prompt was sent. */
export interface PromptEvent extends EventFields {
  kind: 'prompt';
  text: string;
  /** Whether the program sent the prompt itself, without a person. */
  isAutomatic?: boolean;
  /** Whether the program reports the prompt with each call of the model, so that only the first report counts. */
  isRepeated?: boolean;
  promptId?: string | undefined;
  /** When the program sent the prompt, in ms since 1970. */
  at?: number | undefined;
}

/** The agent has answered. */
export interface TurnEndEvent extends EventFields {
  kind: 'turn-end';
  answer: string;
  /** The first characters of prompts that the program will send itself. */
  scheduled?: readonly string[];
  /** The id of the answered prompt. */
  promptId?: string | undefined;
}

/** The program shortens its context, so it no longer has what it was given before. */
interface CompactEvent extends EventFields {
  kind: 'compact';
}

export type HookEvent = StartEvent | PromptEvent | TurnEndEvent | CompactEvent;

/** An agent program: the meaning of what it sends to a hook, and the form of what it expects from one. */
export interface Program {
  /** Returns the event of a body; undefined for an event without a use. */
  read(body: Body): HookEvent | undefined;
  /** Returns the response to an event of `read`. `context` is undefined if nothing is given. */
  respond(event: HookEvent, context: string | undefined): object;
  /** Whether the program passes a context to its model with a prompt. Every program does so at a start. */
  takesContextOnPrompt: boolean;
  /** Maximum tokens and UTF-16 units of a context that the program passes on whole. */
  maxTokens?: number;
  maxChars?: number;
}

/** A JSON object that a program sent. */
export type Body = Readonly<Record<string, unknown>>;

/** Returns the first field that is a nonempty string. */
export function getText(body: Body, ...names: string[]): string | undefined {
  for (const name of names) {
    const value = body[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** Returns the items of a field that is an array; none for any other field. */
export function getItems(body: Body, name: string): readonly unknown[] {
  const value = body[name];
  return Array.isArray(value) ? value : [];
}

/** Returns the folders of a workspace in a field; the folder in `cwd` for a workspace without folders. */
export function getWorkspace(body: Body, name: string): Pick<EventFields, 'folder' | 'otherFolders'> {
  const [folder = getText(body, 'cwd'), ...otherFolders] = getItems(body, name).filter(
    (path) => typeof path === 'string' && path !== '',
  ) as string[];
  return { folder, otherFolders };
}

/** Returns the time in a field, as ISO 8601 or in ms since 1970. */
export function getTime(body: Body, name: string): number | undefined {
  const value = body[name];
  const time = typeof value === 'string' ? Date.parse(value) : value;
  return typeof time === 'number' && Number.isFinite(time) ? time : undefined;
}
