import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { env, type FeatureExtractionPipeline, LogLevel, pipeline } from '@huggingface/transformers';
import type { EmbedPurpose } from '@memoryd/core/models';
import { type EmbeddedPart, type Model, type Part, type Turn, takePart } from '@memoryd/minilm/parts';
import type { Encoding } from './encoding.ts';

/** Maximum tokens of a part for any model. The time of a run grows with the square of the tokens. */
const MAX_TOKENS = 512;

/** Minimum tokens that must remain after the prefix, for a text and its end markers. */
const MIN_TOKENS = 32;

/** Pooling names of @huggingface/transformers. */
const POOLINGS = { mean: 'mean', cls: 'cls', last: 'last_token' } as const;

/** Threads of a run: half of the cores, from 1 to 4. The other cores are left to recall. */
const RUN_THREADS = Math.max(1, Math.min(4, availableParallelism() >> 1));

/**
 * Loads a model from a folder, given as an absolute path, or by its name on the Hugging Face hub. The model embeds one
 * text per run.
 *
 * @throws RangeError if the model supports fewer than 32 tokens in addition to a prefix
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
      if (!vector.every(Number.isFinite))
        throw new Error('the model returned a vector with values that are not finite numbers; choose another model');
      // A text of unknown tokens is treated as empty. Otherwise, all such texts would get the same vector.
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

/** Returns a function that takes the first part of a window. The prefix and the part together fit into the model. */
function createPartTaker(prefix: string, { tokenizer, model }: FeatureExtractionPipeline): (window: string) => Part {
  const { max_position_embeddings: positions = Number.POSITIVE_INFINITY } = model.config as {
    max_position_embeddings?: number;
  };
  // RoBERTa and related models have two more positions than tokens.
  const maxTokens = Math.min(MAX_TOKENS, tokenizer.model_max_length, positions - 2);
  const [marks, withPrefix] = ['', prefix].map((text) => tokenizer.encode(text).length) as [number, number];
  const minTokens = withPrefix - marks + MIN_TOKENS;
  if (maxTokens < minTokens) {
    const needs = `the prefix "${prefix}" needs inputs of at least ${minTokens} tokens`;
    const limit = `the maximum for this model is ${maxTokens}`;
    throw new RangeError(`${needs}, but ${limit}: shorten the prefix or choose another model`);
  }
  const tokenize = (text: string) => tokenizer.encode(text, { add_special_tokens: false });
  return (window) => {
    // Some tokenizers split a text with a prefix differently than the prefix and the sentences separately, so the
    // tokens of the whole input are counted.
    for (let limit = maxTokens - withPrefix; ; limit >>= 1) {
      const part = takePart(window, tokenize, limit);
      if (tokenizer.encode(prefix + window.slice(0, part.length)).length <= maxTokens) return part;
    }
  };
}
