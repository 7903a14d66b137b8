import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFailed, onTestFinished } from 'vitest';
import { createTemporaryFolder } from '../conformance/folders.ts';
import { FakeModel } from './fake-model.ts';
import { getProgramPath } from './install.ts';
import type { AgentProgram, SessionStart, Setup } from './programs/program.ts';

/** Maximum time of one run, for a loaded machine. */
const TIMEOUT_MS = 240_000;
/** Nothing listens here, so that a request to another host fails at once, on machines with and without a network. */
const CLOSED_PROXY = 'http://127.0.0.1:9';

/** An installed program with settings in its own home folder. */
export class ProgramUnderTest {
  readonly program: AgentProgram;
  /** Output of all runs. */
  output = '';
  readonly #setup: Setup;
  readonly home: string;
  /** The folder in which the program runs. */
  readonly project: string;

  /** @param home an empty folder */
  constructor(program: AgentProgram, setup: Setup, home: string) {
    this.program = program;
    this.#setup = setup;
    this.home = home;
    this.project = join(home, 'project');
    mkdirSync(this.project);
    for (const [path, content] of Object.entries(program.getFiles(setup))) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), content);
    }
  }

  /** The names of its MCP servers. */
  get servers(): string[] {
    return Object.keys(this.#setup.servers);
  }

  /**
   * Runs a prompt until the program exits, whatever its exit code. Returns the lines of its output, and one with its exit
   * code.
   */
  async run(prompt: string, session?: SessionStart): Promise<string[]> {
    let output = '';
    const child = spawn(getProgramPath(this.program.command), this.program.getArguments(prompt, this.#setup, session), {
      cwd: this.project,
      env: this.#getEnvironment(),
      // An open input would make some programs wait for its end.
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const [code, signal] = await once(child, 'close');
    output += `\n${this.program.command} exited with ${code ?? signal}\n`;
    this.output += output;
    return output.split('\n');
  }

  /** Returns the process ids and commands of processes with this home folder: the program and its MCP servers. */
  getProcesses(): { pid: number; command: string }[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids
      .filter((pid) => readProcess(pid, 'environ').split('\0').includes(`HOME=${this.home}`))
      .map((pid) => ({ pid: Number(pid), command: readProcess(pid, 'cmdline').replaceAll('\0', ' ') }));
  }

  /** Kills every process with this home folder. */
  kill(): void {
    for (const { pid } of this.getProcesses()) process.kill(pid, 'SIGKILL');
  }

  #getEnvironment(): Record<string, string> {
    return {
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: this.home,
      HTTPS_PROXY: CLOSED_PROXY,
      HTTP_PROXY: CLOSED_PROXY,
      NO_PROXY: '127.0.0.1,localhost',
      ...this.program.getEnvironment(this.#setup),
    };
  }
}

/** Reads a file of a process. Returns an empty text if the process has exited, or has no environment, as in the kernel. */
function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** The agent programs of a test file, and the model that they use. */
export interface AgentPrograms {
  readonly model: FakeModel;
  /** Returns a program with new settings. The test fails if a process of the program is left when the test ends. */
  createProgram(program: AgentProgram, setup: Omit<Setup, 'modelUrl'>): ProgramUnderTest;
}

/** Starts the model before the tests of the calling block. */
export function useAgentPrograms(): AgentPrograms {
  let model: FakeModel | undefined;
  beforeAll(async () => {
    model = await FakeModel.start();
  });
  afterAll(() => model?.close());
  const getModel = () => {
    if (!model) throw new Error('the model is not running yet: use it in a test');
    return model;
  };
  return {
    get model() {
      return getModel();
    },
    createProgram(program, setup) {
      const created = new ProgramUnderTest(program, { ...setup, modelUrl: getModel().url }, createTemporaryFolder());
      // biome-ignore lint/suspicious/noConsole: the output of the program may explain the failure
      onTestFailed(() => console.log(created.output));
      onTestFinished(async () => {
        try {
          await expect.poll(() => created.getProcesses()).toEqual([]);
        } finally {
          created.kill();
        }
      });
      return created;
    },
  };
}
