import type { ForgetResponse, StoreBatchResponse, StoreRequest, StoreResponse } from '@memoryd/contract';
import { filesHold } from '../conformance/database-files.ts';
import { type Answer, type Request, send } from '../conformance/http.ts';
import { eventually } from '../conformance/process.ts';
import type { Client } from '../conformance/under-test.ts';
import { Random } from './random.ts';

/** Results of a run of kills, over all writers. */
export interface Tally {
  kills: number;
  /** Number of writes acknowledged with 200, by kind. */
  acknowledged: Record<'store' | 'batch' | 'repeat' | 'named' | 'update' | 'forget', number>;
  /** Number of memories that were found as acknowledged, summed over the checks. */
  present: number;
  /** Number of forgotten memories that were checked to be gone, summed over the checks. */
  gone: number;
  lost: string[];
  duplicated: string[];
  /** Forgotten memories that exist again. */
  returned: string[];
}

export function createTally(): Tally {
  return {
    kills: 0,
    acknowledged: { store: 0, batch: 0, repeat: 0, named: 0, update: 0, forget: 0 },
    present: 0,
    gone: 0,
    lost: [],
    duplicated: [],
    returned: [],
  };
}

export function countAcknowledged({ acknowledged }: Tally): number {
  return Object.values(acknowledged).reduce((sum, count) => sum + count, 0);
}

/** A store or a batch with an idempotency key, so that the writer may repeat it. */
interface KeyedWrite {
  kind: 'store' | 'batch';
  key: string;
  memories: StoreRequest[];
}

/** A store with an external id. `id` is the memory that has the external id; undefined if no memory has it. */
interface NamedWrite {
  kind: 'named';
  id: string | undefined;
  memory: StoreRequest & { external_id: string };
}

type Write =
  | KeyedWrite
  | NamedWrite
  | { kind: 'repeat'; of: KeyedWrite; ids: string[] }
  | { kind: 'update'; id: string; content: string }
  | { kind: 'forget'; id: string };

/** Length of the random word (mark) that identifies a text. */
const MARK_LETTERS = 20;

/** Number of external ids of each writer. */
const NAMES = 5;

const PEOPLE = ['Ann', 'Ben', 'Cleo', 'Dov'];
const PLACES = ['the kitchen', 'the harbour', 'the old school', 'the garden'];

/**
 * A client that writes memories of its own session, one request at a time, and tracks the expected state of the server.
 * A write whose response was lost in a kill may or may not have happened.
 */
export class Writer {
  readonly #session: string;
  readonly #random: Random;
  readonly #tally: Tally;
  /** Texts of the memories that must exist, by id. */
  readonly #stored = new Map<string, string>();
  readonly #forgotten = new Set<string>();
  /** Ids of the memories that have or had a text, by its mark. */
  readonly #holders = new Map<string, Set<string>>();
  /** Ids of the memories that have or had an external id. */
  readonly #named = new Map<string, string>();
  readonly #acknowledged: { of: KeyedWrite; ids: string[] }[] = [];
  #unacknowledged: Write | undefined;
  #keys = 0;

  constructor(session: string, seed: number, tally: Tally) {
    this.#session = session;
    this.#random = new Random(seed);
    this.#tally = tally;
  }

