import type { ForgetResponse, StoreBatchResponse, StoreRequest, StoreResponse } from '@memoryd/contract';
import { filesHold } from '../conformance/database-files.ts';
import { type Answer, type Request, send } from '../conformance/http.ts';
import { eventually } from '../conformance/process.ts';
import type { Client } from '../conformance/under-test.ts';
import { Random } from './random.ts';

/** What a run of kills came to. */
export interface Tally {
  kills: number;
  /** Writes that were answered with 200, by what they did. */
  acknowledged: Record<'store' | 'batch' | 'repeat' | 'update' | 'forget', number>;
  /** Memories that were looked for after a kill and found as they were acknowledged, summed over the kills. */
  present: number;
  /** Forgotten memories that were looked for and not found, in answers and in bytes, summed over the kills. */
  gone: number;
  lost: string[];
  duplicated: string[];
  returned: string[];
}

export function newTally(): Tally {
  return {
    kills: 0,
    acknowledged: { store: 0, batch: 0, repeat: 0, update: 0, forget: 0 },
    present: 0,
    gone: 0,
    lost: [],
    duplicated: [],
    returned: [],
  };
}

export function acknowledgedIn({ acknowledged }: Tally): number {
  return Object.values(acknowledged).reduce((sum, count) => sum + count, 0);
}

/** Stores under a key of their own, which may be sent again. */
interface Keyed {
  kind: 'store' | 'batch';
  key: string;
  memories: StoreRequest[];
}

type Write =
  | Keyed
  | { kind: 'repeat'; of: Keyed; ids: string[] }
  | { kind: 'update'; id: string; content: string }
  | { kind: 'forget'; id: string };

/** Words that tell one text from all others, of which one stands in each. */
const MARK_LETTERS = 20;

const PEOPLE = ['Ann', 'Ben', 'Cleo', 'Dov'];
const PLACES = ['the kitchen', 'the harbour', 'the old school', 'the garden'];

/**
 * One of several clients, with a session of its own: it writes without pause, one request after the other, and knows
 * after each what the server must hold. A write that a kill left without an answer may have happened or not.
 */
export class Writer {
  readonly #session: string;
  readonly #random: Random;
  readonly #tally: Tally;
  /** The texts of the memories that it stored and did not forget, by id. */
  readonly #kept = new Map<string, string>();
  readonly #forgotten = new Set<string>();
  /** Ids of the memories that ever held a text, by its mark. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #answered: { of: Keyed; ids: string[] }[] = [];
  #unanswered: Write | undefined;
  #keys = 0;

  constructor(session: string, seed: number, tally: Tally) {
    this.#session = session;
    this.#random = new Random(seed);
    this.#tally = tally;
  }

  /** Writes until the server does not answer any more. */
  async write(port: number): Promise<void> {
    for (;;) {
      this.#unanswered = this.#choose();
      const answer = await send(port, getRequest(this.#unanswered)).catch(() => undefined);
      if (!answer) return;
      if (answer.status !== 200) throw new Error(`${this.#unanswered.kind}: ${answer.status} ${answer.text}`);
      this.#take(this.#unanswered, answer);
      this.#unanswered = undefined;
    }
  }

  #choose(): Write {
    const drawn = this.#random.below(100);
    const id = this.#random.pick([...this.#kept.keys()]);
    if (drawn < 20 && id !== undefined) return { kind: 'update', id, content: this.#text() };
    if (drawn < 42 && id !== undefined) return { kind: 'forget', id };
    const earlier = this.#random.pick(this.#answered);
    if (drawn < 48 && earlier) return { kind: 'repeat', ...earlier };
    const count = drawn < 60 ? 2 + this.#random.below(12) : 1;
    const memories = Array.from({ length: count }, () => ({
      content: this.#newOrKnownText(),
      session_id: this.#session,
      tags: [this.#random.word(MARK_LETTERS)],
    }));
    return { kind: count > 1 ? 'batch' : 'store', key: `${this.#session} ${this.#keys++}`, memories };
  }

  // One in five says what another says already, so that consolidation has duplicates to merge.
  #newOrKnownText(): string {
    const known = this.#random.pick([...this.#kept.values()]);
    return known !== undefined && this.#random.below(5) === 0 ? known : this.#text();
  }

  #text(): string {
    const [who, where] = [this.#random.pick(PEOPLE), this.#random.pick(PLACES)];
    return `${who} put the box ${this.#random.word(MARK_LETTERS)} into ${where}, where nobody looks for it.`;
  }

  #take(write: Write, answer: Answer): void {
    this.#tally.acknowledged[write.kind]++;
    switch (write.kind) {
      case 'store':
      case 'batch':
        this.#takeStored(write, getIds(write, answer));
        break;
      case 'repeat': {
        const ids = getIds(write.of, answer);
        if (ids.join() !== write.ids.join()) this.#tally.duplicated.push(`${write.of.key}: ${write.ids} and ${ids}`);
        break;
      }
      case 'update':
        this.#keep(write.id, write.content);
        break;
      case 'forget': {
        const { id, also_forgotten = [] } = answer.body as ForgetResponse;
        for (const gone of [id, ...also_forgotten]) this.#forget(gone);
      }
    }
  }

  #takeStored(of: Keyed, ids: string[]): void {
    // Those that were found after a kill, and have been forgotten or updated since, are not stored anew.
    ids.forEach((id, i) => {
      if (!this.#kept.has(id) && !this.#forgotten.has(id)) this.#keep(id, of.memories[i]?.content ?? '');
    });
    this.#answered.push({ of, ids });
  }

  #keep(id: string, content: string): void {
    this.#kept.set(id, content);
    const mark = getMark(content);
    const holders = this.#holders.get(mark);
    if (holders) holders.add(id);
    else this.#holders.set(mark, new Set([id]));
  }

