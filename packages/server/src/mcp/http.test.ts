import { once } from 'node:events';
import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { TOOLS } from '@memoryd/contract/tools';
import { describe, expect, it } from 'vitest';
import { handlePost } from './http.ts';
import { MCP_TOOLS } from './tools.ts';

it('POST /mcp does no work for a client that has already disconnected', async () => {
  const calls: string[] = [];
  const stats: MemoryApi['stats'] = () => {
    calls.push('stats');
    return Promise.reject(new Error('must not be called'));
  };
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const response = await handlePost(
    { api: { stats } as MemoryApi, scope: 'operate' },
    { version: '1', tools: MCP_TOOLS, maxArgumentBytes: 1024, zone: createTimeZone('UTC'), onDefect: () => {} },
    {
      request: new Request('http://memoryd/mcp', { method: 'POST', headers }),
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory_stats', arguments: {} } },
      disconnected: AbortSignal.abort(),
      idleMs: 60_000,
      onMessage: () => calls.push('onMessage'),
    },
  );
  await response.text();
  expect(calls).toEqual([]);
});

describe('POST /mcp', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const params = { name: TOOLS.memory_recall.name, arguments: { query: 'anything' } };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };

  it.each([
    ['2025-11-25', { ...call, params }],
    ['2026-07-28', { ...call, params: { ...params, _meta } }],
  ])('POST /mcp in protocol revision %s aborts the call of a client that disconnects', async (revision, body) => {
    const client = new AbortController();
    const events = new EventTarget();
    const [waiting, aborted] = ['waiting', 'aborted'].map((name) => once(events, name));
    const response = await handlePost(
      { api: {} as MemoryApi, scope: 'operate' },
      {
        ...{ version: '1', maxArgumentBytes: 1024, zone: createTimeZone('UTC'), onDefect: () => {} },
        acquireSlot: (_kind, signal) => {
          signal.addEventListener('abort', () => events.dispatchEvent(new Event('aborted')));
          events.dispatchEvent(new Event('waiting'));
          return new Promise(() => {});
        },
      },
      {
        request: new Request('http://memoryd/mcp', {
          method: 'POST',
          headers: {
            ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
            ...{ 'mcp-protocol-version': revision, 'mcp-method': call.method, 'mcp-name': params.name },
          },
        }),
        body,
        disconnected: client.signal,
        idleMs: 60_000,
        onMessage: () => {},
      },
    );
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    await waiting;
    client.abort();
    await aborted;
  });
});