  /** Writes until the server stops responding. */
  async write(port: number): Promise<void> {
    for (;;) {
      this.#unacknowledged = this.#choose();
      const answer = await send(port, getRequest(this.#unacknowledged)).catch(() => undefined);
      if (!answer) return;
      if (answer.status !== 200) throw new Error(`${this.#unacknowledged.kind}: ${answer.status} ${answer.text}`);
      this.#record(this.#unacknowledged, answer);
      this.#unacknowledged = undefined;
    }
  }

  #choose(): Write {
    const drawn = this.#random.below(100);
    const id = this.#random.pick([...this.#stored.keys()]);
    if (drawn < 20 && id !== undefined) return { kind: 'update', id, content: this.#createText() };
    if (drawn < 42 && id !== undefined) return { kind: 'forget', id };
    const earlier = this.#random.pick(this.#acknowledged);
    if (drawn < 48 && earlier) return { kind: 'repeat', ...earlier };
    if (drawn < 58) return this.#chooseNamed();
    const count = drawn < 70 ? 2 + this.#random.below(12) : 1;
    const memories = Array.from({ length: count }, () => ({
      content: this.#createTextOrDuplicate(),
      session_id: this.#session,
      tags: [this.#random.word(MARK_LETTERS)],
    }));
    return { kind: count > 1 ? 'batch' : 'store', key: `${this.#session} ${this.#keys++}`, memories };
  }

  #chooseNamed(): NamedWrite {
    const external_id = `${this.#session} name ${this.#random.below(NAMES)}`;
    const known = this.#named.get(external_id);
    const id = known !== undefined && this.#stored.has(known) ? known : undefined;
    return { kind: 'named', id, memory: { content: this.#createText(), session_id: this.#session, external_id } };
  }

  // One in five texts is a duplicate, so that consolidation has something to merge.
  #createTextOrDuplicate(): string {
    const known = this.#random.pick([...this.#stored.values()]);
    return known !== undefined && this.#random.below(5) === 0 ? known : this.#createText();
  }

  #createText(): string {
    const [who, where] = [this.#random.pick(PEOPLE), this.#random.pick(PLACES)];
    return `${who} put the box ${this.#random.word(MARK_LETTERS)} into ${where}, where nobody looks for it.`;
  }

  #record(write: Write, answer: Answer): void {
    this.#tally.acknowledged[write.kind]++;
    switch (write.kind) {
      case 'store':
      case 'batch':
        this.#recordStored(write, getIds(write, answer));
        break;
      case 'repeat': {
        const ids = getIds(write.of, answer);
        if (ids.join() !== write.ids.join()) this.#tally.duplicated.push(`${write.of.key}: ${write.ids} and ${ids}`);
        break;
      }
      case 'named':
        this.#recordNamed(write, answer.body as StoreResponse, write.id === undefined);
        break;
      case 'update':
        this.#expectText(write.id, write.content);
        break;
      case 'forget': {
        const { id, also_forgotten = [] } = answer.body as ForgetResponse;
        for (const gone of [id, ...also_forgotten]) this.#expectForget(gone);
      }
    }
  }

  #recordStored(of: KeyedWrite, ids: string[]): void {
    // A repeated store may return memories found after a kill; a later update or forget of them must stay in effect.
    ids.forEach((id, i) => {
      if (!this.#stored.has(id) && !this.#forgotten.has(id)) this.#expectText(id, of.memories[i]?.content ?? '');
    });
    this.#acknowledged.push({ of, ids });
  }

  #recordNamed({ id: known, memory }: NamedWrite, { id, created }: StoreResponse, isNew: boolean | undefined): void {
    const isOther = (known !== undefined && id !== known) || (isNew !== undefined && created !== isNew);
    if (isOther) this.#tally.duplicated.push(`${memory.external_id}: ${known} and ${id}, created: ${created}`);
    this.#expectText(id, memory.content);
    this.#named.set(memory.external_id, id);
  }

  #expectText(id: string, content: string): void {
    this.#stored.set(id, content);
    const mark = getMark(content);
    const holders = this.#holders.get(mark);
    if (holders) holders.add(id);
    else this.#holders.set(mark, new Set([id]));
  }

