import { openEngine } from '@memoryd/engine';

/*
 * Runs the engine in its own process, as an agent may. Executes the API calls that the parent process sends and sends
 * back each result or error.
 */
const engine = await openEngine({
  dbPath: process.argv[2],
  embedder: 'none',
  embeddingUrl: '',
  consolidationIntervalSeconds: 0,
  workingAgeSeconds: 0,
  workingMax: 10_000,
  episodicMax: 0,
  semanticMax: 0,
  archiveDays: 30,
  maxAnswerBytes: 16 * 1024 * 1024,
  telemetry: { report() {} },
});
const api = engine.namespace('default');

process.on('message', async ({ callId, verb, args }) => {
  if (verb === 'close') {
    await engine.close();
    process.disconnect();
    return;
  }
  try {
    process.send({ callId, result: await api[verb](...args) });
  } catch ({ code, message }) {
    process.send({ callId, failure: { code, message } });
  }
});
process.send({ ready: true });
