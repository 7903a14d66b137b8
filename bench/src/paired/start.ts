// A process that opens a database, answers a recall and tells what that took.
import { generatedDialogue } from '../latency/generated-dialogue.ts';
import { openEngineAt } from './side.ts';
import type { Started } from './starts.ts';

const RECALLS = 300;
const [module = '', database = '', settings = '{}'] = process.argv.slice(2);
const dialogue = generatedDialogue(2);
const memory = await openEngineAt(module, database, JSON.parse(settings));
await memory.recall({ query: dialogue.turn(0).content });
// `performance.now` counts from the start of the process.
const firstAnswerMs = performance.now();
for (let i = 1; i < RECALLS; i++) await memory.recall({ query: dialogue.turn(i).content });
const started: Started = { firstAnswerMs, residentBytes: process.memoryUsage.rss() };
process.stdout.write(JSON.stringify(started));
await memory.close();
