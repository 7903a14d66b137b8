import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { MemoryApi, StatsResponse } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { serveStdio } from './stdio.ts';

const STATS: StatsResponse = {
  working_count: 0,
  episodic_count: 0,
  semantic_count: 0,
  db_size_mb: 0,
  last_sleep_at: null,
  pending_embeddings: 0,
};

it('takes up so many requests at a time, and the others as those are answered', async () => {
  let asked = 0;
  let answer: (stats: StatsResponse) => void = () => {};
  const answered = new Promise<StatsResponse>((resolve) => {
    answer = resolve;
  });
  const stats = () => {
    asked += 1;
    return answered;
  };
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = await serveStdio(
    { api: { stats } as MemoryApi, scope: 'operate' },
    {
      version: '1',
      maxArgumentBytes: 1024,
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
  const message = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'stats', arguments: {} } };
  for (let id = 0; id < 1000; id += 1) input.write(`${JSON.stringify({ ...message, id })}\n`);
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(asked).toBe(256);
  expect(lines).toBe(0);
  answer(STATS);
  input.end();
  await once(input, 'end');
  await client.answered();
  for (let turn = 0; turn < 100 && lines < 1000; turn += 1) await setImmediate();
  expect([asked, lines]).toEqual([1000, 1000]);
  expect(await client.ended).toBe('input ended');
  await client.close();
});
