import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Command } from 'commander';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { openEngineAt } from '../paired/side.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { CoverageTrace, type Traced } from './coverage-trace.ts';

const options = new Command('npm run bench:trace --')
  .description(
    'Prints the source files that one recall and one store run through, by thread, and the calls of threads.',
  )
  .option(
    '--engine <folder>',
    'checkout to trace, installed and built',
    fileURLToPath(new URL('../../..', import.meta.url)),
  )
  .parse()
  .opts<{ engine: string }>();

/** Memories before the traced calls, so that the calls run as in a database in use. */
const MEMORIES = 200;

await withTemporaryFolder(async (folder) => {
  const module = pathToFileURL(join(options.engine, 'packages/engine/dist/bundle/index.js')).href;
  const memory = await openEngineAt(module, join(folder, 'memory.db'), { embedder: 'minilm' });
  const dialogue = createGeneratedDialogue(1);
  const store = (turn: number) => memory.store({ content: dialogue.turn(turn).content, user_id: 'one' });
  const recall = () => memory.recall({ query: 'when did we move to the new house?', user_id: 'one', track: false });
  for (let turn = 0; turn < MEMORIES; turn++) await store(turn);
  await recall();
  const trace = await CoverageTrace.start(options.engine);
  try {
    print('recall', await trace.record(recall));
    print('store', await trace.record(() => store(MEMORIES)));
  } finally {
    await trace.stop();
    await memory.close();
  }
});

/** Prints the files, without those of this measurement. */
function print(name: string, { files, threadCalls }: Traced): void {
  for (const ofThread of files.values())
    for (const file of ofThread) if (file.startsWith('bench/')) ofThread.delete(file);
  const all = new Set([...files.values()].flatMap((ofThread) => [...ofThread]));
  process.stdout.write(`\n${name}: ${all.size} files, ${threadCalls} calls of threads\n`);
  for (const [thread, ofThread] of files) {
    process.stdout.write(`  ${thread}: ${ofThread.size} files\n`);
    for (const file of [...ofThread].sort()) process.stdout.write(`    ${file}\n`);
  }
}
