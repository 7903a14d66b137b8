import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTemporaryFolder } from '../conformance/folders.ts';
import { COMMAND_FOLDERS, NODE_MODULES } from './install.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const programs = fileURLToPath(new URL('programs', import.meta.url));
const guide = readFileSync(join(root, 'docs/guide/generated-clients.md'), 'utf8');

/** Maximum time of one command, for a loaded machine. */
const TIMEOUT_MS = 240_000;

/** Exit of a command. */
export interface Exit {
  code: number | null;
  /** Standard output and standard error. */
  output: string;
}

/** A code block of the guide. */
export interface CodeBlock {
  language: string;
  code: string;
}

/** Returns the code blocks of a section of the guide. */
export function getCodeBlocks(section: string): CodeBlock[] {
  const text = guide.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return blocks.map(([, language = '', code = '']) => ({ language, code }));
}

/** Returns the texts of the files in the folder of a program. */
export function getProgramFiles(name: string): string[] {
  const folder = join(programs, name);
  return readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
}

/** A project of a reader of the guide: a program, the OpenAPI document and the installed packages. */
export class Project {
  readonly #folder = createTemporaryFolder();

  /** @param openApi the OpenAPI document, as JSON */
  constructor(program: string, openApi: string) {
    cpSync(join(programs, program), this.#folder, { recursive: true });
    symlinkSync(NODE_MODULES, join(this.#folder, 'node_modules'));
    this.write('package.json', JSON.stringify({ type: 'module' }));
    this.write('openapi.json', openApi);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#folder, file), text);
  }

  /** Runs a command of a shell in the project until it exits, whatever its exit code. */
  run(command: string, env: Record<string, string> = {}): Promise<Exit> {
    // The Node of the tests runs TypeScript.
    const folders = [dirname(process.execPath), ...COMMAND_FOLDERS];
    const PATH = [...folders, process.env.PATH].join(delimiter);
    const options = { cwd: this.#folder, env: { ...process.env, NO_COLOR: '1', ...env, PATH }, timeout: TIMEOUT_MS };
    return new Promise((resolve) => {
      const child = execFile('bash', ['-c', command], options, (_error, stdout, stderr) => {
        resolve({ code: child.exitCode, output: stdout + stderr });
      });
    });
  }
}
