import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EmbedderOption, EmbedderUnavailable, type EmbedPurpose } from '@memoryd/core/models';
import type { Pooling } from '../engine-defaults.ts';
import { type Encoding, PLAIN_ENCODING } from './encoding.ts';

/** Configured prefixes and pooling. Values that are not configured are undefined. */
export interface ConfiguredEncoding {
  prefixes: Readonly<Record<EmbedPurpose, string | undefined>>;
  pooling: Pooling | undefined;
}

// Files that sentence-transformers saves in the folder of a model.
const MODULES_FILE = 'modules.json';
const PROMPTS_FILE = 'config_sentence_transformers.json';
const POOLING_FOLDER = '1_Pooling';

/** Supported modules. `Normalize` has no effect, because all vectors are normalized. */
const KNOWN_MODULES = ['Transformer', 'Pooling', 'Normalize'];

/** Prompt names in the order in which `encode_query` and `encode_document` of sentence-transformers try them. */
const PROMPT_NAMES: Record<EmbedPurpose, readonly string[]> = {
  query: ['query'],
  memory: ['document', 'passage', 'corpus'],
};

const PREFIX_OPTIONS = { query: 'embeddingQueryPrefix', memory: 'embeddingPassagePrefix' } as const;

/** Poolings by their names since sentence-transformers 5.4 and by their flags in earlier versions. */
const POOLING_BY_NAME: ReadonlyMap<unknown, Pooling> = new Map([
  ['mean', 'mean'],
  ['cls', 'cls'],
  ['lasttoken', 'last'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_lasttoken', 'last'],
]);

/**
 * Returns the prefixes and the pooling of a model. Configured values take precedence over the files in the model's
 * folder. The default is `PLAIN_ENCODING`.
 *
 * @param folder undefined for a model of the Hugging Face hub, whose files are not read
 * @throws EmbedderUnavailable if a file is malformed, or requires an unsupported pooling or module
 */
export async function readEncoding(
  folder: string | undefined,
  { prefixes, pooling }: ConfiguredEncoding,
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

/** Reads a JSON file of a model. Returns undefined if the file is missing. */
type ReadJson = (file: string) => Promise<Json | undefined>;

async function readJson(folder: string, file: string): Promise<Json | undefined> {
  try {
    const json: unknown = JSON.parse(await readFile(join(folder, file), 'utf8'));
    if (typeof json === 'object' && json !== null) return json as Json;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(
      file,
      `${cause instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read'}: download it again`,
      { cause },
    );
  }
  throw unusable(file, 'is not a JSON object: download it again');
}

interface Module {
  /** The last part of the module's type, such as `Pooling` of `sentence_transformers.models.Pooling`. */
  name: string;
  path: unknown;
}

async function readModules(read: ReadJson): Promise<Module[]> {
  const described = Object.values((await read(MODULES_FILE)) ?? {}) as (Json | null)[];
  const modules = described.map((module) => ({ name: `${module?.type}`.replace(/^.*\./s, ''), path: module?.path }));
  const unknown = modules.find(({ name }) => !KNOWN_MODULES.includes(name));
  if (!unknown) return modules;
  const rule = `has the module ${unknown.name}, but only ${KNOWN_MODULES.join(', ')} are supported`;
  throw unusable(MODULES_FILE, `${rule}: choose another model`);
}

async function readPrompt(read: ReadJson, purpose: EmbedPurpose): Promise<string> {
  const { prompts, default_prompt_name: defaultName } = (await read(PROMPTS_FILE)) ?? {};
  const texts = new Map(Object.entries(prompts ?? {}));
  const name = PROMPT_NAMES[purpose].find((known) => texts.has(known)) ?? defaultName ?? undefined;
  if (name === undefined) return PLAIN_ENCODING.prefixes[purpose];
  const prompt = texts.get(name as string);
  if (typeof prompt === 'string') return prompt;
  const fix = 'correct it, or configure the prefix';
  throw unusable(PROMPTS_FILE, `must have a text for the prompt "${name}": ${fix}`, {
    option: PREFIX_OPTIONS[purpose],
  });
}

async function readPooling(read: ReadJson, modules: readonly Module[]): Promise<Pooling> {
  const module = modules.find(({ name }) => name === 'Pooling');
  const file = `${module?.path ?? POOLING_FOLDER}/config.json`;
  const config = await read(file);
  const rejected = (rule: string) =>
    unusable(file, `${rule}, or configure the pooling`, { option: 'embeddingPooling' });
  if (!config && module) throw rejected(`is missing, although ${MODULES_FILE} names it: download it`);
  if (!config) return PLAIN_ENCODING.pooling;
  if (config.include_prompt === false)
    throw rejected('excludes the prefix from the pooling, which is not supported: choose another model');
  const names = getPoolingNames(config);
  const pooling = names.length === 1 ? POOLING_BY_NAME.get(names[0]) : undefined;
  if (pooling) return pooling;
  const problem = names.length > 0 ? `has the unsupported pooling ${names.join(' + ')}` : 'has no pooling';
  throw rejected(`${problem}, and must have one of mean, cls and last token: choose another model`);
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
