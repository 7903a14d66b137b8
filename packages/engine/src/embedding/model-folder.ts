import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pooling } from '../engine-defaults.ts';
import { type EmbedderOption, EmbedderUnavailable, type EmbedPurpose } from '../ports/embedder.ts';
import { type Encoding, PLAIN_ENCODING } from './encoding.ts';

/** Prefixes and a pooling that were set by hand; undefined where nothing was. */
export interface GivenEncoding {
  prefixes: Readonly<Record<EmbedPurpose, string | undefined>>;
  pooling: Pooling | undefined;
}

// The files that sentence-transformers saves beside a model.
const MODULES_FILE = 'modules.json';
const PROMPTS_FILE = 'config_sentence_transformers.json';
const POOLING_FOLDER = '1_Pooling';

/** Modules that are run. `Normalize` changes nothing, since every vector is brought to unit length. */
const KNOWN_MODULES = ['Transformer', 'Pooling', 'Normalize'];

/** The names under which `encode_query` and `encode_document` of sentence-transformers look for a prompt, in order. */
const PROMPT_NAMES: Record<EmbedPurpose, readonly string[]> = {
  query: ['query'],
  memory: ['document', 'passage', 'corpus'],
};

const PREFIX_OPTIONS = { query: 'embeddingQueryPrefix', memory: 'embeddingPassagePrefix' } as const;

/** Poolings by their names since sentence-transformers 5.4, and by the flags of earlier versions. */
const POOLING_BY_NAME: ReadonlyMap<unknown, Pooling> = new Map([
  ['mean', 'mean'],
  ['cls', 'cls'],
  ['lasttoken', 'last'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_lasttoken', 'last'],
]);

/**
 * Returns the prefixes and the pooling of a model. Values that were set by hand win over the files in its folder, and
 * `PLAIN_ENCODING` holds where neither says anything.
 *
 * @param folder undefined for a model of the Hugging Face hub, of which no file is read
 * @throws EmbedderUnavailable if a file asks for something else than prefixes and a known pooling
 */
export async function readEncoding(
  folder: string | undefined,
  { prefixes, pooling }: GivenEncoding,
): Promise<Encoding> {
  const read: ReadJson = async (file) => (folder === undefined ? undefined : readJson(folder, file));
  const modules = await readModules(read);
  return {
    prefixes: {
      query: prefixes.query ?? (await readPrompt(read, 'query')),
      memory: prefixes.memory ?? (await readPrompt(read, 'memory')),
    },
    pooling: pooling ?? (await readPooling(read, modules)),
  };
}

type Json = Record<string, unknown>;

/** Reads a file of a model; undefined if there is none. */
type ReadJson = (file: string) => Promise<Json | undefined>;

async function readJson(folder: string, file: string): Promise<Json | undefined> {
  try {
    const json: unknown = JSON.parse(await readFile(join(folder, file), 'utf8'));
    if (typeof json === 'object' && json !== null) return json as Json;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(file, 'cannot be read: download it again', { cause });
  }
  throw unusable(file, 'holds no JSON object: download it again');
}

interface Module {
  /** The last part of its type, such as `Pooling` of `sentence_transformers.models.Pooling`. */
  name: string;
  path: unknown;
}

async function readModules(read: ReadJson): Promise<Module[]> {
  const described = Object.values((await read(MODULES_FILE)) ?? {}) as (Json | null)[];
  const modules = described.map((module) => ({ name: `${module?.type}`.replace(/^.*\./s, ''), path: module?.path }));
  const unknown = modules.find(({ name }) => !KNOWN_MODULES.includes(name));
  if (!unknown) return modules;
  const rule = `names the module ${unknown.name}, and only ${KNOWN_MODULES.join(', ')} can be run`;
  throw unusable(MODULES_FILE, `${rule}: choose another model`);
}

async function readPrompt(read: ReadJson, purpose: EmbedPurpose): Promise<string> {
  const { prompts, default_prompt_name: defaultName } = (await read(PROMPTS_FILE)) ?? {};
  const texts = new Map(Object.entries(prompts ?? {}));
  const name = PROMPT_NAMES[purpose].find((known) => texts.has(known)) ?? defaultName ?? undefined;
  if (name === undefined) return PLAIN_ENCODING.prefixes[purpose];
  const prompt = texts.get(name as string);
  if (typeof prompt === 'string') return prompt;
  const fix = 'correct it, or set the prefix by hand';
  throw unusable(PROMPTS_FILE, `must have a text for the prompt "${name}": ${fix}`, {
    option: PREFIX_OPTIONS[purpose],
  });
}

async function readPooling(read: ReadJson, modules: readonly Module[]): Promise<Pooling> {
  const module = modules.find(({ name }) => name === 'Pooling');
  const file = `${module?.path ?? POOLING_FOLDER}/config.json`;
  const config = await read(file);
  const refused = (rule: string) =>
    unusable(file, `${rule}, or set the pooling by hand`, { option: 'embeddingPooling' });
  if (!config && module) throw refused(`is missing, and ${MODULES_FILE} names it: download it`);
  if (!config) return PLAIN_ENCODING.pooling;
  if (config.include_prompt === false) throw refused('leaves the prefix out of the pooling: choose another model');
  const names = getPoolingNames(config);
  const pooling = names.length === 1 ? POOLING_BY_NAME.get(names[0]) : undefined;
  if (pooling) return pooling;
  const known = 'and must ask for one of mean, cls and last token: choose another model';
  throw refused(`asks for the pooling ${names.join(' + ') || 'of no name'}, ${known}`);
}

function getPoolingNames({ pooling_mode: mode, ...flags }: Json): unknown[] {
  if (mode !== undefined) return [mode].flat();
  return Object.keys(flags).filter((name) => name.startsWith('pooling_mode_') && flags[name] === true);
}

function unusable(
  file: string,
  rule: string,
  { option = 'embedder', cause }: { option?: EmbedderOption; cause?: unknown } = {},
): EmbedderUnavailable {
  return new EmbedderUnavailable(`${file} of the model ${rule}`, { option, cause });
}
