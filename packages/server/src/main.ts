import { runCommandLine } from './command-line.ts';
import { SettingsError } from './settings.ts';

/** Does what the process's command line asks for. What keeps it from doing so is one line on standard error. */
export async function main(): Promise<void> {
  try {
    await runCommandLine(process.argv.slice(2), process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error)}\n`);
    process.exit(error instanceof SettingsError ? 2 : 1);
  }
}
