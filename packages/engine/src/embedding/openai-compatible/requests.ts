import type { EmbedderOption, EmbedPurpose } from '../../ports/embedder.ts';
import { EmbedderUnavailable } from '../../ports/embedder.ts';
import { type Patience, type Protocol, type RemoteModel, RemoteModelClient } from '../../remote-model/client.ts';
import { RemoteFailure, type RemoteSetting } from '../../remote-model/failure.ts';
import { closedError } from '../lanes.ts';
import { vectorsOfAnswer } from './answer.ts';

type Purpose = EmbedPurpose | 'opening';

/**
 * How long to try: a model that has to be loaded first takes tens of seconds, but whoever recalls would rather have an
 * answer by words. The queue that asks has longer rests of its own.
 */
const PATIENCE: Record<Purpose, Patience> = {
  opening: { attemptMs: 30_000, totalMs: 30_000, retries: 0 },
  query: { attemptMs: 2000, totalMs: 2000, retries: 1 },
  memory: { attemptMs: 30_000, totalMs: 90_000, retries: 3 },
};

const PROTOCOL: Protocol = {
  path: '/embeddings',
  server: 'the embedding server',
  answers: 'embeddings',
  // 16 vectors of 8,192 numbers of 25 characters are 3 MiB.
  largestAnswerBytes: 16 * 1024 * 1024,
};

const OPTIONS: Record<RemoteSetting, EmbedderOption> = {
  url: 'embeddingUrl',
  model: 'embedder',
  apiKey: 'embeddingApiKey',
};

/** The server refuses these inputs, and would take others. */
export class InputsRefused extends Error {
  override readonly name = 'InputsRefused';
  readonly tooLong: boolean;

  constructor({ kind, message, cause }: RemoteFailure) {
    super(message, { cause });
    this.tooLong = kind === 'too long';
  }
}

/** No answer came in time. */
export class AnsweredTooLate extends EmbedderUnavailable {}

/** Requests to one model, each bounded in time and size. */
export class Requests {
  readonly #client: RemoteModelClient;

  /** @throws EmbedderUnavailable for a key that no header can hold */
  constructor(model: RemoteModel) {
    try {
      this.#client = new RemoteModelClient(model, PROTOCOL);
    } catch (error) {
      throw errorOf(error);
    }
  }

  /**
   * One unit vector for each input, in their order.
   *
   * @throws InputsRefused, or EmbedderUnavailable when the server does not answer as it should, or UNAVAILABLE when
   * closed
   */
  async post(inputs: readonly string[], purpose: Purpose): Promise<Float32Array[]> {
    try {
      const answer = await this.#client.post({
        body: { input: inputs, encoding_format: 'float' },
        patience: PATIENCE[purpose],
        // What opening asks with is no secret.
        secret: purpose !== 'opening',
      });
      return vectorsOfAnswer(answer, inputs.length);
    } catch (error) {
      throw errorOf(error);
    }
  }

  /** Gives up what is under way, and takes nothing more. */
  close(): void {
    this.#client.close();
  }
}

function errorOf(error: unknown): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const { kind, message, setting, cause } = error;
  if (kind === 'closed') return closedError();
  if (kind === 'refused' || kind === 'too long') return new InputsRefused(error);
  const Unavailable = kind === 'late' ? AnsweredTooLate : EmbedderUnavailable;
  return new Unavailable(message, { ...(setting && { option: OPTIONS[setting] }), cause });
}
