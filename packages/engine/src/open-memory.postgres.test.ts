import { ENGINE_DEFAULTS, openEngine } from '@memoryd/engine';
import { TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { memoryApiContract } from '@memoryd/suites';
import { describe, expect, it, onTestFinished } from 'vitest';

const open = (databaseUrl: string) =>
  openEngine({
    ...ENGINE_DEFAULTS,
    embedder: 'none',
    consolidationIntervalSeconds: 0,
    telemetry: { report: () => {} },
    databaseUrl,
    databaseConnections: TEST_CONNECTIONS,
  });

describe('in-process memory in a PostgreSQL database', () => {
  memoryApiContract(async () => {
    const server = await usePostgres();
    const url = await server.create();
    const engine = await open(url);
    return {
      memory: engine.namespace('default'),
      async close() {
        await engine.close();
        await server.drop(url);
        await server.close();
      },
    };
  });
});

describe('two engines on one PostgreSQL database', () => {
  it('two engines on one PostgreSQL database filter the events of each other by what memories were before the event', async () => {
    const server = await usePostgres();
    const url = await server.create();
    const engines = [await open(url), await open(url)];
    const [writer, reader] = engines.map((engine) => engine.namespace('default'));
    onTestFinished(async () => {
      for (const engine of engines) await engine.close();
      await server.drop(url);
      await server.close();
    });
    if (!writer || !reader) return expect.unreachable();
    const stopping = new AbortController();
    const filter = { 'metadata.long.kind': 'bill' };
    const stream = reader.events({ filter }, stopping.signal)[Symbol.asyncIterator]();
    // A notice with these fields has several payloads.
    const metadata = { long: { kind: 'bill', text: '日'.repeat(4000) } };
    const batch = Array.from({ length: 100 }, (_, i) => ({ content: `bill ${i}`, ...(i % 2 === 0 && { metadata }) }));
    const { results } = await writer.storeBatch(batch);
    const ids = results.flatMap((result, i) => ('id' in result && i % 2 === 0 ? [result.id] : []));
    await writer.update(ids[0] as string, { metadata: {} });
    await writer.recall({ query: 'bill', top_k: 100 });
    await writer.forget(ids[1] as string);
    const events = [];
    while (events.length < 4) events.push((await stream.next()).value);
    expect(events).toMatchObject([
      { type: 'stored', memory_ids: ids, count: 50 },
      { type: 'updated', memory_ids: [ids[0]], count: 1 },
      { type: 'recalled', count: 49 },
      { type: 'forgotten', memory_ids: [ids[1]], count: 1 },
    ]);
    stopping.abort();
  });
});
