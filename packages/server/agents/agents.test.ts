import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTemporaryFolder } from '../conformance/folders.ts';
import { expectCleanEnd, startClient } from '../conformance/under-test.ts';
import { type ModelRequest, toPrompt } from './fake-model.ts';
import { CAN_SEE_PROCESSES } from './install.ts';
import { claudeCode } from './programs/claude-code.ts';
import { codex } from './programs/codex.ts';
import { geminiCli } from './programs/gemini-cli.ts';
import { openCode } from './programs/opencode.ts';
import type { AgentProgram, McpServer } from './programs/program.ts';
import { type ProgramUnderTest, useAgentPrograms } from './run.ts';

/** The tools that every program must offer its model. */
const STORE = 'memory_store';
const RECALL = 'memory_recall';
const TOOLS = [STORE, RECALL, 'memory_session', 'memory_update', 'memory_forget'];
/** The beginning of the server's instructions. */
const INSTRUCTIONS = 'memoryd remembers across conversations.';

const FACT = 'Ada is allergic to peanuts.';
const QUESTION = 'What may Ada not eat?';

const MEMORYD = fileURLToPath(new URL('../bin/memoryd.mjs', import.meta.url));
const DELAYED_SERVER = fileURLToPath(new URL('delayed-server.mjs', import.meta.url));
/** Half of the time that Codex waits for an MCP server. `memoryd mcp` must answer sooner. */
const DELAY_MS = 500;
/** Maximum sessions until one has the tools of any server in its first turn. */
const MAX_SESSIONS = 5;

/** The definition of a tool in a request of Codex. */
interface CodexTool {
  parameters: { properties: Record<string, { description?: string }> };
}

/** Facts about the requests that each program has sent, printed after the tests. */
const report: string[] = [];

// A session of OpenCode takes seven seconds of processor time.
describe.skipIf(!CAN_SEE_PROCESSES)('agent programs', { timeout: 600_000 }, () => {
  const programs = useAgentPrograms();
  afterAll(() => {
    // biome-ignore lint/suspicious/noConsole: shows sizes and texts, which no assertion limits
    console.log(report.join('\n'));
  });

  /** Makes the model call a tool of every server in a new session. Returns the requests that offer tools. */
  async function callTool(running: ProgramUnderTest, tool: string, args: object): Promise<ModelRequest[]> {
    const { toOfferedName, getLoadingCall } = running.program;
    const names = running.servers.map((server) => toOfferedName(server, tool));
    const calls = names.map((name) => ({ tool: new RegExp(`^${name}$`), args }));
    await running.run(toPrompt('Use your memory.', ...(getLoadingCall ? [getLoadingCall(names)] : []), ...calls));
    return programs.model.takeRequests().filter(({ tools, hasCalls }) => hasCalls && tools.length > 0);
  }

  it.each([
    ['Claude Code', claudeCode],
    ['Codex', codex],
    ['Gemini CLI', geminiCli],
    ['OpenCode', openCode],
  ])(
    '%s offers the tools in the first turn and recalls in a new session, over stdio and HTTP',
    async (title, program) => {
      // One session uses both servers, because most of the time of a test is the start of the program.
      const running = programs.createProgram(program, {
        servers: { stdio: serveStdio(getNewFile()), http: await serveHttp() },
        waitsForServers: true,
      });
      const storing = await callTool(running, STORE, { content: FACT });
      const recalling = await callTool(running, RECALL, { query: QUESTION });
      for (const [index, server] of running.servers.entries()) {
        expectToolsAtOnce(program, server, storing[0]);
        expectToolsAtOnce(program, server, recalling[0]);
        const stored = getResults(storing, running)[index];
        const recalled = getResults(recalling, running)[index];
        report.push(
          `\n${title} over ${server}`,
          ...describeTools(program, server, storing),
          stored ?? '',
          recalled ?? '',
        );
        expect(stored).toMatch(/stored/i);
        expect(recalled).toContain(FACT);
        // Models read texts, and no JSON.
        expect(stored).not.toContain('{"');
        expect(recalled).not.toContain('{"');
      }
    },
  );

  it(`Codex offers the tools of memoryd in the first turn if it offers those of a server that waits ${DELAY_MS} ms`, async () => {
    // Codex begins the first turn about a second after its start. A session with the tools of neither server says
    // nothing about memoryd, because the machine was too slow for both.
    const delayed = { command: process.execPath, args: [DELAYED_SERVER, String(DELAY_MS)] };
    const stdio = serveStdio(await createDatabase());
    const names = [
      ...TOOLS.map((tool) => codex.toOfferedName('stdio', tool)),
      codex.toOfferedName('delayed', 'nothing'),
    ];
    for (let session = 0; session < MAX_SESSIONS; session += 1) {
      const running = programs.createProgram(codex, { servers: { stdio, delayed }, waitsForServers: false });
      await running.run(toPrompt('Hello.'));
      const [first] = programs.model.takeRequests();
      if (!getNames(first).some((name) => names.includes(name))) continue;
      expectToolsAtOnce(codex, 'stdio', first);
      return;
    }
    throw new Error(
      `this machine is too slow for this test: no first turn of ${MAX_SESSIONS} sessions had the tools of memoryd or of ` +
        `the server that waits ${DELAY_MS} ms; run it again while the machine is idle`,
    );
  });

  it('Codex gives the model a description of every argument of the tools', async () => {
    const running = programs.createProgram(codex, {
      servers: { stdio: serveStdio(getNewFile()) },
      waitsForServers: true,
    });
    await running.run(toPrompt('Hello.'));
    const [first] = programs.model.takeRequests();
    expectToolsAtOnce(codex, 'stdio', first);
    // Codex removes all descriptions from an input schema of more than about 5,000 characters.
    const undescribed = TOOLS.flatMap((tool) => {
      const offered = first?.tools.filter(({ name }) => name === codex.toOfferedName('stdio', tool)) ?? [];
      return offered
        .flatMap(({ definition }) => Object.entries((definition as CodexTool).parameters.properties))
        .filter(([, { description }]) => description === undefined)
        .map(([argument]) => `${tool} ${argument}`);
    });
    expect(undescribed).toEqual([]);
  });
});

