import { disableTelemetry } from '@memoryd/minilm/files';
import { getInputs } from '@memoryd/minilm/tokens';
import { InferenceSession } from '@memoryd/onnxruntime';
import type { GetInputRange, InputRange } from './dense-int8.ts';
import { type DenseLayer, MAX_TOKENS, transpose, type WriteDense, writeEncoder } from './encoder.ts';
import { Graph, type TensorName } from './graph.ts';
import type { Weights } from './safetensors.ts';

/** Texts of many kinds, for measuring the range of the model's activations. */
const CALIBRATION_TEXTS: readonly string[] = [
  'ok',
  'Yes.',
  'No!',
  '7',
  '?',
  'Hi there',
  'Thanks a lot!',
  'Sure, why not.',
  'Hmm, let me think.',
  'lol see you tmrw 😀😀',
  'Good morning! Did you sleep well?',
  'What is the capital of Portugal?',
  'When did we last talk about the garden fence?',
  'who broke the build',
  'How many eggs do I need for the sponge cake?',
  'I moved to a flat above a bakery last spring, and the smell of bread wakes me at five.',
  'My sister is allergic to shellfish, peanuts and penicillin.',
  'Their dog is called Biscuit; the cat, for reasons nobody remembers, is called Dog.',
  'She prefers tea to coffee, without sugar, usually at four in the afternoon.',
  'The meeting of 14 March 2024 at 10:30 was moved to room 4B because of the repairs.',
  'Invoice 2023-0417: 3 x 49.90 EUR, 19 % VAT, due in 30 days.',
  'Call +44 20 7946 0958 between 9 and 5, extension 12.',
  'user: can you remind me to water the ferns?\nassistant: Of course. On which days?\nuser: tuesdays and fridays',
  'Turnover rose by 12.5 % to 3.4 million, driven by subscriptions in Asia.',
  'Water boils at 100 degrees Celsius at sea level and at about 71 on top of the highest mountain.',
  'Photosynthesis turns light into chemical energy that is kept in sugar molecules.',
  'In 1687 a book on the mathematical principles of natural philosophy set out three laws of motion.',
  'def mean(values):\n    return sum(values) / len(values) if values else 0.0',
  'const total = items.filter((item) => !item.hidden).reduce((sum, { price }) => sum + price, 0);',
  'SELECT name, COUNT(*) FROM visits WHERE at > now() - interval 7 day GROUP BY name ORDER BY 2 DESC;',
  'TypeError: Cannot read properties of undefined (reading "length") at parse (lexer.js:88:21)',
  'Error: connect ECONNREFUSED 127.0.0.1:5432',
  'kubectl rollout restart deployment/web && kubectl get pods -w',
  '{"name": "sensor-12", "readings": [21.4, 21.6, 22.0], "ok": true}',
  'git commit -m "Fix off-by-one in pager"',
  'https://example.org/articles/2021/how-to-sharpen-a-plane?ref=feed#comments',
  '3f9a1c77e0b24d5f8a6690cc1b2e4d7a',
  'aaaaaaaaaaaaaaaaaaaaaaaa',
  '!!! ??? ... --- ***',
  'ACHTUNG: THE SERVER WILL BE DOWN ON SUNDAY FROM 02:00 TO 04:00.',
  'Ich habe gestern mit meiner Tante telefoniert, sie kommt am Freitag mit dem Zug.',
  'Le train de nuit pour Nice part à vingt-deux heures, voie sept.',
  'Mañana tenemos que comprar pan, leche y un regalo para Lucía.',
  'Ho dimenticato le chiavi sul tavolo della cucina.',
  'O ônibus atrasou e cheguei molhado ao trabalho.',
  'Jutro idziemy na grzyby, weź kosz i nóż.',
  'Привет! Завтра встречаемся в шесть у фонтана.',
  'Το πλοίο φεύγει στις οκτώ το πρωί.',
  'שלום, מתי מתחיל השיעור?',
  'متى يفتح المتحف يوم الجمعة؟',
  'कल सुबह बारिश होगी, छाता ले आना।',
  '今日は天気がいいので、川沿いを散歩しました。',
  '我明天下午三点去图书馆还书。',
  '내일 저녁에 같이 밥 먹을래요?',
  'วันนี้อากาศดีมาก',
  '🎉',
  '🚲➡️🏖️ this weekend?',
  'The old lighthouse keeper had counted ships for forty years. He wrote each of them into a ledger: the day, the ' +
    'weather, the flag, and whether she had sounded her horn. When the light was made automatic he kept counting, ' +
    'since nobody had told him to stop, and the ledgers filled a second shelf and then a third. His grandson found ' +
    'them in a dry box and could tell from them when the herring had come each spring.',
  'To repair a slow puncture, take the wheel off, press the tyre away from the rim with two levers, and pull the ' +
    'tube out. Pump it up and hold it near your lips: the leak feels cold. Roughen the place with sandpaper, spread ' +
    'glue thinly, wait five minutes until it is dry to the touch, and press the patch on from its middle outward. ' +
    'Look inside the tyre for the thorn before you put everything back, or you will do it all again tomorrow.',
  'Minutes. Present: four of five. The treasurer reports 2,310 in the account after the roof was paid. It is agreed ' +
    'to ask two firms for offers on the windows. The summer party will be on the second Saturday in July; Omar ' +
    'brings tables, Ines asks the band. Next meeting: first Tuesday of May, half past seven, same place.',
];

