import { openEngine } from '@memoryd/engine';

/*
 * A program that has the engine in its own process, as an agent may: it does what its parent sends, one verb of the
 * interface after the other, and sends back what that answered.
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

process.on('message', async ({ no, verb, args }) => {
  if (verb === 'close') {
    await engine.close();
    process.disconnect();
    return;
  }
  try {
    process.send({ no, answer: await api[verb](...args) });
  } catch ({ code, message }) {
    process.send({ no, refusal: { code, message } });
  }
});
process.send({ ready: true });
