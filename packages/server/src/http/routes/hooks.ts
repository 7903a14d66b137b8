import { type ContextResponse, LIMITS, MemoryError, UserId } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { getBinding } from '../../caller.ts';
import {
  answerHook,
  type HookAnswer,
  type HookCall,
  type HookService,
  type Outcome,
  settle,
} from '../../hooks/answer-hook.ts';
import { PROGRAM_NAMES, type ProgramName } from '../../hooks/programs/programs.ts';
import { readProject } from '../../hooks/project.ts';
import { HookSessions } from '../../hooks/sessions.ts';
import { createDisconnectSignal } from '../disconnect-signal.ts';
import { getValues } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { compileValidator } from '../validation.ts';
import { getHookOwner } from './hook-settings.ts';
import type { App, Route, RouteContext } from './route.ts';

const MAX_BODY_BYTES = 64 * 1024;
const DEADLINE_MS = { minimum: 10, maximum: 10_000, default: 300 };

const HookPath = Type.Object({
  program: Type.Enum(PROGRAM_NAMES, { description: 'The agent program.' }),
});

const HookQuery = Type.Object(
  {
    user_id: Type.Optional(
      Type.String({
        ...UserId,
        description:
          'The person who uses the program. Without a user, texts are stored without one, and memories of all users are given.',
      }),
    ),
    capture: Type.Optional(
      Type.Enum(['prompts', 'turns', 'off'], {
        default: 'prompts',
        description: 'What is stored: the prompts of the person, or also the last answer to each, or nothing.',
        'x-must': 'be prompts, turns or off',
      }),
    ),
    recall: Type.Optional(
      Type.Enum(['on', 'off'], {
        default: 'on',
        description: 'Whether the program is given a context.',
        'x-must': 'be on or off',
      }),
    ),
    budget: Type.Optional(
      Type.Integer({
        minimum: LIMITS.minContextTokens,
        maximum: LIMITS.contextTokens,
        description:
          'Maximum tokens of a context. Defaults to 800 at the start of a session, and to 600 with a prompt.',
        'x-must': `be a whole number from ${LIMITS.minContextTokens} to ${LIMITS.contextTokens}`,
      }),
    ),
    deadline_ms: Type.Optional(
      Type.Integer({
        ...DEADLINE_MS,
        description: 'Maximum time of a response in ms. A context that is not ready by then is not given.',
        'x-must': `be a whole number from ${DEADLINE_MS.minimum} to ${DEADLINE_MS.maximum}`,
      }),
    ),
  },
  { additionalProperties: false },
);

const HookHeaders = Type.Object({
  'X-Memoryd-Project': Type.Optional(
    Type.String({
      description:
        'The git remote of the project, such as `github.com/ada/garden`, as percent-encoded UTF-8. Read at the start of a ' +
        'session. Without it, the folder in the body names the project.',
    }),
  ),
  'X-Memoryd-Branch': Type.Optional(
    Type.String({ description: 'The branch of the project, as percent-encoded UTF-8.' }),
  ),
});

export const HookResponse = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'What the program expects from a hook; `{}` if there is nothing to give.',
  },
);

const config = { access: 'write', refusesForeignPages: true, bodySetting: 'none' } as const;

/** `/hooks/{program}`: answers the hooks of agent programs. */
export const hooks: Route = (app, context) => {
  const sessions = new HookSessions();
  const schema = {
    operationId: 'answerHook',
    summary: 'Answer a hook of an agent program',
    description:
      'The body is what the program sends to a hook, of at most 64 KiB. Stores what the person typed, and returns what the ' +
      'agent should know: at the start of a session the context of the project, with a prompt what answers it, each memory ' +
      'once in a session. Secrets are removed from all texts. Any JSON is accepted: unknown events and fields are ignored.',
    tags: ['agents'],
    params: HookPath,
    headers: HookHeaders,
    querystring: HookQuery,
    body: Type.Unknown(),
    response: createResponseSchemas(HookResponse, 'NOT_FOUND'),
  };
  const bodyLimit = Math.min(MAX_BODY_BYTES, context.settings.maxBodyBytes);
  // Any JSON is accepted: a prompt may contain characters that a request to store must not. An unknown program is an
  // unknown path.
  const validatorCompiler: typeof compileValidator = (part) =>
    part.httpPart === 'querystring' ? compileValidator(part) : () => true;
  app.post('/hooks/:program', { schema, config, bodyLimit, validatorCompiler }, async (request, reply) => {
    const { program } = request.params;
    if (!isProgram(program)) {
      throw new MemoryError('NOT_FOUND', `program must be one of ${PROGRAM_NAMES.join(', ')}`);
    }
    const { user_id, capture = 'prompts', recall = 'on', budget, deadline_ms = DEADLINE_MS.default } = request.query;
    const owner = getHookOwner(request, user_id);
    const signal = createDeadline(reply, deadline_ms);
    const { promise: answered, resolve: endAnswer } = Promise.withResolvers<void>();
    const call: HookCall = {
      ...{ program, owner, capture, recall, budget, signal, answered },
      body: request.body,
      project: readProject(getHeader(request, 'x-memoryd-project'), getHeader(request, 'x-memoryd-branch')),
      at: Date.now(),
    };
    const answering = answerHook(createService(app, context, request, { sessions, owner, signal }), call);
    const answer = await untilAborted(settle(answering), signal);
    const { storing, giving, respond } = answer && 'value' in answer ? answer.value : NO_ANSWER;
    // The signal decides whether a context counts as given, so its response is the one that is sent.
    const given = await untilAborted(giving, signal);
    await untilAborted(storing, signal);
    endAnswer();
    // Not awaited: the store may take longer than the program waits.
    void report(context, request, { call, answering, given, durationMs: reply.elapsedTime });
    return respond(given && 'value' in given ? given.value.text : undefined);
  });
};

