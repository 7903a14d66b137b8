import type { DatabaseOptions, Verified, VerifyStage } from '@memoryd/engine';
import { databaseName } from '../database-name.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type AddCommand, type AnswerFlags, JSON_OPTION, withOptions } from './command.ts';
import { DATABASE_OPTIONS, existingDatabase } from './database.ts';
import { print } from './output.ts';
import { showProgress } from './progress.ts';

const STAGES: readonly VerifyStage[] = ['pages', 'memories', 'index'];

/** `memoryd verify`: exit code 1 where anything is wrong. */
export const verifyCommand: AddCommand = (program, env) => {
  const command = program
    .command('verify')
    .description('Check the database, whether or not it is being served; ends with 1 where anything is wrong.');
  withOptions(command, [...DATABASE_OPTIONS, JSON_OPTION]).action(async (flags: AnswerFlags) => {
    const { verifyDatabase } = await import('@memoryd/engine');
    const database = existingDatabase(flags, env);
    const progress = await showProgress('checking', 'stage');
    let found: Verified;
    try {
      found = await verifyDatabase(database, (stage) => progress.show(STAGES.indexOf(stage), STAGES.length));
    } finally {
      progress.end();
    }
    const { problems, checked } = found;
    await print(flags, { ok: problems.length === 0, checked, problems }, () => told(database, found));
    if (problems.length > 0) process.exitCode = EXIT_CODES.failed.code;
  });
};

function told(database: DatabaseOptions, { problems, checked }: Verified): string {
  if (problems.length > 0) return problems.map((problem) => `${problem}\n`).join('');
  const name = databaseName(database);
  if (checked === 'everything') return `${name}: nothing is wrong\n`;
  return `${name}: its pages are sound; the rest can be checked when this memoryd has served it once\n`;
}
