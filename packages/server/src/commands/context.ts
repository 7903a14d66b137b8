import { ContextRequest, getProcessTimeZone } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples, withOptions } from './command.ts';
import { inputText } from './input.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { note, print } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const { once, ...others } = ContextRequest.properties;

const SHAPE = {
  // With a default, so that the option is `--no-once`: with a session, `once` is true by default.
  schema: Type.Object({ ...others, once: Type.Optional(Type.Boolean({ ...once, default: true })) }),
  fields: ['session_id', 'budget', 'filter', 'recent', 'once', 'reset', 'timezone', 'asked_at', 'track'] as const,
};

export const contextCommand: AddCommand = (program, env) => {
  const command = program
    .command('context')
    .argument('[query...]', 'what the agent is asked; - reads it from standard input')
    .summary('Print what an agent should know now.')
    .description(
      'Print what an agent should know now, as a text for its prompt: standing notes, the memories that answer a query, and ' +
        'without a query the newest statements of the last sessions. Prints nothing if there is nothing to tell. Only a ' +
        'running service (--url) remembers what a session was given.',
    );
  withOptions(command, requestOptions<ContextRequest>(SHAPE));
  withExamples(
    command,
    'memoryd context --user ada',
    "memoryd context --user ada 'Plan a dinner for Ada' --budget 400",
    'memoryd context --url http://127.0.0.1:8090 --session-id chat-7 --reset',
  );
  withMemoryOptions(command, SCOPE_OPTIONS).action((words: string[], flags: CommonFlags) =>
    printContext(words.join(' '), flags, env),
  );
};

async function printContext(words: string, flags: CommonFlags, env: Environment): Promise<void> {
  const query = words === '-' ? await inputText() : words;
  // A person who types "yesterday" means the local day.
  const timezone = flags.timezone ?? (flags.utc ? 'UTC' : getProcessTimeZone());
  const request = getRequest<ContextRequest>(SHAPE, flags, { ...(query !== '' && { query }), timezone });
  const model = query !== '';
  const response = await withMemories(flags, env, model ? { model } : {}, ({ api }) => api.context(request));
  if (response.omitted > 0 && !flags.json) note(`memoryd: ${response.omitted} more did not fit; raise --budget`);
  await print(flags, response, () => (response.text === '' ? '' : `${response.text}\n`));
}
