import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../deploy/tools.ts';
import { openOpenAiCompatible } from '../packages/engine/src/embedding/openai-compatible.ts';
import { send } from '../packages/server/conformance/http.ts';
import {
  createTemporaryFolder,
  eventually,
  freePort,
  launch,
  untilHealthy,
} from '../packages/server/conformance/process.ts';

const page = readFileSync(fileURLToPath(new URL('guide/languages.md', import.meta.url)), 'utf8');

/** Returns the code blocks of a section that are not run together with the other pages. */
function getCommands(section: string): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(section)) ?? '';
  return [...text.matchAll(/^<!-- not run: docs\/languages.test.ts runs it -->\n```sh\n([^`]+)\n```$/gm)].map(
    ([, command = '']) => command.replaceAll('\\\n', ' '),
  );
}

/** Notes, each with a question in another script, so that they share no word. */
const NOTES = [
  ['姉の息子はそばアレルギーがある。', 'Which food is dangerous for my nephew?'],
  ['Ключ от дачи лежит у соседки.', '¿Quién tiene la llave de la casa de campo?'],
  ['جواز سفري تنتهي صلاحيته في يناير.', 'Wann läuft mein Reisepass ab?'],
  ['我们的猫只吃鸡肉罐头。', 'What does our cat eat?'],
  ['कार का बीमा जुलाई में समाप्त हो रहा है।', "Quand l'assurance de la voiture se termine-t-elle ?"],
] as const;

describe.runIf(isInstalled('python3'))('a multilingual model in two commands', () => {
  const [installAndServe = '', start = ''] = getCommands('A multilingual model in two commands');
  let modelPort: number;
  let stopModel: () => Promise<void>;

  beforeAll(async () => {
    const folder = createTemporaryFolder();
    execFileSync('python3', ['-m', 'venv', folder]);
    modelPort = await freePort();
    const command = installAndServe.replaceAll('8091', String(modelPort));
    const model = spawn('bash', ['-c', command], {
      // A process group, because bash starts the server as a child.
      detached: true,
      env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
    });
    let output = '';
    for (const stream of [model.stdout, model.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const closed = once(model, 'close');
    stopModel = async () => {
      if (model.exitCode === null) process.kill(-(model.pid as number));
      await closed;
    };
    await eventually('the server of the model', 240_000, () => {
      if (model.exitCode !== null) throw new Error(`${command}\n\nfailed:\n${output}`);
      return output.includes('server on http') ? true : undefined;
    });
  }, 300_000);
  afterAll(() => stopModel());

  it('finds memories by meaning in other languages and scripts', async () => {
    const port = await freePort();
    const [npx, memoryd, ...flags] = start.replaceAll('8091', String(modelPort)).split(/\s+/);
    expect([npx, memoryd]).toEqual(['npx', 'memoryd']);
    const database = join(createTemporaryFolder(), 'memory.db');
    const server = launch([...flags, '--port', String(port), '--db-path', database]);
    onTestFinished(async () => void (await server.end('SIGTERM')));
    await untilHealthy(port, server);
    for (const [content] of NOTES) await send(port, { method: 'POST', path: '/store', json: { content } });
    for (const [content, question] of NOTES) {
      const path = `/recall?${new URLSearchParams({ query: question, top_k: '1' })}`;
      const isFirst = async () => {
        const { body } = await send<{ results: { content: string }[] }>(port, { path });
        return body.results[0]?.content === content ? true : undefined;
      };
      // The vectors of new memories are computed in the background.
      await eventually(`"${question}" to find "${content}"`, 60_000, isFirst);
    }
  });

  it('embeds a text as a query or as a passage by the input types of the command', async () => {
    const [, query = ''] = /--embedding-query-input-type (\S+)/.exec(start) ?? [];
    const [, memory = ''] = /--embedding-passage-input-type (\S+)/.exec(start) ?? [];
    const url = `http://127.0.0.1:${modelPort}/v1`;
    const open = async (inputTypes = { query: '', memory: '' }) => {
      const model = { url, model: 'multilingual-e5-small', inputTypes };
      const embedder = await openOpenAiCompatible(model, AbortSignal.timeout(30_000));
      onTestFinished(() => embedder.close());
      const embed = async (purpose: 'query' | 'memory') =>
        (await embedder.embed(['the key of the house'], purpose))[0]?.vectors[0];
      return { query: await embed('query'), memory: await embed('memory') };
    };
    const typed = await open({ query, memory });
    // Without an input type, this server embeds every text as a query.
    const untyped = await open();
    expect(untyped.memory).toEqual(untyped.query);
    expect(typed.query).toEqual(untyped.query);
    expect(typed.memory).not.toEqual(typed.query);
  });
});
