import { type SessionSummary, SessionsRequest } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, FULL_OPTION, IDS_OPTION, withExamples, withOptions } from './command.ts';
import { toShortTime } from './local-time.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { asMemories, asTable, printEach } from './output.ts';
import { getRequest, requestOptions, VALIDITY_FIELDS } from './request-options.ts';

/** The options of both lists: the memories of a session, and all sessions. */
const SHAPE = { schema: SessionsRequest, fields: ['filter', ...VALIDITY_FIELDS] } as const;

export const sessionCommand: AddCommand = (program, env) => {
  const command = program
    .command('session')
    .argument('[id]', 'id of the session; without it, all sessions are listed')
    .summary('Print a session, or list all sessions.')
    .description(
      'Print the memories of a session, oldest first, or list all sessions. With --json, prints one a line.',
    );
  withExamples(command, 'memoryd session', 'memoryd session kitchen');
  withOptions(command, [...requestOptions<SessionsRequest>(SHAPE), IDS_OPTION, FULL_OPTION]);
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string | undefined, flags: CommonFlags) =>
    id === undefined ? listSessions(flags, env) : printSession(id, flags, env),
  );
};

async function printSession(sessionId: string, flags: CommonFlags, env: Environment): Promise<void> {
  const filter = getRequest<Pick<SessionsRequest, (typeof SHAPE.fields)[number]>>(SHAPE, flags);
  const { eachSessionMemory } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) =>
    printEach(flags, eachSessionMemory(api, { session_id: sessionId, ...filter }), {
      format: asMemories(flags),
      none: 'this session has no memories',
    }),
  );
}

const getSessionsFormat = (flags: CommonFlags) => ({
  format: asTable(
    ['MEMORIES', 'FIRST', 'LAST', 'USER', 'SESSION'],
    ({ session_id, user_id = '-', total, first_at, last_at }: SessionSummary) => {
      return [total, toShortTime(first_at, flags), toShortTime(last_at, flags), user_id, session_id];
    },
    flags,
  ),
  none: 'there are no sessions',
});

async function listSessions(flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<SessionsRequest>(SHAPE, flags);
  const { eachSession } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) =>
    printEach(flags, eachSession(api, request), getSessionsFormat(flags)),
  );
}
