import { MemoryClient } from '@memoryd/client';
import type { MemoriesResponse, Memory } from '@memoryd/contract';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { createQuestionSource } from '../latency/question-source.ts';
import type { RunningServer } from '../server-process.ts';
import { type Gift, scoreGifts } from './gift-scores.ts';
import { KnownMemories } from './known-memories.ts';
import { type Owner, type Prompt, reportPrompt, toProjectAddress, toProjectLabels } from './prompt-hook.ts';
import { createPromptSource } from './prompt-source.ts';

const OWNERS: readonly Owner[] = ['ada', 'bob'].flatMap((user) =>
  ['garden', 'harbor'].map((project) => ({ user, project })),
);
const TURNS = 100;
const PROMPTS_PER_SESSION = 25;
const PAGE_SIZE = 1000;
/** Ways in which a program gives an earlier context back inside a prompt. */
const WRAPPERS: readonly ((context: string) => string)[] = [
  (context) => `<hook_context>${context}</hook_context>`,
  (context) => `<system-reminder>\n${context}\n</system-reminder>`,
  (context) => context,
];

export interface CheckResult {
  prompts: number;
  /** Number of prompts that VS Code reported too. */
  reported_twice: number;
  /** Number of prompts with a context. */
  with_context: number;
  /** Number of prompts that are stored once, for the right user and project. Must equal `prompts`. */
  stored_once: number;
  /** Number of stored prompts of another user or project, and of given memories of these. Must be 0. */
  crossings: number;
  /** Number of stored memories that are no prompt, such as one with a context in it. Must be 0. */
  own_text_stored: number;
  /** Number of memories that were given in a session before. Must be 0. */
  given_twice: number;
  /** Number of texts in contexts that are no memory. Must be 0. */
  unknown_given: number;
}

/**
 * Reports prompts of two users in two projects each, in turns, every third also as VS Code does at the same time. Each
 * prompt but the first of a session contains the context before it.
 */
export async function checkPrompts(server: RunningServer, count: number, signal: AbortSignal): Promise<CheckResult> {
  const dialogue = createGeneratedDialogue(1);
  const known = new KnownMemories();
  await fill(server, known, signal);
  const ask = createPromptSource(createQuestionSource(dialogue, TURNS, 1));
  const prompts = Array.from({ length: count }, (_, index) => toPrompt(index, ask()));
  const gifts: Gift[] = [];
  const contextBySession = new Map<string, string>();
  for (const [index, prompt] of prompts.entries()) {
    known.add({ user: prompt.user, project: prompt.project, content: prompt.text, kind: 'prompt' });
    const session = JSON.stringify([prompt.user, prompt.sessionId]);
    const before = contextBySession.get(session) ?? '';
    const wrap = WRAPPERS[index % WRAPPERS.length] ?? String;
    const sent = { ...prompt, text: before === '' ? prompt.text : `${wrap(before)}\n${prompt.text}` };
    const contexts = await Promise.all([
      reportPrompt(server.client, sent),
      ...(isReportedTwice(index) ? [reportPrompt(server.client, sent, { program: 'vscode' })] : []),
    ]);
    for (const context of contexts) {
      const memories = known.read(context);
      gifts.push({ owner: prompt, sessionId: prompt.sessionId, context, memories, evidence: new Set() });
    }
    if (contexts[0]) contextBySession.set(session, contexts[0]);
  }
  const stored = await readStored(server);
  return { ...countStored(prompts, stored), ...countGiven(gifts, countCrossings(prompts, stored)) };
}

/** Every owner has the same turns with a mark, so that a memory of another owner is as likely to be found. */
async function fill({ client }: RunningServer, known: KnownMemories, signal: AbortSignal): Promise<void> {
  const dialogue = createGeneratedDialogue(1);
  for (const owner of OWNERS) {
    const turns = Array.from({ length: TURNS }, (_, index) => dialogue.turn(index));
    const requests = turns.map(({ content, sessionId }) => ({
      content: `${content} (${owner.user}, ${owner.project})`,
      session_id: `${owner.project} ${sessionId}`,
      user_id: owner.user,
      ...toProjectLabels(owner),
    }));
    await client.storeBatch(requests);
    for (const { content } of requests) known.add({ ...owner, content, kind: 'turn' });
  }
  await waitForEmbeddings(client, signal);
}

function isReportedTwice(index: number): boolean {
  return index % 3 === 0;
}

/** The users have the same session ids. Prompts that VS Code reports too have no id. */
function toPrompt(index: number, text: string): Prompt {
  const owner = OWNERS[index % OWNERS.length] as Owner;
  const session = Math.floor(index / OWNERS.length / PROMPTS_PER_SESSION);
  const sessionId = `${owner.project} ${session}`;
  return { ...owner, sessionId, text, ...(!isReportedTwice(index) && { promptId: `prompt ${index}` }) };
}

/** Returns the memories that hooks stored. */
async function readStored({ origin }: RunningServer): Promise<Memory[]> {
  const memory = new MemoryClient({ url: origin });
  const stored: Memory[] = [];
  let cursor: string | undefined;
  do {
    const page: MemoriesResponse = await memory.memories({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) });
    stored.push(...page.memories.filter(({ source }) => source !== 'api'));
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return stored;
}

function countStored(
  prompts: readonly Prompt[],
  stored: readonly Memory[],
): Pick<CheckResult, 'prompts' | 'reported_twice' | 'stored_once' | 'own_text_stored'> {
  const texts = new Set(prompts.map(({ text }) => text));
  const isStoredOnce = (prompt: Prompt) => {
    const [first, second] = stored.filter(({ content }) => content === prompt.text);
    return first !== undefined && second === undefined && isOwnedBy(first, prompt);
  };
  return {
    prompts: prompts.length,
    reported_twice: prompts.filter((_, index) => isReportedTwice(index)).length,
    stored_once: prompts.filter(isStoredOnce).length,
    own_text_stored: stored.filter(({ content }) => !texts.has(content)).length,
  };
}

function countCrossings(prompts: readonly Prompt[], stored: readonly Memory[]): number {
  const ownerByText = new Map(prompts.map((prompt) => [prompt.text, prompt]));
  return stored.filter((memory) => {
    const owner = ownerByText.get(memory.content);
    return owner !== undefined && !isOwnedBy(memory, owner);
  }).length;
}

function isOwnedBy({ user_id, metadata }: Memory, owner: Owner): boolean {
  return user_id === owner.user && metadata.project === toProjectAddress(owner);
}

function countGiven(
  gifts: readonly Gift[],
  storedCrossings: number,
): Pick<CheckResult, 'with_context' | 'crossings' | 'given_twice' | 'unknown_given'> {
  const { crossings, repeated, unknown } = scoreGifts(gifts);
  return {
    with_context: gifts.filter(({ context }) => context !== '').length,
    crossings: crossings + storedCrossings,
    given_twice: repeated,
    unknown_given: unknown,
  };
}
