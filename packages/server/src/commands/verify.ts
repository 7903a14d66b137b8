import { type DatabaseOptions, type Verified, type VerifyStage, verifyDatabase } from '@memoryd/engine';
import { databaseName } from '../open-database.ts';
import { type AddCommand, withOptions } from './command.ts';
import { DATABASE_OPTIONS, type DatabaseFlags, existingDatabase } from './database.ts';
import { showProgress } from './progress.ts';

const STAGES: readonly VerifyStage[] = ['pages', 'memories', 'index'];

/** `memoryd verify`: exit code 1 where anything is wrong. */
export const verifyCommand: AddCommand = (program, env) => {
  const command = program
    .command('verify')
    .option('--json', 'print what was found as JSON')
    .description('Check the database, whether or not it is being served; ends with 1 where anything is wrong.');
  withOptions(command, DATABASE_OPTIONS).action(async (flags: DatabaseFlags & { json?: true }) => {
    const database = existingDatabase(flags, env);
    const progress = showProgress('checking');
    let found: Verified;
    try {
      found = await verifyDatabase(database, (stage) => progress.show(STAGES.indexOf(stage), STAGES.length));
    } finally {
      progress.end();
    }
    const { problems, checked } = found;
    process.stdout.write(
      flags.json ? `${JSON.stringify({ ok: problems.length === 0, checked, problems })}\n` : told(database, found),
    );
    if (problems.length > 0) process.exitCode = 1;
  });
};

function told(database: DatabaseOptions, { problems, checked }: Verified): string {
  if (problems.length > 0) return problems.map((problem) => `${problem}\n`).join('');
  const name = databaseName(database);
  if (checked === 'everything') return `${name}: nothing is wrong\n`;
  return `${name}: its pages are sound; the rest can be checked when this memoryd has served it once\n`;
}
