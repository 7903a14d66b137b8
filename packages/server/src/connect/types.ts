/** The programs that `memoryd connect` knows, in the order of the help. */
export const PROGRAMS = [
  'claude-code',
  'codex',
  'gemini-cli',
  'antigravity',
  'opencode',
  'cursor',
  'vscode',
  'copilot-cli',
  'claude-desktop',
] as const;
export type ProgramName = (typeof PROGRAMS)[number];

/** The facts about a machine that connect depends on. Tests pass other platforms, environments and folders. */
export interface Machine {
  /** Decides the path rules and the shells of hook commands. */
  platform: NodeJS.Platform;
  env: Readonly<Record<string, string | undefined>>;
  /** The home folder of the user. */
  home: string;
  /** The path of the Node executable that runs hooks. */
  node: string;
  /** The folders of memoryd for this user. */
  folders: { config: string; log: string };
}

export const CAPTURES = ['prompts', 'turns', 'off'] as const;
/** The texts that hooks store: the prompts of the person, also the last answer of each turn, or none. */
export type Capture = (typeof CAPTURES)[number];

/** A service, and the user whose memories programs store and read there. */
export interface Account {
  /** The address of the service, without a slash at the end. */
  url: string;
  user: string;
}

/** The options of a connection, as `connect.json` records them. */
interface ConnectOptions extends Account {
  capture: Capture;
  /** Whether hooks give memories to the program. */
  recall: boolean;
  /** Maximum tokens that a hook gives, from 50 to 20,000. The service has a default for each event. */
  budget?: number;
  /** Whether the service needs a key. The key is in the file `key` of the configuration folder. */
  hasKey: boolean;
}

/** A program that is connected to a service, for the user or for one project. */
export interface Connection extends ConnectOptions {
  program: ProgramName;
  /** The absolute path of the project's folder. Undefined for a connection of the user. */
  project?: string;
}

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A value in a JSON file: a property of an object, or an element of an array. */
export interface JsonEntry {
  /** The keys from the root. Missing objects, and the array of an element, are created. */
  path: readonly string[];
  value: JsonValue;
  /** Appends the value to the array at the path. Without it, the value is the property at the path. */
  isElement?: true;
  /** Keeps an existing value. Without it, an existing property of someone else is a conflict. */
  isDefault?: true;
}

/** The change of one file. `--remove` undoes it. */
export type FileEdit =
  | { kind: 'json'; path: string; entries: readonly JsonEntry[] }
  | { kind: 'toml'; path: string; table: readonly string[]; values: Readonly<Record<string, string>> }
  /** A line at the end of a text file. */
  | { kind: 'line'; path: string; line: string }
  /** A file that memoryd owns, with `OWNED_MARK` in its text. `--remove` deletes it with any later changes. */
  | { kind: 'whole'; path: string; content: string };

/** Marks a file as owned by memoryd, so that connect may replace and delete it. */
export const OWNED_MARK = 'memoryd owns this file';

/** An agent program: how to find it, and what connects it. */
export interface AgentProgram {
  name: ProgramName;
  title: string;
  /** Returns whether the folder or the executable of the program exists. */
  isInstalled(machine: Machine): boolean;
  /** Returns the changes that connect the program. Throws a UsageError if the program has no files for a project. */
  getEdits(connection: Connection, machine: Machine): FileEdit[];
  /** Returns what the person has to do afterwards, one sentence per line. */
  getAdvice(connection: Connection, machine: Machine): string[];
  /** Returns the folder of the program's conversations. Absent if `memoryd import` has no format for them. */
  getConversationFolder?(machine: Machine): string;
}