/** The answer while the event of a call is unknown. */
const NO_ANSWER: HookAnswer = { respond: () => ({}) };

function isProgram(name: string): name is ProgramName {
  return (PROGRAM_NAMES as string[]).includes(name);
}

/** Returns a header that was sent once. */
function getHeader(request: FastifyRequest, name: string): string | undefined {
  const values = getValues(request, name);
  return values.length === 1 ? values[0] : undefined;
}

/** Returns a signal that is aborted when the response is due, or when the client disconnects. */
function createDeadline(reply: FastifyReply, deadlineMs: number): AbortSignal {
  const due = AbortSignal.timeout(Math.max(1, Math.round(deadlineMs - reply.elapsedTime)));
  return AbortSignal.any([due, createDisconnectSignal(reply.raw)]);
}

/** Resolves with the result of work, or with undefined if the signal is aborted first. The work must not reject. */
async function untilAborted<Result>(
  work: Promise<Result> | undefined,
  signal: AbortSignal,
): Promise<Result | undefined> {
  if (!work || signal.aborted) return undefined;
  let stop = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function createService(
  app: App,
  { engine }: RouteContext,
  { caller }: FastifyRequest,
  { sessions, owner, signal }: Pick<HookCall, 'owner' | 'signal'> & { sessions: HookSessions },
): HookService {
  const { namespace, keyId } = caller;
  const memories = engine.hookMemories(namespace, keyId);
  const binding = getBinding(caller);
  return {
    memories: binding ? memories.scope(binding) : memories,
    sessions,
    getSettings: () => engine.hooks.getRecentSettings(namespace, owner.userId || undefined),
    async whenFree(search) {
      const release = await app.acquireSlot('recall', namespace, signal);
      try {
        return await search();
      } finally {
        release();
      }
    },
  };
}

/** A call after its response. */
interface AnsweredCall {
  call: HookCall;
  answering: Promise<HookAnswer>;
  /** The context, or its failure; undefined if it was late or none was asked for. */
  given: Outcome<ContextResponse> | undefined;
  durationMs: number;
}

/** Counts a call once its store has ended, and logs what failed. */
async function report(
  { telemetry, hookActivity }: RouteContext,
  { id }: FastifyRequest,
  { call: { program, owner, at, signal }, answering, given, durationMs }: AnsweredCall,
): Promise<void> {
  const isLate = signal.aborted;
  const answer = await settle(answering);
  const stored = 'value' in answer ? await answer.value.storing : undefined;
  const errors = [answer, stored, given].flatMap((each) => (each && 'error' in each ? [each.error] : []));
  const facts = { request_id: id, namespace: owner.namespace, program };
  for (const error of errors) telemetry.report({ component: 'hooks', event: 'hook_failed', ...toEvent(error, facts) });
  const [message = isLate ? 'the deadline passed' : undefined] = errors.map(toMessage);
  const store = stored && 'value' in stored ? stored.value : undefined;
  hookActivity.record(owner, program, {
    ...{ at, durationMs, stored: store?.created ?? false },
    redacted: (store?.created && store.redacted?.reduce((sum, { count }) => sum + count, 0)) || 0,
    given: given && 'value' in given ? given.value.memories.length : 0,
    ...(message !== undefined && { error: message }),
  });
}

function toEvent(error: unknown, facts: Record<string, string>) {
  return isExpected(error)
    ? ({ level: 'warn', facts: { ...facts, message: error.message } } as const)
    : ({ level: 'error', facts, error } as const);
}

function toMessage(error: unknown): string {
  return isExpected(error) ? error.message : 'server error; see the log';
}

function isExpected(error: unknown): error is MemoryError {
  return error instanceof MemoryError && error.code !== 'INTERNAL_ERROR';
}
