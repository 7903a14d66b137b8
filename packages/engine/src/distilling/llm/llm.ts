import { type DistilGroup, type Distiller, type DistillerOption, DistillerUnavailable } from '../../ports/distiller.ts';
import { type Patience, type Protocol, type RemoteModel, RemoteModelClient } from '../../remote-model/client.ts';
import { type FailureKind, RemoteFailure, type RemoteSetting } from '../../remote-model/failure.ts';
import { distilledOf } from './answer.ts';
import { messagesFor } from './prompt.ts';

/** A model on a processor writes some words a second; nobody waits for a consolidation. */
const PATIENCE: Patience = { attemptMs: 120_000, totalMs: 180_000, retries: 2 };

const PROTOCOL: Protocol = {
  path: '/chat/completions',
  server: 'the language model',
  answers: 'chat completions',
  // The text is at most some kilobytes; a model that reasons may send much more beside it.
  largestAnswerBytes: 1024 * 1024,
};

/**
 * Most UTF-16 units of a request's messages: about 6,000 tokens of English, 24,000 of Chinese. A larger group is not
 * sent at all, since a part of it would be distilled as if it were the whole.
 */
const MOST_REQUEST_CHARS = 24_000;

const OPTIONS: Record<RemoteSetting, DistillerOption> = { url: 'llmUrl', model: 'llmModel', apiKey: 'llmApiKey' };

/** What goes wrong because of one group's texts. */
const FOR_ONE_GROUP: ReadonlySet<FailureKind> = new Set<FailureKind>(['refused', 'too long', 'unusable']);

/**
 * A distiller that asks a model behind the OpenAI chat protocol for the facts of a group, each with the ids of its
 * sources. Memories go as data in JSON, and of the answer only that counts which the group bears out (`answer.ts`).
 *
 * A request names the model and its messages and nothing else, because servers differ in which further parameters
 * (temperature, form of the answer, length) they refuse.
 *
 * @throws DistillerUnavailable for a key that no header can hold
 */
export function llmDistiller(model: RemoteModel, patience: Patience = PATIENCE): Distiller {
  const client = clientOf(model);
  return {
    name: model.model,
    async distil(group, signal) {
      signal.throwIfAborted();
      try {
        const answer = await client.post({ body: bodyOf(group), patience, secret: true, signal });
        return distilledOf(answer, group, model.model);
      } catch (error) {
        throw signal.aborted ? signal.reason : errorOf(error);
      }
    },
  };
}

function clientOf(model: RemoteModel): RemoteModelClient {
  try {
    return new RemoteModelClient(model, PROTOCOL);
  } catch (error) {
    throw errorOf(error);
  }
}

function bodyOf(group: DistilGroup): object {
  const messages = messagesFor(group);
  const chars = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (chars > MOST_REQUEST_CHARS) {
    throw new DistillerUnavailable(`the group is larger than one request (${MOST_REQUEST_CHARS} characters)`);
  }
  return { messages };
}

function errorOf(error: unknown): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const { kind, message, setting, cause } = error;
  return new DistillerUnavailable(message, {
    ...(setting && { option: OPTIONS[setting] }),
    forAll: !FOR_ONE_GROUP.has(kind),
    cause,
  });
}
