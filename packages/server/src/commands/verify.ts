import { type Verified, type VerifyStage, verifyFile } from '@memoryd/engine';
import { type AddCommand, withOptions } from './command.ts';
import { type DatabaseFlags, DB_PATH_OPTIONS, existingDbPath } from './database.ts';
import { showProgress } from './progress.ts';

const STAGES: readonly VerifyStage[] = ['pages', 'memories', 'index'];

/** `memoryd verify`: exit code 1 where anything is wrong. */
export const verifyCommand: AddCommand = (program, env) => {
  const command = program
    .command('verify')
    .option('--json', 'print what was found as JSON')
    .description('Check the database, whether or not it is being served; ends with 1 where anything is wrong.');
  withOptions(command, DB_PATH_OPTIONS).action((flags: DatabaseFlags & { json?: true }) => {
    const dbPath = existingDbPath(flags, env);
    const progress = showProgress('checking');
    let found: Verified;
    try {
      found = verifyFile(dbPath, (stage) => progress.show(STAGES.indexOf(stage), STAGES.length));
    } finally {
      progress.end();
    }
    const { problems, checked } = found;
    process.stdout.write(
      flags.json ? `${JSON.stringify({ ok: problems.length === 0, checked, problems })}\n` : told(dbPath, found),
    );
    if (problems.length > 0) process.exitCode = 1;
  });
};

function told(dbPath: string, { problems, checked }: Verified): string {
  if (problems.length > 0) return problems.map((problem) => `${problem}\n`).join('');
  if (checked === 'everything') return `${dbPath}: nothing is wrong\n`;
  return `${dbPath}: its pages are sound; the rest can be checked when this memoryd has served it once\n`;
}
