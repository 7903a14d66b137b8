import type { MemoryApi } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { answerPost } from './http.ts';

it('does nothing for a caller who has gone before it was looked at', async () => {
  const asked: string[] = [];
  const stats: MemoryApi['stats'] = () => {
    asked.push('stats');
    return Promise.reject(new Error('nobody wants to know'));
  };
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const response = await answerPost(
    { api: { stats } as MemoryApi, scope: 'operate' },
    { version: '1', maxArgumentBytes: 1024, onDefect: () => {} },
    {
      request: new Request('http://memoryd/mcp', { method: 'POST', headers }),
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'stats', arguments: {} } },
      gone: AbortSignal.abort(),
      idleMs: 60_000,
      onMessage: () => asked.push('room for an answer'),
    },
  );
  await response.text();
  expect(asked).toEqual([]);
});
