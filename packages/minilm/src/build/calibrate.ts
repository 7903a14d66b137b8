import { InferenceSession } from '@memoryd/onnxruntime';
import { keepUnreported } from '../files.ts';
import { inputsOf } from '../tokens.ts';
import { CALIBRATION_TEXTS } from './calibration-texts.ts';
import { reachOutputs, writeFloatDense } from './dense-float.ts';
import type { Reach, ReachOf } from './dense-int8.ts';
import { MAX_TOKENS, writeEncoder } from './encoder.ts';
import { Graph } from './graph.ts';
import type { Weights } from './safetensors.ts';

/** A text to the ids of its tokens, those at its ends included. */
export type Encode = (text: string) => number[];

/** Runs the model in single precision over some texts, to learn how far each dense layer's inputs reach. */
export async function calibrate(weights: Weights, encode: Encode): Promise<ReachOf> {
  keepUnreported();
  const graph = new Graph();
  writeEncoder([graph], weights, writeFloatDense);
  const session = await InferenceSession.create(graph.encode(), { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const greatest: Record<string, Float32Array> = {};
  for (const text of CALIBRATION_TEXTS) {
    const results = await session.run(inputsOf([encode(text).slice(0, MAX_TOKENS)]));
    for (const [name, { data }] of Object.entries(results)) {
      const values = data as Float32Array;
      greatest[name] = greatest[name]?.map((value, i) => Math.max(value, values[i] as number)) ?? values.slice();
    }
  }
  await session.release();
  return (layer) => {
    const { below, above } = reachOutputs(layer);
    return { below: greatest[below], above: greatest[above] } as Reach;
  };
}
