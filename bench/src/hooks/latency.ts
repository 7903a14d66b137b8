import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { splitIntoBatches } from '../batches.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import type { Dialogue } from '../latency/dialogue.ts';
import { createQuestionSource } from '../latency/question-source.ts';
import { TOP_K } from '../latency/recall-load.ts';
import { showProgress } from '../progress.ts';
import type { RunningServer } from '../server-process.ts';
import {
  getContext,
  LONG_DEADLINE,
  type Owner,
  reportPrompt,
  toClaudeCodeBody,
  toHookPath,
  toProjectAddress,
  toProjectLabels,
} from './prompt-hook.ts';
import { createPromptSource } from './prompt-source.ts';
import { runNode } from './run-node.ts';

const SERVER_ASSETS = new URL('../../../packages/server/dist/connect/assets.js', import.meta.url).href;
const OWNER: Owner = { user: 'ada', project: 'garden' };
const PROMPTS_PER_SESSION = 20;
/** Number of recalls and hooks before the first round, because V8 is slower until frequent code is optimised. */
const WARM_UP_CALLS = 500;
/** Pause before each call, in which the service can queue the prompt of the call before for its vector. */
const SETTLE_MS = 20;

/**
 * The times of one round, in ms.
 *
 * - `recall`: one recall over HTTP.
 * - `hook`: one prompt over HTTP, from the request to the context.
 * - `node`: `node -e 0`, from the start to the exit.
 * - `file`: the file of the hooks, from the start to the exit with the context printed.
 */
export const KINDS = ['recall', 'hook', 'node', 'file'] as const;
export type Round = Record<(typeof KINDS)[number], number>;

export interface LatencyPlan {
  dialogue: Dialogue;
  /** Number of memories. */
  count: number;
  rounds: number;
  /** Pause before each round, in ms. */
  pause: number;
  seed: number;
  /** Empty folder for the project and the file of the hooks. */
  folder: string;
  signal: AbortSignal;
}

export interface MeasuredLatency {
  rounds: Round[];
  /** Of all measured prompts of `hook` and `file`, the share that got a context. */
  withContext: number;
}

/** Fills a server, and measures all kinds in each round, each time in another order and with other queries. */
export async function measureHookLatency(server: RunningServer, plan: LatencyPlan): Promise<MeasuredLatency> {
  const { rounds: count, pause, signal } = plan;
  await fill(server, plan);
  const calls = createCalls(server, plan, await createHookFile(plan.folder));
  for (let call = 0; call < WARM_UP_CALLS; call++) {
    await calls.recall();
    await calls.hook();
  }
  await calls.file();
  const rounds: Round[] = [];
  const contexts: string[] = [];
  const progress = showProgress('rounds', count);
  try {
    for (let round = 0; round < count; round++) {
      await sleep(pause, undefined, { signal });
      const times: Partial<Round> = {};
      const first = round % KINDS.length;
      for (const kind of [...KINDS.slice(first), ...KINDS.slice(0, first)]) {
        await sleep(SETTLE_MS, undefined, { signal });
        await waitForEmbeddings(server.client, signal);
        const { durationMs, context } = await calls[kind]();
        times[kind] = durationMs;
        if (context !== undefined) contexts.push(context);
      }
      rounds.push(times as Round);
      progress.advance();
    }
  } finally {
    progress.end();
  }
  return { rounds, withContext: contexts.filter((context) => context !== '').length / contexts.length };
}

async function fill({ client }: RunningServer, { dialogue, count, signal }: LatencyPlan): Promise<void> {
  const requests = Array.from({ length: count }, (_, index) => {
    const { content, sessionId } = dialogue.turn(index);
    return { content, session_id: sessionId, user_id: OWNER.user, ...toProjectLabels(OWNER) };
  });
  const progress = showProgress('storing and embedding', count);
  try {
    for (const batch of splitIntoBatches(requests)) await client.storeBatch(batch);
    await waitForEmbeddings(client, signal, (embedded) => progress.advance(embedded));
  } finally {
    progress.end();
  }
}

/** Makes one call of a kind. `context` is present if the call is a hook. */
type Call = () => Promise<{ durationMs: number; context?: string }>;

function createCalls(
  { client, origin }: RunningServer,
  plan: LatencyPlan,
  hookFile: string,
): Record<(typeof KINDS)[number], Call> {
  const { signal } = plan;
  const ask = createPromptSource(createQuestionSource(plan.dialogue, plan.count, plan.seed));
  const folder = createProject(plan.folder);
  const hookUrl = `${origin}${toHookPath('claude-code', OWNER, LONG_DEADLINE)}`;
  let prompts = 0;
  const nextPrompt = () => {
    const number = prompts++;
    const sessionId = `session ${Math.floor(number / PROMPTS_PER_SESSION)}`;
    return { ...OWNER, folder, sessionId, text: ask(), promptId: `prompt ${number}` };
  };
  return {
    async recall() {
      const query = ask();
      const startMs = performance.now();
      await client.recall(query, TOP_K, { user_id: OWNER.user });
      return { durationMs: performance.now() - startMs };
    },
    async hook() {
      const prompt = nextPrompt();
      const startMs = performance.now();
      const context = await reportPrompt(client, prompt);
      return { durationMs: performance.now() - startMs, context };
    },
    async node() {
      const { durationMs } = await runNode(['-e', '0'], { input: '', folder, signal });
      return { durationMs };
    },
    async file() {
      const input = JSON.stringify(toClaudeCodeBody(nextPrompt()));
      const { durationMs, output } = await runNode([hookFile, 'claude-code', hookUrl], { input, folder, signal });
      return { durationMs, context: output === '' ? '' : getContext(JSON.parse(output)) };
    },
  };
}

/** Writes the file of the hooks as `memoryd connect` does. Returns its path. */
async function createHookFile(folder: string): Promise<string> {
  const { getHookText } = (await import(SERVER_ASSETS)) as { getHookText(log: string): string };
  const path = join(folder, 'hook.cjs');
  writeFileSync(path, getHookText(join(folder, 'hook.log')));
  return path;
}

/** Creates a folder with the settings of Git that name the project of the memories. Returns its path. */
function createProject(folder: string): string {
  const project = join(folder, OWNER.project);
  mkdirSync(join(project, '.git'), { recursive: true });
  writeFileSync(join(project, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(project, '.git', 'config'), `[remote "origin"]\n\turl = https://${toProjectAddress(OWNER)}.git\n`);
  return project;
}
