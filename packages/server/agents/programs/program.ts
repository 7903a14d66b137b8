import type { Part } from '../dialects/dialect.ts';
import type { ToolCall } from '../fake-model.ts';

/** Maximum time of the start of an MCP server, if a program waits for the server. For a loaded machine. */
export const START_TIMEOUT_MS = 60_000;

/** The file that the person's own hook creates in the folder of the project. */
export const OWN_HOOK_FILE = 'own-hook-ran';

/** How an agent program reaches an MCP server. */
export type McpServer = { command: string; args: string[] } | { url: string };

export interface Setup {
  /** Address of the model service, without a path. */
  modelUrl: string;
  /** MCP servers by name. */
  servers: Record<string, McpServer>;
  /** Whether the first turn waits for the MCP servers, if the program can be told so. */
  waitsForServers: boolean;
  /** Whether the person has a hook of their own, which creates `OWN_HOOK_FILE` at each prompt. */
  hasOwnHook?: boolean;
}

/** The session of a run: a new one, the last one, or a copy of the last one, if the program can copy sessions. */
export type SessionStart = 'new' | 'continued' | 'forked';

/** An agent program that can run one prompt without a terminal. */
export interface AgentProgram {
  /** Name of its command. */
  command: string;
  /** Its name for `memoryd connect`, in the URL of its hooks, and as the source of memories. */
  name: string;
  /** Settings files, by path in the home folder. They have comments where the program reads files with comments. */
  getFiles(setup: Setup): Record<string, string>;
  getEnvironment(setup: Setup): Record<string, string>;
  /** Arguments that run one prompt and exit: in a new session, in the last one, or in a copy of it. */
  getArguments(prompt: string, setup: Setup, session?: SessionStart): string[];
  /** The name under which the program offers a tool of an MCP server to the model. */
  toOfferedName(server: string, tool: string): string;
  /**
   * Returns the call that loads the definitions of tools. Only for a program that defers tools: it first gives the model
   * their names in a text, and a definition when the model asks for it.
   */
  getLoadingCall?(offeredNames: readonly string[]): ToolCall;
  /** Returns the texts of hooks in a request to the model, found by the form in which the program writes them there. */
  getContexts(parts: readonly Part[]): string[];
  /** Matches lines of the output that differ between runs, or that say that a hook runs or that an MCP server fails. */
  variableLines?: RegExp;
}
