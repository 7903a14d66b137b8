import type { MockLanguageModelV4 } from 'ai/test';
import type { SDKS } from './sdks.ts';

type Generated = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;
type Part = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;
type Prompt = MockLanguageModelV4['doGenerateCalls'][number]['prompt'];

const usage: Generated['usage'] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** What a model generates: content, and why it ended. */
export function generated(
  content: Generated['content'],
  unified: Generated['finishReason']['unified'] = 'stop',
): Generated {
  return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

export const text = (answer: string) => ({ type: 'text', text: answer }) as const;

/** A call of a tool. */
export function calling(toolName: string, input: object) {
  return { type: 'tool-call', toolCallId: `call of ${toolName}`, toolName, input: JSON.stringify(input) } as const;
}

/** Creates a model of a major version that gives these answers, one per call; streams give them one character at a time. */
export function createModel(
  { ai, MockLanguageModel }: (typeof SDKS)[number],
  ...answers: Generated[]
): MockLanguageModelV4 {
  return new MockLanguageModel({
    doGenerate: answers,
    doStream: answers.map((answer) => ({ stream: ai.simulateReadableStream({ chunks: getParts(answer) }) })),
  });
}

/** The model, each part of whose streams is passed on by `pass`, which is told its place from 0. */
export function streamedThrough(
  model: MockLanguageModelV4,
  pass: (part: Part, place: number, out: TransformStreamDefaultController<Part>) => void,
): MockLanguageModelV4 {
  const { doStream } = model;
  model.doStream = async (options) => {
    const { stream } = await doStream(options);
    let place = 0;
    const through = new TransformStream<Part, Part>({ transform: (part, out) => pass(part, place++, out) });
    return { stream: stream.pipeThrough(through) };
  };
  return model;
}

function getParts({ content, finishReason }: Generated): Part[] {
  const parts = content.flatMap((part, n): Part[] => {
    if (part.type !== 'text') return [part as Part];
    const id = String(n);
    const deltas = [...part.text].map((delta): Part => ({ type: 'text-delta', id, delta }));
    return [{ type: 'text-start', id }, ...deltas, { type: 'text-end', id }];
  });
  return [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
}

/** Every text of a prompt, message by message. */
export function getTexts(prompt: Prompt | undefined): string[][] {
  return (prompt ?? []).map(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
}