  #expectForget(id: string): void {
    this.#stored.delete(id);
    this.#forgotten.add(id);
  }

  /** Compares a restarted server with the expected state, and adopts the outcome of the unacknowledged write. */
  async check(client: Client): Promise<void> {
    const write = this.#unacknowledged;
    this.#unacknowledged = undefined;
    await this.#compare(client, write);
    if (write?.kind === 'store' || write?.kind === 'batch') {
      const answer = await client.send(getRequest(write));
      if (answer.status !== 200) throw new Error(`sent again: ${answer.status} ${answer.text}`);
      this.#recordStored(write, getIds(write, answer));
      await this.#compare(client, undefined);
    }
    if (write?.kind === 'named') {
      const answer = await client.ok<StoreResponse>(getRequest(write));
      // The lost request may have created the memory.
      this.#recordNamed(write, answer, write.id === undefined ? undefined : false);
      await this.#compare(client, undefined);
    }
    await this.#expectFound(client);
    await this.#expectForgotten(client);
  }

  async #compare(client: Client, write: Write | undefined): Promise<void> {
    const { memories, total } = await client.session(this.#session, 'limit=10000');
    const actual = new Map(memories.map(({ id, content }) => [id, content]));
    if (actual.size !== total) this.#tally.duplicated.push(`${total} memories with ${actual.size} ids`);
    this.#adoptForget(write, actual);
    for (const [id, content] of this.#stored) this.#compareOne(id, content, actual.get(id), write);
    for (const id of actual.keys()) if (this.#forgotten.has(id)) this.#tally.returned.push(id);
    this.#adoptStored(write, actual);
  }

  // A forget without a response removed the memory with all its hidden duplicates, or nothing. A duplicate shares a
  // current or earlier text with the memory.
  #adoptForget(write: Write | undefined, actual: ReadonlyMap<string, string>): void {
    if (write?.kind !== 'forget' || actual.has(write.id)) return;
    for (const id of this.#getGroup(write.id)) if (this.#stored.has(id) && !actual.has(id)) this.#expectForget(id);
  }

  #getGroup(id: string): Set<string> {
    const holders = [...this.#holders.values()];
    const group = new Set([id]);
    for (const member of group)
      for (const ids of holders) if (ids.has(member)) for (const other of ids) group.add(other);
    return group;
  }

  #compareOne(id: string, content: string, found: string | undefined, write: Write | undefined): void {
    const change = getChange(write);
    if (change?.id === id && found === change.content) this.#expectText(id, found);
    else if (found !== content)
      this.#tally.lost.push(`${id}: "${content}" is "${found}" after ${JSON.stringify(write)}`);
    else this.#tally.present++;
    // The changed text may be in the history of the memory.
    if (change?.id === id) this.#noteHolder(change.content, id);
  }

  #noteHolder(content: string, id: string): void {
    const mark = getMark(content);
    this.#holders.set(mark, new Set([...(this.#holders.get(mark) ?? []), id]));
  }

  /** Unknown memories can only come from the unacknowledged store, each at most once. */
  #adoptStored(write: Write | undefined, actual: ReadonlyMap<string, string>): void {
    const unacknowledged = getNewTexts(write);
    for (const [id, content] of actual) {
      if (this.#stored.has(id) || this.#forgotten.has(id)) continue;
      const index = unacknowledged.indexOf(content);
      if (index < 0) this.#tally.duplicated.push(`${id}: "${content}"`);
      else unacknowledged.splice(index, 1);
      this.#expectText(id, content);
    }
  }

  async #expectFound(client: Client): Promise<void> {
    for (let asked = 0; asked < 4; asked++) {
      const known = this.#random.pick([...this.#stored]);
      if (!known) return;
      const [id, content] = known;
      if ((await client.getStatus(id)) !== 200) {
        this.#tally.lost.push(`${id} is not there`);
        continue;
      }
      const visible = (await client.memory(id)).merged_into ?? id;
      // An update may have changed the text of the memory that the duplicates were merged into.
      const mark = getMark(this.#stored.get(visible) ?? content);
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

  /** Waits until the database files contain no text whose memories are all forgotten. */
  async expectNoBytes(dbPath: string): Promise<void> {
    const marks = [...this.#holders].filter(([, ids]) => ![...ids].some((id) => this.#stored.has(id)));
    for (const [mark] of marks) {
      await eventually(`the bytes of "${mark}" to be gone`, 20_000, () => (filesHold(dbPath, mark) ? undefined : true));
      this.#holders.delete(mark);
    }
  }
}

function getMark(content: string): string {
  return content.split(' ')[4] ?? '';
}

/** Returns the memory that a write changes, with its new text. */
function getChange(write: Write | undefined): { id: string; content: string } | undefined {
  if (write?.kind === 'update') return write;
  return write?.kind === 'named' && write.id !== undefined
    ? { id: write.id, content: write.memory.content }
    : undefined;
}

/** Returns the texts of the memories that a write creates. */
function getNewTexts(write: Write | undefined): string[] {
  if (write?.kind === 'named' && write.id === undefined) return [write.memory.content];
  return write && 'memories' in write ? write.memories.map(({ content }) => content) : [];
}

function getRequest(write: Write): Request {
  switch (write.kind) {
    case 'named':
      return { method: 'POST', path: '/store', json: write.memory };
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

/** Returns the ids in the response to a store or a batch. */
function getIds({ kind }: KeyedWrite, { body }: Answer): string[] {
  if (kind === 'store') return [(body as StoreResponse).id];
  return (body as StoreBatchResponse).results.map((result) => {
    if ('error' in result) throw new Error(result.error.message);
    return result.id;
  });
}
