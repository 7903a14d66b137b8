import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** One message of a conversation. Turns are in the order of `corpus.jsonl`. */
export interface Turn {
  id: string;
  text: string;
  session: string | null;
  /** ISO 8601; null if unknown. */
  timestamp: string | null;
  speaker: string | null;
}

/** A question and the turns that answer it. */
export interface Question {
  id: string;
  text: string;
  category: string;
  /** Ids of the turns that answer the question. */
  relevant: string[];
  /** Number of turns, from the first, that had been stored when the question was asked; null for all. */
  at: number | null;
  /** Time of the question, ISO 8601; null for the time of the measurement. */
  askedAt: string | null;
}

/** One independent corpus with its questions. */
export interface Store {
  name: string;
  turns: Turn[];
  questions: Question[];
}

export interface Dataset {
  name: string;
  stores: Store[];
}

const MAX_STORE_DEPTH = 3;

/** Returns the text that is stored for a turn, prefixed with the speaker if known. */
export function getContent(turn: Turn): string {
  return turn.speaker ? `${turn.speaker}: ${turn.text}` : turn.text;
}

/**
 * Creates a function that returns the contents of the turns that answer a question. The set is empty if the corpus
 * contains none of these turns.
 */
export function createRelevanceLookup(store: Store): (question: Question) => Set<string> {
  const contentByTurn = new Map(store.turns.map((turn) => [turn.id, getContent(turn)]));
  return ({ relevant }) => new Set(relevant.flatMap((id) => contentByTurn.get(id) ?? []));
}

/**
 * Reads every store at most three levels below a folder. A folder with a `corpus.jsonl` and a `queries.jsonl` is a
 * store; its parent folder is the data set.
 *
 * @param storesPerSet maximum number of stores to read from each data set, in the order of the store names
 * @throws if the folder contains no store or a line is invalid
 */
export function readDatasets(folder: string, storesPerSet = Number.POSITIVE_INFINITY): Dataset[] {
  const storesBySet = new Map<string, string[]>();
  for (const store of findStores(resolve(folder), MAX_STORE_DEPTH)) {
    const set = dirname(store);
    storesBySet.set(set, [...(storesBySet.get(set) ?? []), store]);
  }
  if (storesBySet.size === 0)
    throw new Error(
      `${folder} must contain a folder with a corpus.jsonl and a queries.jsonl, at most ${MAX_STORE_DEPTH} levels down`,
    );
  return [...storesBySet].map(([set, stores]) => ({
    name: basename(set),
    stores: stores.slice(0, storesPerSet).map(readStore),
  }));
}

function findStores(folder: string, depth: number): string[] {
  if (existsSync(join(folder, 'corpus.jsonl')) && existsSync(join(folder, 'queries.jsonl'))) return [folder];
  if (depth === 0 || !statSync(folder).isDirectory()) return [];
  return readdirSync(folder)
    .sort()
    .flatMap((name) => findStores(join(folder, name), depth - 1));
}

function readStore(folder: string): Store {
  return {
    name: basename(folder),
    turns: readLines(join(folder, 'corpus.jsonl'), (line) => ({
      id: line.string('id'),
      text: line.string('text'),
      session: line.optionalString('session'),
      timestamp: line.optionalString('timestamp'),
      speaker: line.optionalString('speaker'),
    })),
    questions: readLines(join(folder, 'queries.jsonl'), (line) => ({
      id: line.string('id'),
      text: line.string('text'),
      category: line.string('category'),
      relevant: line.strings('relevant'),
      at: line.optionalCount('at'),
      askedAt: line.optionalString('asked_at'),
    })),
  };
}

interface Line {
  string(field: string): string;
  /** Returns null if the field is null or missing. */
  optionalString(field: string): string | null;
  /** Returns null if the field is null or missing. */
  optionalCount(field: string): number | null;
  strings(field: string): string[];
}

function readLines<T>(path: string, parse: (line: Line) => T): T[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((text, index) => (text.trim() === '' ? [] : [parse(getLine(text, `${path}:${index + 1}`))]));
}

function getLine(text: string, location: string): Line {
  const fields = parseObject(text, location);
  const fail = (field: string, rule: string): never => {
    throw new Error(`${location}: ${field} must be ${rule}`);
  };
  const isString = (value: unknown): value is string => typeof value === 'string';
  return {
    string(field) {
      const value = fields[field];
      return isString(value) ? value : fail(field, 'a string');
    },
    optionalString(field) {
      const value = fields[field] ?? null;
      return value === null || isString(value) ? value : fail(field, 'a string, null or missing');
    },
    optionalCount(field) {
      const value = fields[field] ?? null;
      const isCount = Number.isSafeInteger(value) && (value as number) >= 0;
      return value === null || isCount ? (value as number | null) : fail(field, 'a whole number, null or missing');
    },
    strings(field) {
      const value = fields[field];
      return Array.isArray(value) && value.every(isString) ? value : fail(field, 'an array of strings');
    },
  };
}

function parseObject(text: string, location: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    throw new Error(`${location} must be JSON: ${(error as Error).message}`, { cause: error });
  }
  throw new Error(`${location} must be a JSON object`);
}
