import type { DatabaseOptions, Verified, VerifyStage } from '@memoryd/engine';
import { getDatabaseName } from '@memoryd/engine/defaults';
import { EXIT_CODES } from '../exit-codes.ts';
import { type AddCommand, type CommonFlags, JSON_OPTION, withExamples, withOptions } from './command.ts';
import { assertThere, DATABASE_OPTIONS, readOwnDatabase } from './database.ts';
import { print } from './output.ts';
import { showProgress } from './progress.ts';

const STAGES: readonly VerifyStage[] = ['pages', 'memories', 'index'];

/** `memoryd verify`: exit code 1 if there is a problem. */
export const verifyCommand: AddCommand = (program, env) => {
  const command = program
    .command('verify')
    .summary('Check the database for corruption.')
    .description('Check the database. A server may use it at the same time. The exit code is 1 if there is a problem.');
  withExamples(command, 'memoryd verify --db-path memory.db');
  withOptions(command, [...DATABASE_OPTIONS, JSON_OPTION]).action(async (flags: CommonFlags) => {
    const { verifyDatabase } = await import('@memoryd/engine');
    const database = readOwnDatabase('verify', flags, env);
    await assertThere(database);
    const progress = await showProgress('checking', 'stage');
    let result: Verified;
    try {
      result = await verifyDatabase(database, (stage) => progress.show(STAGES.indexOf(stage), STAGES.length));
    } finally {
      progress.end();
    }
    const { problems, checked } = result;
    await print(flags, { ok: problems.length === 0, checked, problems }, () => format(database, result));
    if (problems.length > 0) process.exitCode = EXIT_CODES.failed.code;
  });
};

function format(database: DatabaseOptions, { problems, checked }: Verified): string {
  if (problems.length > 0) return problems.map((problem) => `${problem}\n`).join('');
  const name = getDatabaseName(database);
  if (checked === 'everything') return `${name}: no problems\n`;
  return `${name}: no problems in its pages; to check the rest, serve the database once with this memoryd\n`;
}