/** Returns the names of the outputs with the `InputRange` of a dense layer. */
function getRangeOutputs({ name }: DenseLayer): { below: TensorName; above: TensorName } {
  return { below: `${name}.below`, above: `${name}.above` };
}

/** Writes dense layers in single precision, with outputs for the range of their common input. */
const writeFloatDense: WriteDense = (graph, input, layers) => {
  const first = layers[0] as DenseLayer;
  const { below, above } = getRangeOutputs(first);
  graph.output(below, writeMaximum(graph, graph.add('Neg', [input])), [first.inputs]);
  graph.output(above, writeMaximum(graph, input), [first.inputs]);
  return layers.map((layer) => writeLayer(graph, input, layer));
};

function writeMaximum(graph: Graph, input: TensorName): TensorName {
  return graph.add('ReduceMax', [input], { axes: [0], keepdims: 0 });
}

function writeLayer(graph: Graph, input: TensorName, { name, inputs, outputs, weight, bias }: DenseLayer): TensorName {
  const weights = graph.constant(`${name}.weight`, [inputs, outputs], transpose(weight, inputs));
  return graph.add('Add', [graph.add('MatMul', [input, weights]), graph.constant(`${name}.bias`, [outputs], bias)]);
}

/** Returns the ids of a text's tokens, including the markers at both ends. */
type Encode = (text: string) => number[];

/**
 * Measures the range of each dense layer's input by running the model in single precision over the calibration texts.
 */
export async function calibrate(weights: Weights, encode: Encode): Promise<GetInputRange> {
  disableTelemetry();
  const graph = new Graph();
  writeEncoder([graph], weights, writeFloatDense);
  const session = await InferenceSession.create(graph.encode(), { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const maxima: Record<string, Float32Array> = {};
  for (const text of CALIBRATION_TEXTS) {
    const results = await session.run(getInputs([encode(text).slice(0, MAX_TOKENS)]));
    for (const [name, { data }] of Object.entries(results)) {
      const values = data as Float32Array;
      maxima[name] = maxima[name]?.map((value, i) => Math.max(value, values[i] as number)) ?? values.slice();
    }
  }
  await session.release();
  return (layer) => {
    const { below, above } = getRangeOutputs(layer);
    return { below: maxima[below], above: maxima[above] } as InputRange;
  };
}
