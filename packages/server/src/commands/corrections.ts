import { type Correction, CorrectionsRequest } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, FULL_OPTION, withExamples, withOptions } from './command.ts';
import { toShortTime } from './local-time.ts';
import { OWN_SCOPE_OPTIONS, SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { formatTable, print, printEach } from './output.ts';
import { getRequest, requestOptions } from './request-options.ts';

const SHAPE = { schema: CorrectionsRequest, fields: ['state'] } as const;

/** `memoryd corrections`: lists the corrections that consolidation suggests, and decides on them. */
export const correctionsCommand: AddCommand = (program, env) => {
  const command = program
    .command('corrections')
    .summary('List suggested corrections, and accept or decline them.')
    .description(
      'List the corrections that consolidation suggests, latest first: pairs of which the later memory seems to correct ' +
        'the earlier one. With --json, prints one a line.',
    )
    .enablePositionalOptions();
  withOptions(command, [...requestOptions<CorrectionsRequest>(SHAPE), FULL_OPTION]);
  withExamples(command, 'memoryd corrections', 'memoryd corrections accept ID', 'memoryd corrections --state accepted');
  withMemoryOptions(command, SCOPE_OPTIONS).action((flags: CommonFlags) => listCorrections(flags, env));
  const accept = command
    .command('accept')
    .argument('<id>', ID_HELP)
    .description('Accept a correction: the later memory supersedes the earlier one. Undo it with decline.');
  withMemoryOptions(accept, OWN_SCOPE_OPTIONS).action((id: string) =>
    decide(id, true, accept.optsWithGlobals<CommonFlags>(), env),
  );
  const decline = command
    .command('decline')
    .argument('<id>', ID_HELP)
    .description(
      'Decline a correction, which is then not suggested again. Declining an accepted one undoes it: the earlier memory ' +
        'is no longer superseded.',
    );
  withMemoryOptions(decline, OWN_SCOPE_OPTIONS).action((id: string) =>
    decide(id, false, decline.optsWithGlobals<CommonFlags>(), env),
  );
};

const ID_HELP = 'id of the correction';

const getFormat = (flags: CommonFlags) => ({
  /** Prints two rows for each correction: the later memory and, below it, the earlier one. */
  format: (corrections: readonly Correction[]) => {
    const rows = corrections.flatMap(({ id, reason, earlier, later }) => [
      [id, reason, toShortTime(later.created_at, flags), { text: later.content }],
      ['', 'instead of', toShortTime(earlier.created_at, flags), { text: earlier.content }],
    ]);
    return formatTable(['CORRECTION', 'REASON', 'CREATED', 'TEXT'], rows, flags);
  },
  none: 'there are no suggested corrections',
});

async function listCorrections(flags: CommonFlags, env: Environment): Promise<void> {
  const request = getRequest<CorrectionsRequest>(SHAPE, flags);
  const { eachCorrection } = await import('@memoryd/client');
  await withMemories(flags, env, {}, ({ api }) => printEach(flags, eachCorrection(api, request), getFormat(flags)));
}

async function decide(id: string, accept: boolean, flags: CommonFlags, env: Environment): Promise<void> {
  const decided = await withMemories(flags, env, {}, ({ api }) => api.decideCorrection(id, { accept }));
  await print(flags, decided, () => `${decided.state} ${decided.id}\n`);
}
