import { once } from 'node:events';
import { PassThrough, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createTimeZone, type ForgetResponse, type MemoryApi } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { serveStdio } from './stdio.ts';

const FORGOTTEN: ForgetResponse = { status: 'forgotten', id: 'a' };

it.each([
  ['each for itself', (input: Writable, lines: string[]) => lines.forEach((line) => void input.write(line))],
  ['all at once', (input: Writable, lines: string[]) => void input.write(lines.join(''))],
])('memoryd mcp handles 256 requests concurrently, and the others after these, if they come %s', async (_how, send) => {
  let calls = 0;
  let respond: (response: ForgetResponse) => void = () => {};
  const response = new Promise<ForgetResponse>((resolve) => {
    respond = resolve;
  });
  const forget: MemoryApi['forget'] = () => {
    calls += 1;
    return response;
  };
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = await serveStdio(
    { api: { forget } as MemoryApi, scope: 'operate' },
    {
      version: '1',
      maxArgumentBytes: 1024,
      zone: createTimeZone('UTC'),
      onDefect: () => {},
      maxMessageBytes: 1024,
      input,
      output,
    },
  );
  let lines = 0;
  output.setEncoding('utf8').on('data', (text: string) => {
    lines += text.split('\n').length - 1;
  });
  const message = {
    jsonrpc: '2.0',
    method: 'tools/call',
    params: { name: 'memory_forget', arguments: { memory_id: 'a' } },
  };
  send(
    input,
    Array.from({ length: 1000 }, (_, id) => `${JSON.stringify({ ...message, id })}\n`),
  );
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(calls).toBe(256);
  expect(lines).toBe(0);
  respond(FORGOTTEN);
  input.end();
  await once(input, 'end');
  await client.answered();
  for (let turn = 0; turn < 100 && lines < 1000; turn += 1) await setImmediate();
  expect([calls, lines]).toEqual([1000, 1000]);
  expect(await client.ended).toBe('input ended');
  await client.close();
});
