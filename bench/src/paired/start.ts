// Child process: opens a database, runs recalls, and prints as JSON the time from process start to the first result,
// and the resident memory.
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { openEngineAt } from './side.ts';
import type { StartResult } from './starts.ts';

const RECALLS = 300;
const [module = '', database = '', settings = '{}'] = process.argv.slice(2);
const dialogue = createGeneratedDialogue(2);
const memory = await openEngineAt(module, database, JSON.parse(settings));
await memory.recall({ query: dialogue.turn(0).content });
// `performance.now` counts from the start of the process.
const firstResponseMs = performance.now();
for (let i = 1; i < RECALLS; i++) await memory.recall({ query: dialogue.turn(i).content });
const result: StartResult = { firstResponseMs, residentBytes: process.memoryUsage.rss() };
process.stdout.write(JSON.stringify(result));
await memory.close();
