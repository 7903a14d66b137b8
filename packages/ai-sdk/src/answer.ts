import type { LanguageModelMiddleware } from 'ai';

type WrapGenerate = NonNullable<LanguageModelMiddleware['wrapGenerate']>;
type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>;
type Generated = Awaited<ReturnType<WrapGenerate>>;
type StreamPart = Awaited<ReturnType<WrapStream>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** The text that a model generated; undefined where it failed. */
export function getText({ content, finishReason }: Generated): string | undefined {
  if (finishReason.unified === 'error') return undefined;
  return content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim();
}

/** Gathers the text that a model streams. */
export class StreamedText {
  #text = '';
  #isWhole = false;
  #failed = false;

  take(part: StreamPart): void {
    if (part.type === 'text-delta') this.#text += part.delta;
    // Providers go on after a piece that they could not read, and may then end as if nothing were missing.
    if (part.type === 'error') this.#failed = true;
    if (part.type === 'finish') this.#isWhole = part.finishReason.unified !== 'error';
  }

  /** Undefined where the model failed, or the stream broke off. */
  get text(): string | undefined {
    return this.#isWhole && !this.#failed ? this.#text.trim() : undefined;
  }
}
