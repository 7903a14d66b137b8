import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { HooksResponse, Memory } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Client } from '../conformance/under-test.ts';
import { connect, createRepository, memoryd, startService, toOptions, toUrl, USER } from './connected.ts';
import { CAN_SEE_PROCESSES } from './install.ts';
import { claudeCode } from './programs/claude-code.ts';
import { codex } from './programs/codex.ts';
import { geminiCli } from './programs/gemini-cli.ts';
import { openCode } from './programs/opencode.ts';
import { type AgentProgram, OWN_HOOK_FILE } from './programs/program.ts';
import { type ProgramUnderTest, useAgentPrograms } from './run.ts';

/** Said in the first session. */
const FACT = 'Ada keeps her spare key under the blue flower pot.';
/** Stored long before all sessions. */
const OLD_FACT = 'The heater of the greenhouse was repaired by Grace in March.';
/** Asks for the old fact. */
const QUESTION = 'Who repaired the heater of the greenhouse?';

/** Maximum sessions until one is given a context. The service gives none that is not ready within 300 ms. */
const MAX_SESSIONS = 5;

/** A whole context. */
const CONTEXT = /^From memory\. .*\n<memories>\n.*\n<\/memories>$/s;

/** The content and the origin of a memory. */
type Stored = Pick<Memory, 'content' | 'tags' | 'source' | 'metadata' | 'session_id'>;

describe.skipIf(!CAN_SEE_PROCESSES)('connected agent programs', { timeout: 900_000 }, () => {
  const programs = useAgentPrograms();

  /** Returns a program of a person who has hooks and settings of their own, in a folder with a repository. */
  function createProgram(program: AgentProgram): ProgramUnderTest {
    const running = programs.createProgram(program, { servers: {}, waitsForServers: false, hasOwnHook: true });
    createRepository(running.project);
    return running;
  }

  /** Runs a prompt in a new session. Returns its output, and what the model was given with the prompt. */
  async function runSession(running: ProgramUnderTest, prompt: string) {
    // Some programs print the prompt.
    const output = (await running.run(prompt)).filter((line) => line !== prompt);
    // Requests for a title have no tools.
    const requests = programs.model.takeRequests().filter(({ tools }) => tools.length > 0);
    expect(requests, 'requests for an answer').toHaveLength(1);
    const parts = requests.flatMap((request) => request.parts);
    expect(parts.map(({ text }) => text).join('\n')).toContain(prompt);
    return { output, parts, contexts: running.program.getContexts(parts) };
  }

  /** Runs sessions with a prompt until the contexts of one have each of these texts. Returns that session. */
  async function runUntilGiven(running: ProgramUnderTest, prompt: string, ...texts: string[]) {
    const given: string[] = [];
    for (let count = 0; count < MAX_SESSIONS; count += 1) {
      const session = await runSession(running, prompt);
      if (texts.every((text) => session.contexts.some((context) => context.includes(text)))) return session;
      given.push(...session.contexts);
    }
    throw new Error(
      `no context of ${MAX_SESSIONS} sessions has ${texts.join(' and ')}, but: ${given.join('\n') || 'nothing'}`,
    );
  }

  it.each([
    ['Claude Code', claudeCode],
    ['Codex', codex],
    ['Gemini CLI', geminiCli],
    ['OpenCode', openCode],
  ])(
    '%s remembers by hooks what a person said, and works as before if the service is stopped or hangs',
    async (_title, program) => {
      const service = await startService();
      await fill(service);
      const running = createProgram(program);
      const { output: usual } = await runSession(running, 'Good morning to all of you.');
      rmSync(join(running.project, OWN_HOOK_FILE));
      const before = readFiles(running.home);
      await connect(running, toUrl(service));
      await remove(running);
      expect(readFiles(running.home)).toEqual(before);

      await connect(running, toUrl(service));
      const saying = await runSession(running, FACT);
      expect(getNewLines(saying.output, usual, program)).toEqual([]);
      await expect.poll(() => getStored(service)).toEqual([toStored(program, FACT)]);

      await connect(running, toUrl(service), '--capture', 'turns');
      const { contexts, parts, output } = await runUntilGiven(running, QUESTION, FACT, OLD_FACT);
      for (const context of contexts) expect(context).toMatch(CONTEXT);
      // Given once in a session.
      expect(contexts.join('\n').split(OLD_FACT)).toHaveLength(2);
      expect(parts.filter(({ role }) => role === 'tool')).toEqual([]);
      expect(getNewLines(output, usual, program)).toEqual([]);
      await expect.poll(() => getStored(service)).toContainEqual(toStored(program, 'Done.', 'assistant'));
      expect((await getStored(service)).filter(({ content }) => content === FACT)).toHaveLength(1);

      await service.server.stop();
      const stopped = await runSession(running, 'Which plants stand in the hall?');
      expect(stopped.contexts).toEqual([]);
      expect(getNewLines(stopped.output, usual, program)).toEqual([]);
      await connect(running, await startSilentServer());
      const silent = await runSession(running, 'Which plants stand in the cellar?');
      expect(silent.contexts).toEqual([]);
      expect(getNewLines(silent.output, usual, program)).toEqual([]);
      const days = getLoggedDays(running);
      expect(days).toEqual([...new Set(days)]);
      expect(days.length).toBeGreaterThan(0);

      await remove(running);
      for (const path of Object.keys(program.getFiles({ modelUrl: '', servers: {}, waitsForServers: false }))) {
        expect(readFileSync(join(running.home, path), 'utf8'), path).not.toContain('memoryd');
      }
      expect(existsSync(join(running.project, OWN_HOOK_FILE))).toBe(true);
    },
  );

  it('a paused user is given nothing, and nothing of theirs is stored, until memoryd connect --resume', async () => {
    const service = await startService();
    const running = createProgram(codex);
    await connect(running, toUrl(service));
    await runSession(running, FACT);
    // A session has two calls: its start, and the prompt.
    await expect.poll(() => getCalls(service, codex)).toBe(2);
    await memoryd(running, 'connect', '--pause', ...toOptions(toUrl(service)));
    const paused = await runSession(running, QUESTION);
    expect(paused.contexts).toEqual([]);
    await expect.poll(() => getCalls(service, codex)).toBe(4);
    expect(await getStored(service)).toEqual([toStored(codex, FACT)]);
    await memoryd(running, 'connect', '--resume', ...toOptions(toUrl(service)));
    await runUntilGiven(running, QUESTION, FACT);
    await expect.poll(() => getStored(service)).toContainEqual(toStored(codex, QUESTION));
  });

  it('a program connected with --capture off is given memories, and nothing is stored', async () => {
    const service = await startService();
    await service.store({ content: OLD_FACT, user_id: USER });
    const running = createProgram(codex);
    await connect(running, toUrl(service), '--capture', 'off');
    await runUntilGiven(running, QUESTION, OLD_FACT);
    await expect.poll(() => getCalls(service, codex)).toBeGreaterThanOrEqual(2);
    const { memories } = await service.memories(`user_id=${USER}`);
    expect(memories.map(({ content }) => content)).toEqual([OLD_FACT]);
  });
});

