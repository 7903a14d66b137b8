import type { LanguageModelMiddleware } from 'ai';

type WrapGenerate = NonNullable<LanguageModelMiddleware['wrapGenerate']>;
type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>;
type GenerateResult = Awaited<ReturnType<WrapGenerate>>;
type StreamPart = Awaited<ReturnType<WrapStream>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** Returns the text that a model generated; undefined if the model failed. */
export function getText({ content, finishReason }: GenerateResult): string | undefined {
  if (finishReason.unified === 'error') return undefined;
  return content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim();
}

/** Returns true if the model calls a tool, so that the turn usually has a further step. */
export function hasToolCall(parts: readonly { type: string }[]): boolean {
  return parts.some(({ type }) => type === 'tool-call');
}

/** Collects the text of a streamed response. */
export class TextCollector {
  hasToolCall = false;
  #text = '';
  #isComplete = false;
  #hasFailed = false;

  add(part: StreamPart): void {
    if (part.type === 'text-delta') this.#text += part.delta;
    if (hasToolCall([part])) this.hasToolCall = true;
    // After a chunk that a provider cannot parse, the stream continues and may finish normally, without the lost text.
    if (part.type === 'error') this.#hasFailed = true;
    if (part.type === 'finish') this.#isComplete = part.finishReason.unified !== 'error';
  }

  /** The complete text; undefined if the model failed or the stream was cut off. */
  get text(): string | undefined {
    return this.#isComplete && !this.#hasFailed ? this.#text.trim() : undefined;
  }
}
