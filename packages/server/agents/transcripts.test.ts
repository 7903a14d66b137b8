import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Memory } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import type { Client } from '../conformance/under-test.ts';
import type { Format, Part } from '../src/imports/format.ts';
import { claudeCode as claudeCodeFormat } from '../src/imports/formats/claude-code.ts';
import { codex as codexFormat } from '../src/imports/formats/codex.ts';
import { geminiCli as geminiCliFormat } from '../src/imports/formats/gemini-cli.ts';
import type { SourceFile } from '../src/imports/source/source.ts';
import { connect, createRepository, startService, toUrl, USER } from './connected.ts';
import { toPrompt } from './fake-model.ts';
import { CAN_SEE_PROCESSES } from './install.ts';
import { claudeCode } from './programs/claude-code.ts';
import { codex } from './programs/codex.ts';
import { geminiCli } from './programs/gemini-cli.ts';
import type { SessionStart } from './programs/program.ts';
import { type ProgramUnderTest, useAgentPrograms } from './run.ts';

type TextPart = Part & { kind: 'text' };

/** A call that each program has a tool for. Whether the program permits it does not matter. */
const LIST_FILES = {
  tool: /^(?:Bash|exec_command|list_directory)$/,
  args: { command: 'ls', description: 'List the files', cmd: 'ls', dir_path: '.' },
};

const SAID: readonly [string, SessionStart][] = [
  [toPrompt('Which files are in the folder of the garden?', LIST_FILES), 'new'],
  ['Ada keeps her spare key under the blue flower pot.', 'continued'],
  ['Who repaired the heater of the greenhouse?', 'new'],
  ['yes', 'continued'],
];

describe.skipIf(!CAN_SEE_PROCESSES)('transcripts of agent programs', { timeout: 900_000 }, () => {
  const programs = useAgentPrograms();

  it.each([
    ['Claude Code', claudeCode, claudeCodeFormat, [...SAID, ['The pear tree bears fruit in September.', 'forked']]],
    ['Codex', codex, codexFormat, SAID],
    ['Gemini CLI', geminiCli, geminiCliFormat, SAID],
  ] as const)('%s: give the memories that its hooks stored, and no others', async (_title, program, format, said) => {
    const service = await startService();
    const running = programs.createProgram(program, { servers: {}, waitsForServers: false, hasOwnHook: true });
    createRepository(running.project);
    await connect(running, toUrl(service), '--capture', 'turns');
    for (const [prompt, session] of said) await running.run(prompt, session);
    // All prompts except the short one, and an answer to each prompt.
    await expect.poll(() => getStored(service)).toHaveLength(2 * said.length - 1);

    const { parts, copies } = await readTranscripts(format, running);
    const stored = await getStored(service);
    const ids = new Map(stored.map((memory) => [memory.external_id, memory]));
    // Close to the end of a minute, a hook may have stored a prompt under the other minute.
    const known = parts.map(({ text }) => [text.external_id, ...(text.aliases ?? [])].find((id) => ids.has(id)));
    expect(known.toSorted()).toEqual([...ids.keys()].toSorted());
    for (const [at, { text }] of parts.entries()) {
      const memory = ids.get(known[at]);
      expect(text).toMatchObject({ content: memory?.content, tags: memory?.tags, source: memory?.source });
      expect(text.session_id).toBe(memory?.session_id);
      expect(text.metadata?.project).toBe(memory?.metadata.project);
      expect(text.created_at).toMatch(/^\d{4}-\d\d-\d\dT/);
    }
    const originals = new Set(parts.map(({ copyKey }) => copyKey));
    expect(copies.filter(({ copyKey }) => !originals.has(copyKey))).toEqual([]);
  });
});

/** Returns the memories of the hooks. */
async function getStored(service: Client): Promise<Memory[]> {
  return (await service.memories(`user_id=${USER}`)).memories;
}

/** Reads all files in the home folder of a program that its format recognizes. */
async function readTranscripts(format: Format, { home }: ProgramUnderTest) {
  const parts: TextPart[] = [];
  const copies: TextPart[] = [];
  for (const file of findFiles(home).filter((each) => isRecognized(format, each))) {
    const options = {
      capture: 'turns',
      map: {},
      restToMetadata: false,
      timeZone: 'UTC',
      readsRepositories: true,
    } as const;
    for await (const part of format.read(file, options)) {
      expect(part.kind).not.toBe('refused');
      if (part.kind === 'text') (part.isCopy ? copies : parts).push(part);
    }
  }
  return { parts, copies };
}

function findFiles(folder: string): SourceFile[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return { path, sizeBytes: 0, open: () => createReadStream(path) };
  });
}

function isRecognized(format: Format, { path }: SourceFile): boolean {
  const content = readFileSync(path, 'utf8');
  const text = content.slice(0, 65_536);
  return format.recognizes({ path, text, isWhole: text.length === content.length });
}
