import type { SessionMemory, SessionSummary } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import type { AddCommand, AnswerFlags } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { printEach } from './output.ts';

/** `memoryd session [ID]`. */
export const sessionCommand: AddCommand = (program, env) => {
  const command = program
    .command('session')
    .argument('[id]', 'the session; without it, the sessions are listed')
    .description('Print the transcript of a session, oldest first, or list the sessions. As JSON, one a line.');
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string | undefined, flags: AnswerFlags) =>
    id === undefined ? listSessions(flags, env) : printSession(id, flags, env),
  );
};

const TRANSCRIPT = {
  titles: ['WHEN', 'ID', 'TAGS', 'MEMORY'],
  row: ({ created_at, id, tags, content }: SessionMemory) => [created_at, id, tags.join(', '), content],
  none: 'nothing was stored into this session',
};

async function printSession(sessionId: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const { eachSessionMemory } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) =>
    printEach(flags, eachSessionMemory(api, { session_id: sessionId }), TRANSCRIPT),
  );
}

const SESSIONS = {
  titles: ['MEMORIES', 'FIRST', 'LAST', 'USER', 'SESSION'],
  row: ({ session_id, user_id = '-', total, first_at, last_at }: SessionSummary) => {
    return [total, first_at, last_at, user_id, session_id];
  },
  none: 'there are no sessions',
};

async function listSessions(flags: AnswerFlags, env: Environment): Promise<void> {
  const { eachSession } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachSession(api), SESSIONS));
}
