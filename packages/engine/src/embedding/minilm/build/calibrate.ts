import { InferenceSession, Tensor } from 'onnxruntime-node';
import { keepUnreported } from '../../unreported.ts';
import { CALIBRATION_TEXTS } from './calibration-texts.ts';
import { maximaOf, writeFloatDense } from './dense-float.ts';
import type { Maxima } from './dense-int8.ts';
import { MAX_TOKENS, writeEncoder } from './encoder.ts';
import { Graph } from './graph.ts';
import type { Weights } from './safetensors.ts';

/** A text to the ids of its tokens, those at its ends included. */
export type Encode = (text: string) => number[];

/** Runs the model in single precision over some texts, to learn how large each dense layer's inputs become. */
export async function calibrate(weights: Weights, encode: Encode): Promise<Maxima> {
  keepUnreported();
  const graph = new Graph();
  writeEncoder([graph], weights, writeFloatDense);
  const session = await InferenceSession.create(graph.encode(), { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const largest = new Map<string, Float32Array>();
  for (const text of CALIBRATION_TEXTS) {
    const ids = Int32Array.from(encode(text).slice(0, MAX_TOKENS));
    const results = await session.run({ ids: new Tensor('int32', ids, [ids.length]) });
    for (const [name, { data }] of Object.entries(results)) {
      const values = data as Float32Array;
      const before = largest.get(name);
      largest.set(name, before ? before.map((value, i) => Math.max(value, values[i] as number)) : values.slice());
    }
  }
  await session.release();
  return (layer) => largest.get(maximaOf(layer)) as Float32Array;
}
