import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { handlePost } from './http.ts';

it('POST /mcp does no work for a client that has already disconnected', async () => {
  const calls: string[] = [];
  const stats: MemoryApi['stats'] = () => {
    calls.push('stats');
    return Promise.reject(new Error('must not be called'));
  };
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const response = await handlePost(
    { api: { stats } as MemoryApi, scope: 'operate' },
    { version: '1', maxArgumentBytes: 1024, zone: createTimeZone('UTC'), onDefect: () => {} },
    {
      request: new Request('http://memoryd/mcp', { method: 'POST', headers }),
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'stats', arguments: {} } },
      disconnected: AbortSignal.abort(),
      idleMs: 60_000,
      onMessage: () => calls.push('onMessage'),
    },
  );
  await response.text();
  expect(calls).toEqual([]);
});
