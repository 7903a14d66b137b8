import type { HttpClient } from '../http-client.ts';

/** Whose prompt it is, and the project in which it was typed. */
export interface Owner {
  user: string;
  /** Last part of the project's address, such as `garden`. */
  project: string;
}

export interface Prompt extends Owner {
  sessionId: string;
  text: string;
  /** Without an id, the service recognises a prompt by its session, text and minute. */
  promptId?: string;
  /** Absolute path of the project's folder; invented if absent. The service does not open it. */
  folder?: string;
}

/** Options of the service in the URL of a hook, such as `capture`. */
export type HookParameters = Record<string, string>;

/** Maximum `deadline_ms`, so that no context is missing because the machine is busy. */
export const LONG_DEADLINE: HookParameters = { deadline_ms: '10000' };

/**
 * Returns the address of a project as the file of the hooks sends it. Users work on the same projects, so that a project
 * alone does not keep their memories apart.
 */
export function toProjectAddress({ project }: Owner): string {
  return `github.com/team/${project}`;
}

/** Returns the labels that a hook gives to the memories of a project. */
export function toProjectLabels(owner: Owner): { tags: string[]; metadata: { project: string } } {
  return { tags: [`project:${owner.project}`], metadata: { project: toProjectAddress(owner) } };
}

export function toHookPath(program: string, { user }: Owner, parameters: HookParameters): string {
  return `/hooks/${program}?${new URLSearchParams({ user_id: user, ...parameters })}`;
}

/** Returns what Claude Code gives to a hook for a prompt. */
export function toClaudeCodeBody({ sessionId, text, promptId, ...place }: Prompt) {
  const cwd = toFolder(place);
  return {
    session_id: sessionId,
    transcript_path: `${cwd}/${sessionId}.jsonl`,
    cwd,
    ...(promptId !== undefined && { prompt_id: promptId }),
    permission_mode: 'default',
    hook_event_name: 'UserPromptSubmit',
    prompt: text,
  };
}

function toFolder({ user, project, folder }: Pick<Prompt, keyof Owner | 'folder'>): string {
  return folder ?? `/home/${user}/${project}`;
}

/** Returns what VS Code gives to a hook for a prompt. */
function toVsCodeBody({ sessionId, text, ...place }: Prompt) {
  const cwd = toFolder(place);
  return { timestamp: new Date().toISOString(), cwd, sessionId, hookEventName: 'UserPromptSubmit', prompt: text };
}

const BODIES = { 'claude-code': toClaudeCodeBody, vscode: toVsCodeBody };

/** Reports a prompt to the service as the hook of a program does. Returns the given context; empty without a context. */
export async function reportPrompt(
  client: HttpClient,
  prompt: Prompt,
  { program = 'claude-code', ...parameters }: HookParameters & { program?: keyof typeof BODIES } = {},
): Promise<string> {
  const headers = { 'x-memoryd-project': encodeURIComponent(toProjectAddress(prompt)) };
  const path = toHookPath(program, prompt, { ...LONG_DEADLINE, ...parameters });
  return getContext(await client.post(path, BODIES[program](prompt), headers));
}

/** Returns the context in the response to a hook; empty without a context. */
export function getContext(response: unknown): string {
  const { hookSpecificOutput } = response as { hookSpecificOutput?: { additionalContext?: string } };
  return hookSpecificOutput?.additionalContext ?? '';
}
