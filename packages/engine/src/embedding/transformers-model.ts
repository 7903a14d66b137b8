import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { env, type FeatureExtractionPipeline, LogLevel, pipeline } from '@huggingface/transformers';
import { type EmbeddedPart, type Model, type Part, type Turn, takePart } from '@memoryd/minilm/parts';
import type { EmbedPurpose } from '../ports/embedder.ts';
import type { Encoding } from './encoding.ts';

/** Most tokens of a part, whatever the model takes: the time of a run grows with their square. */
const MAX_TOKENS = 512;

/** Minimum of tokens that a text and the marks at its ends may have, beside the prefix. */
const MIN_TOKENS = 32;

/** The names of poolings in @huggingface/transformers. */
const POOLINGS = { mean: 'mean', cls: 'cls', last: 'last_token' } as const;

/** Threads of a run: half the processor, so that recall keeps the rest. */
const RUN_THREADS = Math.max(1, Math.min(4, availableParallelism() >> 1));

/**
 * Loads a model from a folder, given as an absolute path, or by its name on the hub. One text a run.
 *
 * @throws RangeError if the model takes fewer than 32 tokens beside a prefix
 */
export async function loadModels(source: string, encoding: Encoding): Promise<Record<EmbedPurpose, Model>> {
  env.logLevel = LogLevel.ERROR;
  const extract = await pipeline('feature-extraction', source, {
    device: 'cpu',
    dtype: 'fp32',
    local_files_only: isAbsolute(source),
    session_options: { intraOpNumThreads: RUN_THREADS, interOpNumThreads: 1, enableMemPattern: false },
  });
  const pooling = POOLINGS[encoding.pooling];
  const createModel = (prefix: string): Model => {
    const takeFirst = createPartTaker(prefix, extract);
    const embedPart = async (window: string, turn: Turn): Promise<EmbeddedPart> => {
      const { ids, length } = takeFirst(window);
      await turn();
      const { data } = await extract(prefix + window.slice(0, length), { pooling, normalize: true });
      const vector = Float32Array.from(data as Float32Array);
      if (!vector.every(Number.isFinite)) throw new Error('the model has made a vector that is not of numbers');
      // A text of which nothing is known has no tokens: all such texts would otherwise mean the same.
      const known = ids.some((id) => id !== extract.tokenizer.unk_token_id);
      return { vector, length, tokens: known ? ids.length : 0 };
    };
    return async (windows, turn) => {
      const parts: EmbeddedPart[] = [];
      for (const window of windows) parts.push(await embedPart(window, turn));
      return parts;
    };
  };
  return { query: createModel(encoding.prefixes.query), memory: createModel(encoding.prefixes.memory) };
}

/** Returns a function that takes the first part of a window that the model can take behind a prefix. */
function createPartTaker(prefix: string, { tokenizer, model }: FeatureExtractionPipeline): (window: string) => Part {
  const { max_position_embeddings: positions = Number.POSITIVE_INFINITY } = model.config as {
    max_position_embeddings?: number;
  };
  // RoBERTa and its kin have two positions more than they take tokens.
  const maxTokens = Math.min(MAX_TOKENS, tokenizer.model_max_length, positions - 2);
  const [marks, beforeText] = ['', prefix].map((text) => tokenizer.encode(text).length) as [number, number];
  const minTokens = beforeText - marks + MIN_TOKENS;
  if (maxTokens < minTokens) {
    const needs = `the prefix "${prefix}" needs a model of at least ${minTokens} tokens`;
    throw new RangeError(`${needs}, and this one takes ${maxTokens}: shorten the prefix, or choose another model`);
  }
  const tokenize = (text: string) => tokenizer.encode(text, { add_special_tokens: false });
  return (window) => {
    // Some tokenizers split a text otherwise than its prefix and its sentences one by one.
    for (let most = maxTokens - beforeText; ; most >>= 1) {
      const part = takePart(window, tokenize, most);
      if (tokenizer.encode(prefix + window.slice(0, part.length)).length <= maxTokens) return part;
    }
  };
}
