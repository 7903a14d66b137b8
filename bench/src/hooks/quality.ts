import { MemoryClient } from '@memoryd/client';
import type { StoreRequest } from '@memoryd/contract';
import { splitIntoBatches } from '../batches.ts';
import { createRelevanceLookup, type Dataset, getContent, type Question, type Store } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { type Progress, showProgress } from '../progress.ts';
import type { RunningServer } from '../server-process.ts';
import type { Gift } from './gift-scores.ts';
import { KnownMemories, type KnownMemory } from './known-memories.ts';
import { type Owner, reportPrompt, toProjectLabels } from './prompt-hook.ts';

/** The owner who asks. The other owners have the same memories with a mark, so that recall finds theirs as easily. */
const ASKER: Owner = { user: 'ada', project: 'garden' };
const OTHERS: Owner[] = [
  { user: 'ada', project: 'harbor' },
  { user: 'bob', project: 'garden' },
  { user: 'bob', project: 'harbor' },
];

/** How the questions of a conversation are asked, and whether the service stores them as prompts. */
export interface Variant {
  /** `own`: a new session for each question. `one`: all questions of a conversation in one session. */
  sessions: 'own' | 'one';
  capture: 'off' | 'prompts';
}

const VARIANTS: readonly Variant[] = [
  { sessions: 'own', capture: 'off' },
  { sessions: 'one', capture: 'off' },
  { sessions: 'own', capture: 'prompts' },
  { sessions: 'one', capture: 'prompts' },
];

/** Runs `use` with a new server. */
export type WithServer = <T>(use: (server: RunningServer) => Promise<T>) => Promise<T>;

/**
 * Reports the questions of each store as prompts, in each variant.
 *
 * @param maxQuestions of each store
 */
export async function measureQuality(
  sets: readonly Dataset[],
  maxQuestions: number,
  withServer: WithServer,
  signal: AbortSignal,
): Promise<Map<Variant, Gift[]>> {
  const stores = sets.flatMap((set) => set.stores.map((store) => ({ set: set.name, store })));
  const gifts = new Map<Variant, Gift[]>(VARIANTS.map((variant) => [variant, []]));
  const prompts = stores.reduce((sum, { store }) => sum + Math.min(maxQuestions, store.questions.length), 0);
  const progress = showProgress('starting', prompts * VARIANTS.length);
  try {
    for (const { set, store } of stores) {
      progress.label(`${set}/${store.name}`);
      const questions = store.questions.slice(0, maxQuestions);
      await withServer(async (server) => {
        await fill(server, store, signal);
        for (const [variant, all] of gifts) {
          all.push(...(await askQuestions(server, { ...store, questions }, variant, progress, signal)));
          // The prompts of a variant must not be memories of the next one.
          if (variant.capture === 'prompts')
            await new MemoryClient({ url: server.origin }).forgetMany({ source: 'claude-code' });
        }
      });
    }
  } finally {
    progress.end();
  }
  return gifts;
}

async function fill({ client }: RunningServer, store: Store, signal: AbortSignal): Promise<void> {
  for (const owner of [ASKER, ...OTHERS]) {
    const requests = store.turns.map(
      (turn): StoreRequest => ({
        content: mark(getContent(turn), owner),
        user_id: owner.user,
        ...toProjectLabels(owner),
        ...(turn.session !== null && { session_id: `${owner.project} ${turn.session}` }),
        ...(turn.timestamp !== null && { created_at: turn.timestamp }),
      }),
    );
    for (const batch of splitIntoBatches(requests)) await client.storeBatch(batch);
  }
  await waitForEmbeddings(client, signal);
}

function mark(content: string, owner: Owner): string {
  return owner === ASKER ? content : `${content} (${owner.user}, ${owner.project})`;
}

async function askQuestions(
  { client }: RunningServer,
  store: Store,
  variant: Variant,
  progress: Progress,
  signal: AbortSignal,
): Promise<Gift[]> {
  const known = new KnownMemories();
  const add = (owner: Owner, content: string, kind: KnownMemory['kind']) => known.add({ ...owner, content, kind });
  for (const owner of [ASKER, ...OTHERS]) {
    for (const turn of store.turns) add(owner, mark(getContent(turn), owner), 'turn');
  }
  const getEvidence = createRelevanceLookup(store);
  const gifts: Gift[] = [];
  for (const question of store.questions) {
    const sessionId = toSessionId(store, question, variant);
    const prompt = { ...ASKER, sessionId, text: question.text, promptId: question.id };
    const context = await reportPrompt(client, prompt, { capture: variant.capture });
    const memories = known.read(context);
    gifts.push({ owner: ASKER, sessionId, context, memories, evidence: getEvidence(question) });
    if (variant.capture === 'prompts') {
      add(ASKER, question.text, 'prompt');
      // A later question must find this one by its vector too, however fast the machine is.
      await waitForEmbeddings(client, signal);
    }
    progress.advance();
  }
  return gifts;
}

function toSessionId(store: Store, question: Question, { sessions, capture }: Variant): string {
  return `${capture} ${store.name} ${sessions === 'own' ? question.id : ''}`.trim();
}