  #forget(id: string): void {
    this.#kept.delete(id);
    this.#forgotten.add(id);
  }

  /** Holds what a server has, started again after a kill, against what it must have; takes over what may be either way. */
  async check(client: Client): Promise<void> {
    const write = this.#unanswered;
    this.#unanswered = undefined;
    await this.#compare(client, write);
    if (write?.kind === 'store' || write?.kind === 'batch') {
      const answer = await client.send(getRequest(write));
      if (answer.status !== 200) throw new Error(`sent again: ${answer.status} ${answer.text}`);
      this.#takeStored(write, getIds(write, answer));
      await this.#compare(client, undefined);
    }
    await this.#expectFound(client);
    await this.#expectForgotten(client);
  }

  async #compare(client: Client, write: Write | undefined): Promise<void> {
    const { memories, total } = await client.session(this.#session, 'limit=10000');
    const there = new Map(memories.map(({ id, content }) => [id, content]));
    if (there.size !== total) this.#tally.duplicated.push(`${total} memories with ${there.size} ids`);
    this.#promoteForget(write, there);
    for (const [id, content] of this.#kept) this.#compareOne(id, content, there.get(id), write);
    for (const id of there.keys()) if (this.#forgotten.has(id)) this.#tally.returned.push(id);
    this.#adopt(write, there);
  }

  // A forget without a response removed the memory with all its hidden duplicates, or nothing. A duplicate has a text that
  // the memory has, or had before.
  #promoteForget(write: Write | undefined, there: ReadonlyMap<string, string>): void {
    if (write?.kind !== 'forget' || there.has(write.id)) return;
    for (const id of this.#getGroup(write.id)) if (this.#kept.has(id) && !there.has(id)) this.#forget(id);
  }

  #getGroup(id: string): Set<string> {
    const holders = [...this.#holders.values()];
    const group = new Set([id]);
    for (const member of group)
      for (const ids of holders) if (ids.has(member)) for (const other of ids) group.add(other);
    return group;
  }

  #compareOne(id: string, content: string, found: string | undefined, write: Write | undefined): void {
    if (write?.kind === 'update' && write.id === id && found === write.content) this.#keep(id, found);
    else if (found !== content)
      this.#tally.lost.push(`${id}: "${content}" is "${found}" after ${JSON.stringify(write)}`);
    else this.#tally.present++;
    // Its text may be in the history of the memory, or on its way there.
    if (write?.kind === 'update' && write.id === id) this.#noteHolder(write.content, id);
  }

  #noteHolder(content: string, id: string): void {
    const mark = getMark(content);
    this.#holders.set(mark, new Set([...(this.#holders.get(mark) ?? []), id]));
  }

  /** Memories that nobody was told of can only be those of the store that was not answered, each at most once. */
  #adopt(write: Write | undefined, there: ReadonlyMap<string, string>): void {
    const awaited = write && 'memories' in write ? write.memories.map(({ content }) => content) : [];
    for (const [id, content] of there) {
      if (this.#kept.has(id) || this.#forgotten.has(id)) continue;
      const place = awaited.indexOf(content);
      if (place < 0) this.#tally.duplicated.push(`${id}: "${content}"`);
      else awaited.splice(place, 1);
      this.#keep(id, content);
    }
  }

  async #expectFound(client: Client): Promise<void> {
    for (let asked = 0; asked < 4; asked++) {
      const known = this.#random.pick([...this.#kept]);
      if (!known) return;
      const [id, content] = known;
      if ((await client.getStatus(id)) !== 200) {
        this.#tally.lost.push(`${id} is not there`);
        continue;
      }
      const visible = (await client.memory(id)).merged_into ?? id;
      // A client may have given the visible memory of a group another text.
      const mark = getMark(this.#kept.get(visible) ?? content);
      const results = await client.recalled(mark, 'top_k=50');
      if (!results.includes(visible)) this.#tally.lost.push(`${visible} is not recalled by "${mark}"`);
    }
  }

  async #expectForgotten(client: Client): Promise<void> {
    for (const id of [...this.#forgotten].slice(-20)) {
      if ((await client.getStatus(id)) !== 404) this.#tally.returned.push(id);
    }
    this.#tally.gone += this.#forgotten.size;
  }

  /** Waits until no byte of the database holds a text that no memory has, or had before, any more. */
  async expectNoBytes(dbPath: string): Promise<void> {
    const marks = [...this.#holders].filter(([, ids]) => ![...ids].some((id) => this.#kept.has(id)));
    for (const [mark] of marks) {
      await eventually(`the bytes of "${mark}" to be gone`, 20_000, () => (filesHold(dbPath, mark) ? undefined : true));
      this.#holders.delete(mark);
    }
  }
}

function getMark(content: string): string {
  return content.split(' ')[4] ?? '';
}

function getRequest(write: Write): Request {
  switch (write.kind) {
    case 'store':
      return { method: 'POST', path: '/store', json: write.memories[0], headers: { 'idempotency-key': write.key } };
    case 'batch':
      return { method: 'POST', path: '/store/batch', json: write.memories, headers: { 'idempotency-key': write.key } };
    case 'repeat':
      return getRequest(write.of);
    case 'update':
      return { method: 'PUT', path: `/update/${write.id}`, json: { content: write.content } };
    case 'forget':
      return { method: 'DELETE', path: `/forget/${write.id}` };
  }
}

/** The ids that a store or a batch was answered. */
function getIds({ kind }: Keyed, { body }: Answer): string[] {
  if (kind === 'store') return [(body as StoreResponse).id];
  return (body as StoreBatchResponse).results.map((result) => {
    if ('error' in result) throw new Error(result.error.message);
    return result.id;
  });
}
