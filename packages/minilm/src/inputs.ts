import { Tensor } from '@memoryd/onnxruntime';

/** What a run is given: tokens in columns, one for each text, so that the texts' first tokens come before their second. */
export type RunInputs = Record<'ids' | 'kept', Tensor>;

/** The inputs for some texts, by the ids of their tokens; `kept` is 0 behind the end of all but the longest, else 1. */
export function inputsOf(texts: readonly ArrayLike<number>[]): RunInputs {
  const longest = Math.max(...texts.map((ids) => ids.length));
  const ids = new Int32Array(longest * texts.length);
  const kept = new Float32Array(longest * texts.length);
  for (const [column, text] of texts.entries()) {
    for (let i = 0; i < text.length; i++) {
      ids[i * texts.length + column] = text[i] as number;
      kept[i * texts.length + column] = 1;
    }
  }
  const shape = [longest, texts.length];
  return { ids: new Tensor('int32', ids, shape), kept: new Tensor('float32', kept, shape) };
}
