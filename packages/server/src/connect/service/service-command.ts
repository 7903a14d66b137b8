import { UsageError } from '../../usage-error.ts';

/** The command line of a service of the user's own. */
export interface ServiceCommand {
  /** Absolute path of Node. */
  node: string;
  /** Absolute path of the script of memoryd. */
  script: string;
  /** Port on the loopback address. */
  port: number;
  /** Absolute path of the database. */
  dbPath: string;
}

/**
 * Returns the program and the arguments that run the service. The database is named, because a service manager does not
 * have the variables of a shell. Queries are not logged, because hooks send prompts as queries.
 *
 * @throws UsageError for a path with a control character
 */
export function toArguments({ node, script, port, dbPath }: ServiceCommand): string[] {
  const listener = ['--host', '127.0.0.1', '--port', String(port)];
  const args = [node, script, 'serve', ...listener, '--db-path', dbPath, '--log-queries', 'false'];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
  const invalid = args.find((arg) => /[\u0000-\u001f\u007f]/.test(arg));
  if (invalid === undefined) return args;
  throw new UsageError(
    `the path ${JSON.stringify(invalid)} must have no control character; move the file to another path`,
  );
}

/** Caches of package runners, which may be emptied at any time, and the commands that install memoryd to stay. */
const CACHES = [
  { path: /[\\/]_npx[\\/]/, runner: 'npx', install: 'npm install -g memoryd' },
  {
    path: /[\\/]archive-v\d+[\\/].*[\\/]memoryd_server[\\/]/,
    runner: 'uvx',
    install: 'uv tool install memoryd-server',
  },
];

/** Returns the package runner whose cache contains a script, and the command that installs memoryd instead. */
export function findRunner(script: string): { runner: string; install: string } | undefined {
  return CACHES.find(({ path }) => path.test(script));
}