/** Starts a server that accepts connections and never responds, until the end of the test. Returns its URL. */
async function startSilentServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined).resume()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Stores a memory, and newer ones that fill the context at the start of a session. */
async function fill(service: Client): Promise<void> {
  const others = Array.from({ length: 60 }, (_, shelf) => `Shelf ${shelf} has letters and drawings of the old harbor.`);
  await service.storeInOrder([OLD_FACT, ...others].map((content) => ({ content, user_id: USER })));
}

function remove(running: ProgramUnderTest): Promise<string> {
  return memoryd(running, 'connect', running.program.name, '--remove');
}

/** Returns all files below a folder by their path, without those of memoryd. */
function readFiles(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  const others = paths.filter((path) => !/^\.(?:config|local\/\w+|cache)\/memoryd\//.test(path));
  return Object.fromEntries(others.map((path) => [path, readFileSync(join(folder, path), 'latin1')]));
}

/** Returns the days of the lines in the log of the hooks. */
function getLoggedDays({ home, program }: ProgramUnderTest): string[] {
  const file = join(home, '.local/state/memoryd/hook.log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  for (const line of lines) expect(line).toContain(` ${program.name} `);
  return lines.map((line) => line.slice(0, '2026-11-29'.length));
}

/** Returns the memories of hooks, newest first. */
async function getStored(service: Client): Promise<Stored[]> {
  const { memories } = await service.memories(
    `user_id=${USER}&filter=${encodeURIComponent('{"source":{"$ne":"api"}}')}`,
  );
  return memories.map(({ content, tags, source, metadata, session_id }) => ({
    content,
    tags,
    source,
    metadata,
    session_id,
  }));
}

/** Returns what a hook stores of a text. */
function toStored({ name }: AgentProgram, content: string, role = 'user'): Stored {
  return {
    content,
    tags: [`role:${role}`, 'project:garden'],
    source: name,
    metadata: { project: 'github.com/ada/garden', branch: 'spring' },
    session_id: expect.stringMatching(new RegExp(`^${name}:[\\w-]+$`)) as string,
  };
}

/** Returns how often a program has called a hook. */
async function getCalls(service: Client, { name }: AgentProgram): Promise<number> {
  const { programs } = await service.get<HooksResponse>(`/hooks?user_id=${USER}`);
  return programs.find(({ program }) => program === name)?.calls_today ?? 0;
}

/** Returns the lines that an output has and the usual output lacks, except those that may differ. */
function getNewLines(output: readonly string[], usual: readonly string[], { variableLines }: AgentProgram): string[] {
  return output.filter((line) => !usual.includes(line) && !variableLines?.test(line));
}
