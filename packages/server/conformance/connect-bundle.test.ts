import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  getMcpConfigForManifest,
  hasRequiredConfigMissing,
  type McpbManifestAny,
  unpackExtension,
  validateManifest,
} from '@anthropic-ai/mcpb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { writeBundle } from '../src/connect/bundle.ts';
import { getOwnFiles } from '../src/connect/machine.ts';
import type { Connection } from '../src/connect/types.ts';
import { connectAgent, getText, type Revision } from './agent.ts';
import { createTemporaryFolder } from './folders.ts';
import { getAdministration } from './keys.ts';
import { freePort, launch } from './process.ts';
import { createMachine, type MachineUnderTest } from './service-managers.ts';
import { startClient, useServer, WORDS_ONLY } from './under-test.ts';

/** The values that Claude Desktop puts in place of the default values of the manifest. */
type UserConfig = Record<string, string>;

function getConnection(port: number, hasKey = false): Connection {
  const url = `http://127.0.0.1:${port}`;
  return { program: 'claude-desktop', url, user: 'ada lovelace', capture: 'prompts', recall: true, hasKey };
}

/** Writes a bundle, unpacks it with the official package, and returns its manifest and the command of its server. */
async function openBundle(connection: Connection, machine: MachineUnderTest, userConfig: UserConfig = {}) {
  const { path: mcpbPath } = await writeBundle(connection, machine);
  const extensionPath = createTemporaryFolder();
  // Silent, but for the result of the check, which the package prints.
  const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    expect(await unpackExtension({ mcpbPath, outputDir: extensionPath, silent: true })).toBe(true);
    expect(validateManifest(join(extensionPath, 'manifest.json'))).toBe(true);
  } finally {
    printed.mockRestore();
  }
  const manifest: McpbManifestAny = JSON.parse(readFileSync(join(extensionPath, 'manifest.json'), 'utf8'));
  const options = { extensionPath, systemDirs: {}, pathSeparator: '/', userConfig };
  const command = await getMcpConfigForManifest({ manifest, ...options });
  if (command === undefined) throw new Error('the manifest has no command');
  const { PATH = '' } = process.env;
  return {
    mcpbPath,
    manifest,
    start: { command: command.command, args: command.args ?? [], env: { PATH, ...command.env } },
  };
}

describe('the bundle for Claude Desktop', () => {
  const client = useServer({ env: WORDS_ONLY });

  it.each<Revision>(['2025-11-25', '2026-07-28'])(
    'the bundle serves the tools of a running service in revision %s',
    async (revision) => {
      const { start, manifest } = await openBundle(getConnection(client.server.port), createMachine('darwin'));
      expect(hasRequiredConfigMissing({ manifest, userConfig: {} })).toBe(false);
      const agent = await connectAgent(start, revision);
      onTestFinished(() => agent.end());
      const { tools } = await agent.client.listTools();
      expect(tools.map(({ name }) => name)).toContain('memory_recall');
      await agent.result('memory_store', { content: `Ada grows quinces, ${revision}` });
      expect(getText(await agent.result('memory_recall', { query: 'quinces' }))).toContain(
        `Ada grows quinces, ${revision}`,
      );
      expect((await client.memories('user_id=ada+lovelace')).total).toBeGreaterThan(0);
      expect((await client.memories('user_id=ben')).total).toBe(0);
      expect(agent.faults).toEqual([]);
    },
  );

  it('the bundle serves another user if the person names another user in the settings of Claude Desktop', async () => {
    const userConfig = { user: 'ben & co' };
    const { start } = await openBundle(getConnection(client.server.port), createMachine('darwin'), userConfig);
    const agent = await connectAgent(start);
    onTestFinished(() => agent.end());
    await agent.result('memory_store', { content: 'Ben keeps bees' });
    expect((await client.memories(new URLSearchParams({ user_id: 'ben & co' }).toString())).total).toBe(1);
  });

  it('the bundle refuses to serve without a user, who would have the memories of everybody', async () => {
    const { start } = await openBundle(getConnection(client.server.port), createMachine('darwin'), { user: '' });
    await expect(connectAgent(start)).rejects.toThrow('the user is empty');
  });

  it('the bundle waits for a service that starts after Claude Desktop', async () => {
    const port = await freePort();
    const { start } = await openBundle(getConnection(port), createMachine('darwin'));
    const connecting = connectAgent(start);
    const late = launch(
      ['serve', '--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')],
      WORDS_ONLY,
    );
    onTestFinished(async () => void (await late.end('SIGTERM')));
    const agent = await connecting;
    onTestFinished(() => agent.end());
    expect((await agent.client.listTools()).tools).not.toEqual([]);
  });

  it('the bundle reads the API key from the file of the user, and has no key in its own files', async () => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const { keys } = await getAdministration(dbPath);
    const { key } = await keys.add({ namespace: 'default', scope: 'write', user_id: 'ada lovelace' });
    const locked = await startClient({ env: WORDS_ONLY, dbPath });
    onTestFinished(async () => void (await locked.server.stop()));
    const machine = createMachine('darwin');
    const { start, mcpbPath } = await openBundle(getConnection(locked.server.port, true), machine);
    await expect(connectAgent(start)).rejects.toThrow('memoryd connect --status');
    writeFileSync(getOwnFiles(machine).key, `${key}\n`);
    const agent = await connectAgent(start);
    onTestFinished(() => agent.end());
    expect((await agent.client.listTools()).tools).not.toEqual([]);
    expect(readFileSync(mcpbPath).includes(key)).toBe(false);
  });

  it('the bundle has the same bytes when it is written again, and is small', async () => {
    const machine = createMachine('linux');
    const { path } = await writeBundle(getConnection(8090), machine);
    const bytes = readFileSync(path);
    await writeBundle(getConnection(8090), machine);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(statSync(path).size).toBeLessThan(10_000);
  });
});
