import type { MockLanguageModelV4 } from 'ai/test';
import type { SDKS } from './sdks.ts';

type GenerateResult = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;
type Part = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;
type Prompt = MockLanguageModelV4['doGenerateCalls'][number]['prompt'];

const usage: GenerateResult['usage'] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Creates a model result with a usage of one input token and one output token. */
export function createResult(
  content: GenerateResult['content'],
  unified: GenerateResult['finishReason']['unified'] = 'stop',
): GenerateResult {
  return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

export const text = (answer: string) => ({ type: 'text', text: answer }) as const;

export function createToolCall(toolName: string, input: object) {
  return { type: 'tool-call', toolCallId: `call of ${toolName}`, toolName, input: JSON.stringify(input) } as const;
}

/**
 * Creates a model that returns the answers in order, one per call. Streams emit the text of an answer character by
 * character.
 */
export function createModel(
  { ai, MockLanguageModel }: (typeof SDKS)[number],
  ...answers: GenerateResult[]
): MockLanguageModelV4 {
  return new MockLanguageModel({
    doGenerate: answers,
    doStream: answers.map((answer) => ({ stream: ai.simulateReadableStream({ chunks: getParts(answer) }) })),
  });
}

/** Transforms the streams of a model. `transform` receives each part with its index. */
export function transformStreams(
  model: MockLanguageModelV4,
  transform: (part: Part, index: number, out: TransformStreamDefaultController<Part>) => void,
): MockLanguageModelV4 {
  const { doStream } = model;
  model.doStream = async (options) => {
    const { stream } = await doStream(options);
    let index = 0;
    const transformer = new TransformStream<Part, Part>({ transform: (part, out) => transform(part, index++, out) });
    return { stream: stream.pipeThrough(transformer) };
  };
  return model;
}

function getParts({ content, finishReason }: GenerateResult): Part[] {
  const parts = content.flatMap((part, n): Part[] => {
    if (part.type !== 'text') return [part as Part];
    const id = String(n);
    const deltas = [...part.text].map((delta): Part => ({ type: 'text-delta', id, delta }));
    return [{ type: 'text-start', id }, ...deltas, { type: 'text-end', id }];
  });
  return [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
}

/** Returns the texts of each message of a prompt. */
export function getTexts(prompt: Prompt | undefined): string[][] {
  return (prompt ?? []).map(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
}
