import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { env, LogLevel, pipeline } from '@huggingface/transformers';
import { type EmbeddedPart, type Model, type Part, type Turn, takePart } from '@memoryd/minilm/parts';

/** Most tokens of a part, whatever the model takes: the time of a run grows with their square. */
const MAX_TOKENS = 512;

/** Fewer tokens than this are no window that texts can be cut to. */
const LEAST_TOKENS = 32;

/** Threads of a run: half the processor, so that recall keeps the rest. */
const RUN_THREADS = Math.max(1, Math.min(4, availableParallelism() >> 1));

/** Loads a model from a folder, given as an absolute path, or by its name on the hub. One text a run. */
export async function loadModel(source: string): Promise<Model> {
  env.logLevel = LogLevel.ERROR;
  const extract = await pipeline('feature-extraction', source, {
    device: 'cpu',
    dtype: 'fp32',
    local_files_only: isAbsolute(source),
    session_options: { intraOpNumThreads: RUN_THREADS, interOpNumThreads: 1, enableMemPattern: false },
  });
  const { tokenizer, model } = extract;
  const { max_position_embeddings: positions = Number.POSITIVE_INFINITY } = model.config as {
    max_position_embeddings?: number;
  };
  // RoBERTa and its kin have two positions more than they take tokens.
  const mostTokens = Math.min(MAX_TOKENS, tokenizer.model_max_length, positions - 2);
  if (mostTokens < LEAST_TOKENS) throw new RangeError(`a model of ${mostTokens} tokens is too small`);

  const tokenize = (text: string) => tokenizer.encode(text, { add_special_tokens: false });
  const marks = tokenizer.encode('').length;
  /** The first part whose tokens, the marks at its ends included, the model takes: some tokenise otherwise as a whole. */
  const takeFitting = (window: string): Part => {
    for (let most = mostTokens - marks; ; most >>= 1) {
      const part = takePart(window, tokenize, most);
      if (tokenizer.encode(window.slice(0, part.length)).length <= mostTokens) return part;
    }
  };
  const embedPart = async (window: string, turn: Turn): Promise<EmbeddedPart> => {
    const { ids, length } = takeFitting(window);
    await turn();
    const { data } = await extract(window.slice(0, length), { pooling: 'mean', normalize: true });
    const vector = Float32Array.from(data as Float32Array);
    if (!vector.every(Number.isFinite)) throw new Error('the model has made a vector that is not of numbers');
    // A text of which nothing is known has no tokens: all such texts would otherwise mean the same.
    const known = ids.some((id) => id !== tokenizer.unk_token_id);
    return { vector, length, tokens: known ? ids.length : 0 };
  };
  return async (windows, turn) => {
    const parts: EmbeddedPart[] = [];
    for (const window of windows) parts.push(await embedPart(window, turn));
    return parts;
  };
}