/** Returns the path of a database file that does not exist. */
function getNewFile(): string {
  return join(createTemporaryFolder(), 'memory.db');
}

/** Creates a database file with a memory. Opening it takes longer than finding no file. */
async function createDatabase(): Promise<string> {
  const file = getNewFile();
  const client = await startClient({ dbPath: file });
  await client.store({ content: FACT });
  await expectCleanEnd(client.server);
  return file;
}

function serveStdio(databaseFile: string): McpServer {
  return { command: process.execPath, args: [MEMORYD, 'mcp', '--db-path', databaseFile] };
}

/** Starts a service until the end of the test. */
async function serveHttp(): Promise<McpServer> {
  const { server } = await startClient();
  onTestFinished(() => expectCleanEnd(server));
  return { url: `http://127.0.0.1:${server.port}/mcp` };
}

function getNames(request: ModelRequest | undefined): string[] {
  return request?.tools.map(({ name }) => name) ?? [];
}

/**
 * Expects that a request has every tool of a server: its definition, or its name and the server's instructions if the
 * program defers tools.
 */
function expectToolsAtOnce(program: AgentProgram, server: string, request: ModelRequest | undefined): void {
  const names = TOOLS.map((tool) => program.toOfferedName(server, tool));
  const offered = getNames(request);
  if (!program.getLoadingCall) {
    expect(offered).toEqual(expect.arrayContaining(names));
    return;
  }
  const text = request?.parts.map((part) => part.text).join('\n') ?? '';
  expect(text.split('\n')).toEqual(expect.arrayContaining(names));
  expect(text).toContain(INSTRUCTIONS);
  expect(offered.filter((name) => names.includes(name))).toEqual([]);
}

/** Returns the last result of each server that the model was given in a session. */
function getResults(requests: readonly ModelRequest[], { servers }: ProgramUnderTest): string[] {
  const results = requests.at(-1)?.parts.filter(({ role }) => role === 'tool') ?? [];
  return results.slice(-servers.length).map(({ text }) => text);
}

/** Returns the sizes of a server's tools in the first and in the last request of a session. */
function describeTools(program: AgentProgram, server: string, requests: readonly ModelRequest[]): string[] {
  return [requests[0], requests.at(-1)].map((request, index) => {
    const tools = request?.tools.filter(({ name }) => name.startsWith(program.toOfferedName(server, ''))) ?? [];
    const sizes = tools.map(({ name, definition }) => `${name} ${JSON.stringify(definition).length}`);
    const total = tools.reduce((sum, { definition }) => sum + JSON.stringify(definition).length, 0);
    return `${index === 0 ? 'first' : 'last'} request: ${total} characters of definitions (${sizes.join(', ')})`;
  });
}
