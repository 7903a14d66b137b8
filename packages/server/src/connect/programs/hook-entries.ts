import type { Connection, JsonEntry, JsonValue } from '../types.ts';

/** The environment variable with the API key, named in files that must not contain the key. */
export const KEY_VARIABLE = 'MEMORYD_API_KEY';

/** Maximum time of a hook in seconds, for the program. The hook's file has a shorter deadline of its own. */
export const HOOK_TIMEOUT_SECONDS = 5;

/**
 * Maximum time of a request to the MCP server in ms, for programs that wait for the server before they answer. Without
 * it, a service that accepts connections and never responds holds Gemini CLI for ten minutes (measured).
 */
export const MCP_TIMEOUT_MS = 5000;

/** The names of a program's events by what memoryd does at them. A program may lack some. */
export interface EventNames {
  /** Gives the newest memories, and sends the project. */
  start?: string;
  /** Stores the prompt, and gives memories about it. */
  prompt?: string;
  /** Stores the last answer. */
  end?: string;
  /** Makes the service give memories again, because the program drops its context. */
  compaction?: string;
}

/** Returns the events that a connection needs. */
export function getEvents({ capture, recall }: Connection, names: EventNames): string[] {
  const isUsed = capture !== 'off' || recall;
  return [
    isUsed && names.start,
    isUsed && names.prompt,
    capture === 'turns' && names.end,
    recall && names.compaction,
  ].filter((name) => typeof name === 'string');
}

/** Returns entries that add one handler to the list of each event, in groups as Claude Code has them. */
export function toGroupEntries(events: readonly string[], handler: JsonValue): JsonEntry[] {
  return events.map((event) => ({ path: ['hooks', event], value: { hooks: [handler] }, isElement: true }));
}

/** Returns entries that add one handler to the list of each event, without groups. */
export function toFlatEntries(events: readonly string[], handler: JsonValue): JsonEntry[] {
  return events.map((event) => ({ path: ['hooks', event], value: handler, isElement: true }));
}

/** Returns the property with an `Authorization` header for a service that needs a key, else no property. */
export function getHeaders({ hasKey }: Connection, key: string): { headers?: { Authorization: string } } {
  return hasKey ? { headers: { Authorization: `Bearer ${key}` } } : {};
}

/** Returns the sentence that says how the program gets the key; nothing for a service without keys. */
export function getKeyAdvice({ hasKey }: Connection, keyFile: string): string[] {
  if (!hasKey) return [];
  return [`Set ${KEY_VARIABLE} to the key in ${keyFile} where the program starts, so that its MCP tools get access.`];
}
