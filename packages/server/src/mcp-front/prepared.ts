/**
 * The answers that do not depend on memories, recorded from the real server when memoryd is built. Results and errors
 * are JSON texts, which are sent as they are.
 */
export interface PreparedResponses {
  /** The options of `memoryd mcp`, and whether each takes a value. */
  options: Record<string, boolean>;
  /** The methods of the protocol. All other methods are unknown. */
  methods: readonly string[];
  /** Every tool, in listing order. */
  tools: readonly PreparedTool[];
  /** Results of `initialize` by the requested revision. */
  initialize: Record<string, string>;
  /** The result of `initialize` for any other revision. */
  initializeOther: string;
  /** Answers in revisions that begin with `initialize`. */
  session: PreparedEra;
  /** Answers in the revision whose requests name their revision. */
  request: PreparedEra;
  /** The revision of `request`. */
  requestRevision: string;
}

/** Answers to the requests of one kind of revision. */
export interface PreparedEra {
  /** The error for an unknown method. */
  unknownMethod: string;
  /** Results by method, with the marks of `MARKS`. */
  results: Record<string, string>;
}

export interface PreparedTool {
  name: string;
  isForModels: boolean;
  /** Whether the tool is offered to a caller who is limited to a user or agent. */
  isScoped: boolean;
  /** The sentence of the instructions about the tool. */
  use: string;
  /** The tool as tools/list shows it. */
  listed: string;
  /** The tool as tools/list shows it with `--structured`. */
  structured: string;
}

/** Marks in results, in place of the parts that depend on the offered tools. */
export const MARKS = { instructions: '{{instructions}}', tools: '{{tools}}' } as const;
