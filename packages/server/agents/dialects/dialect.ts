/** A tool as a program offers it to the model. */
export interface OfferedTool {
  name: string;
  /** The whole definition in the request: name, description and schema. */
  definition: unknown;
}

/** A piece of the conversation in a request, in order. `tool` is the result of a tool call. */
export interface Part {
  role: 'system' | 'user' | 'model' | 'tool';
  text: string;
}

/** The content of a request to a model, in the same form for every API. */
export interface Conversation {
  tools: OfferedTool[];
  parts: Part[];
}

/** The response of a model: a text or a call of one tool. */
export type Turn = { text: string } | { tool: OfferedTool; args: object };

/** An event of a stream. Some APIs name their events. */
export interface StreamEvent {
  name?: string;
  data: object | string;
}

/** The format of an API of models: how requests and responses are written as JSON and as streams. */
export interface Dialect {
  /** Matches the paths at which the API generates a response. */
  path: RegExp;
  read(body: unknown): Conversation;
  /** Returns true if the request asks for a stream. */
  isStream(body: unknown, path: string): boolean;
  /** @param id unique among responses */
  toJson(turn: Turn, id: string, body: unknown): object;
  toStream(turn: Turn, id: string, body: unknown): StreamEvent[];
}
