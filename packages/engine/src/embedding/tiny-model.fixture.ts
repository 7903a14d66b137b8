import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Graph } from '@memoryd/minilm-build/graph';

const DIMENSIONS = 64;
const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];

/** Words in the model's vocabulary; other words are split into letters. */
const WORDS =
  'the boat sails at dawn when does depart he is allergic to walnuts entry of harbour log says that it rained';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789.,?!()=+>;明日は雨が降るそうです。'];

const TOKENS = [...SPECIAL, ...new Set([...WORDS.split(' '), ...LETTERS, ...LETTERS.map((letter) => `##${letter}`)])];

/** The model's maximum tokens, including the markers at both ends. */
export const TINY_MODEL_TOKENS = 320;

/**
 * Writes a tiny model in the format of a BERT on the Hugging Face hub: a WordPiece tokenizer, a configuration and an
 * ONNX graph from token ids to hidden states, which are random word vectors. Texts are similar if they share words.
 *
 * @param seed determines the weights
 */
export async function writeTinyModel(folder: string, seed = 1): Promise<void> {
  await mkdir(join(folder, 'onnx'), { recursive: true });
  await writeFile(join(folder, 'onnx', 'model.onnx'), buildGraph(seed));
  await writeJson(folder, 'tokenizer.json', buildTokenizer());
  await writeJson(folder, 'tokenizer_config.json', {
    tokenizer_class: 'BertTokenizer',
    model_max_length: TINY_MODEL_TOKENS,
    do_lower_case: true,
    unk_token: '[UNK]',
    cls_token: '[CLS]',
    sep_token: '[SEP]',
    pad_token: '[PAD]',
  });
  await writeJson(folder, 'config.json', {
    model_type: 'bert',
    architectures: ['BertModel'],
    hidden_size: DIMENSIONS,
    max_position_embeddings: 512,
    vocab_size: TOKENS.length,
  });
}

/** The files that sentence-transformers saves with a model, by name; omitted if undefined. */
export interface ModelConfig {
  'modules.json'?: unknown;
  'config_sentence_transformers.json'?: unknown;
  '1_Pooling/config.json'?: unknown;
}

/** Writes configuration files into a model's folder. */
export async function writeModelConfig(folder: string, files: ModelConfig): Promise<void> {
  await mkdir(join(folder, '1_Pooling'), { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), JSON.stringify(content));
}

/** Returns the model's state of a token, which does not depend on its position. */
export function getTokenState(token: string, seed = 1): Float32Array {
  const start = TOKENS.indexOf(token) * DIMENSIONS;
  return randomNumbers(TOKENS.length * DIMENSIONS, seed).slice(start, start + DIMENSIONS);
}

function buildGraph(seed: number): Uint8Array {
  const graph = new Graph();
  const ids = graph.input('input_ids', 'int64', ['batch', 'sequence']);
  graph.input('attention_mask', 'int64', ['batch', 'sequence']);
  graph.input('token_type_ids', 'int64', ['batch', 'sequence']);
  const table = graph.constant('words', [TOKENS.length, DIMENSIONS], randomNumbers(TOKENS.length * DIMENSIONS, seed));
  graph.output('last_hidden_state', graph.add('Gather', [table, ids]), ['batch', 'sequence', DIMENSIONS]);
  return graph.encode();
}

/** Returns uniform random numbers from -.5 to .5 (mulberry32). */
function randomNumbers(count: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32 - 0.5;
  });
}

function buildTokenizer(): object {
  const special = (content: string) => ({
    id: SPECIAL.indexOf(content),
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  const piece = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const text = { Sequence: { id: 'A', type_id: 0 } };
  const mark = (id: string) => ({ id, ids: [SPECIAL.indexOf(id)], tokens: [id] });
  return {
    version: '1.0',
    added_tokens: SPECIAL.map(special),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [piece('[CLS]'), text, piece('[SEP]')],
      pair: [piece('[CLS]'), text, piece('[SEP]')],
      special_tokens: { '[CLS]': mark('[CLS]'), '[SEP]': mark('[SEP]') },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(TOKENS.map((token, id) => [token, id])),
    },
  };
}

async function writeJson(folder: string, name: string, content: object): Promise<void> {
  await writeFile(join(folder, name), JSON.stringify(content));
}
