import type { Connection, ProgramName } from './types.ts';

/** Returns a connection of a user to a local service without keys. */
export const toConnection = (program: ProgramName, options: Partial<Connection> = {}): Connection => ({
  program,
  url: 'http://127.0.0.1:8090',
  user: 'ada',
  capture: 'prompts',
  recall: true,
  hasKey: false,
  ...options,
});
