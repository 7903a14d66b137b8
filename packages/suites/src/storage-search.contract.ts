import type { MemoryFilter } from '@memoryd/search';
import { english, NO_ROW, NO_SESSION, rankOrdinals } from '@memoryd/search';
import { describe, expect, it } from 'vitest';
import { LATER, MODEL, NOW, RED_HERON, type TestedStorage, vector } from './storage.fixture.ts';

/** Contract tests of the `SearchStorage` port. */
export function searchStorageContract(tested: TestedStorage): void {
  const { storeMemory, findOrdinals, search, getAdmitted, getSpeaking, putVector, mergeDuplicates, evictExpired } =
    tested;

  describe('search', () => {
    it('finds memories that contain any word of the query, and returns term frequencies', async () => {
      const both = await storeMemory({ content: 'red fox, red fox' });
      const one = await storeMemory({ content: 'a red house' });
      await storeMemory({ content: 'something else' });
      const signals = await search('fox red');
      expect(getAdmitted(signals)).toEqual([both.ordinal, one.ordinal]);
      expect(signals.memoryCount).toBe(3);
      expect([...signals.documentFrequencies].sort()).toEqual([1, 2]);
      const row = signals.ordinals.indexOf(both.ordinal);
      const terms = signals.documentFrequencies.length;
      expect([...signals.frequencies.slice(row * terms, (row + 1) * terms)]).toEqual([2, 2]);
      expect(signals.lengths[row]).toBe(4);
    });

    it('finds a memory by one word of a query with hundreds of unknown words', async () => {
      const memory = await storeMemory({ content: 'red fox' });
      const unknown = Array.from({ length: 300 }, (_, i) =>
        `q${i}`.replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit))),
      );
      expect(await findOrdinals([...unknown, 'fox'].join(' '))).toEqual([memory.ordinal]);
    });

    it.each([
      '"',
      '*',
      'NEAR(a b)',
      'AND OR NOT',
      'col:x',
      '-x',
      '^y',
      "'",
      '(',
      '{a b}',
      '\\',
      '%',
      '',
      '😀',
      '数',
      'C++',
    ])('accepts %j as a query', async (text) => {
      await storeMemory({ content: `before ${text} after` });
      await expect(search(text)).resolves.toBeDefined();
    });

    it('finds emoji, and words in scripts without spaces', async () => {
      const chinese = await storeMemory({ content: '我们明天去东京旅行' });
      const smile = await storeMemory({ content: 'done 🎉' });
      expect(await findOrdinals('东京')).toEqual([chinese.ordinal]);
      expect(await findOrdinals('🎉')).toEqual([smile.ordinal]);
    });

    it.each([
      ['הספר', 'קראתי ספר'],
      ['شهر', 'بشهر'],
      ['کتاب‌هایم', 'یک کتاب'],
      ['বইগুলো', 'একটা বইটা'],
      ['打ち合わせ', '打合せ'],
    ])('finds %j in %j by a part of the word', async (query, content) => {
      const { ordinal } = await storeMemory({ content });
      await storeMemory({ content, namespace: 'other' });
      await storeMemory({ content: 'nothing of it' });
      expect(await findOrdinals(query)).toEqual([ordinal]);
    });

    it('finds a memory by a part of a word after memories with the word, whatever other users store', async () => {
      const part = await storeMemory({ content: 'קראתי ספר', userId: 'ada' });
      await storeMemory({ content: 'הספר', userId: 'ben' });
      expect(await findOrdinals('הספר', { userIds: ['ada'] })).toEqual([part.ordinal]);
      const whole = await storeMemory({ content: 'איבדתי הספר', userId: 'ada' });
      const signals = await search('הספר', { userIds: ['ada'] });
      expect([...rankOrdinals(signals, { limit: 9 }).keys()]).toEqual([whole.ordinal, part.ordinal]);
    });

    it('ranks a memory with a whole word of the query before a memory with a part of another word', async () => {
      const part = await storeMemory({ content: 'קראתי ספר' });
      const whole = await storeMemory({ content: 'קניתי לחם' });
      const signals = await search('הספר לחם');
      const ranked = [...rankOrdinals(signals, { limit: 9 }).keys()];
      expect(ranked).toEqual([whole.ordinal, part.ordinal]);
    });

    it('searches at most 32 parts, each with at most 8 terms', async () => {
      const letters = Array.from({ length: 60 }, (_, i) => String.fromCodePoint(0x4e00 + 97 * i));
      await storeMemory({ content: letters.join(' ') });
      for (const prefix of 'ובלמשכ') await storeMemory({ content: `${prefix}ספר` });
      for (const prefix of ['וה', 'וב', 'ול', 'ומ']) await storeMemory({ content: `${prefix}ספר` });
      const words = letters.slice(1).map((letter, i) => `${letters[i]}${letter}`);
      const { documentFrequencies } = await search(['הספר', ...words].join(' '));
      expect(documentFrequencies).toHaveLength(60 + 32);
      expect(documentFrequencies[60]).toBe(8);
    });

    it('returns the neighbors of a candidate in its session', async () => {
      const before = await storeMemory({ sessionId: 's', content: 'zero' });
      const middle = await storeMemory({ sessionId: 's', content: 'needle' });
      const after = await storeMemory({ sessionId: 's', content: 'two' });
      await storeMemory({ sessionId: 'other', content: 'three' });
      const signals = await search('needle');
      expect(signals.candidateCount).toBe(1);
      expect(signals.ordinals[0]).toBe(middle.ordinal);
      expect(signals.ordinals[signals.previous[0] as number]).toBe(before.ordinal);
      expect(signals.ordinals[signals.next[0] as number]).toBe(after.ordinal);
    });

    it('returns memories with named speakers as the neighbors of a candidate without a session', async () => {
      const before = await storeMemory({ content: 'Ann: before' });
      await storeMemory({ content: 'nobody says this' });
      await storeMemory({ content: 'Ben: in a session', sessionId: 's' });
      const found = await storeMemory({ content: 'needle', tags: ['role:user'] });
      const after = await storeMemory({ content: 'Ann: after' });
      const unsaid = await storeMemory({ content: 'needles' });
      const signals = await search('needle');
      const { previous, next } = signals;
      const getRow = (memory: { ordinal: number }) => signals.ordinals.indexOf(memory.ordinal);
      expect(getAdmitted(signals)).toEqual([found.ordinal, unsaid.ordinal]);
      expect([previous[getRow(found)], next[getRow(found)]]).toEqual([getRow(before), getRow(after)]);
      expect([previous[getRow(unsaid)], next[getRow(unsaid)]]).toEqual([NO_ROW, NO_ROW]);
      expect(new Set([found, before, unsaid].map((memory) => signals.sessions[getRow(memory)]))).toEqual(
        new Set([NO_SESSION]),
      );
    });

    it('includes a neighbor as a candidate if the neighbor matches the query and the filter', async () => {
      const request = { namespace: 'default', text: 'common rare', now: NOW + 1e6, poolSize: 1, tailSize: 0 };
      const best = await storeMemory({ sessionId: 's', content: 'common rare' });
      const beside = await storeMemory({ sessionId: 's', content: 'common', tags: ['t'] });
      await storeMemory({ sessionId: 's', content: 'nothing of it' });
      await storeMemory({ sessionId: 'other', content: 'common' });
      expect(getAdmitted(await tested.storage.search({ ...request, filter: {} }))).toEqual([
        best.ordinal,
        beside.ordinal,
      ]);
      expect(getAdmitted(await tested.storage.search({ ...request, filter: { until: best.createdAt } }))).toEqual([
        best.ordinal,
      ]);
    });

    it('includes the successor of a superseded memory as a candidate, and links to the successor', async () => {
      const old = await storeMemory({ content: 'the office is in Berlin' });
      const newer = await storeMemory({ content: 'we moved to Hamburg', supersedes: old.id });
      const signals = await search('Berlin');
      expect(getAdmitted(signals)).toEqual([old.ordinal, newer.ordinal]);
      const row = signals.ordinals.indexOf(old.ordinal);
      expect(signals.ordinals[signals.supersededBy[row] as number]).toBe(newer.ordinal);
    });

    it('returns document frequency 0 for a query term that no memory contains', async () => {
      await storeMemory({ content: 'red' });
      expect((await search('red unicorn')).documentFrequencies.toSorted()).toEqual([0, 1]);
    });

    it('search does not return an expired successor, whether evicted or not', async () => {
      const createdAt = NOW - 10;
      const old = await storeMemory({ content: 'the office is in Berlin', createdAt });
      const newer = await storeMemory({
        content: 'the office is in Hamburg',
        supersedes: old.id,
        createdAt,
        expiresAt: NOW,
      });
      const supersededBy = async (now: number) =>
        (await tested.storage.read('default', [old.ordinal], { now }, 1e6)).memories.map(
          (memory) => memory.supersededBy,
        );
      expect(await supersededBy(NOW - 1)).toEqual([newer.id]);
      for (let times = 0; times < 2; times++) {
        expect(await findOrdinals('Berlin', {}, NOW)).toEqual([old.ordinal]);
        expect(await supersededBy(NOW)).toEqual([null]);
        await evictExpired(NOW, 10);
      }
    });

    it('marks candidates that have equal texts', async () => {
      const same = [await storeMemory({ content: 'a heron waits', sessionId: 'a' })];
      const other = await storeMemory({ content: 'the heron sleeps', sessionId: 'b' });
      same.push(await storeMemory({ content: 'a heron waits', sessionId: 'c' }));
      const sameText = async (values?: Float32Array) => {
        const { ordinals, texts, candidateCount } = await search('heron', {}, undefined, values);
        expect([candidateCount, texts.length]).toEqual([3 + later.length, 3 + later.length]);
        const getText = (memory: { ordinal: number }) => texts[ordinals.indexOf(memory.ordinal)];
        return same
          .map(getText)
          .every((text) => text === getText(same[0] as { ordinal: number }) && text !== getText(other));
      };
      const later: unknown[] = [];
      expect(await sameText()).toBe(true);
      for (const memory of [...same, other]) await putVector(memory, 3);
      expect(await sameText()).toBe(true);
      expect(await sameText(vector(3))).toBe(true);
      expect(await sameText(vector(4))).toBe(true);
      const waiting = await storeMemory({ content: 'a heron waits', sessionId: 'd' });
      later.push(waiting);
      same.push(waiting);
      expect(await sameText(vector(3))).toBe(true);
      await tested.storage.update({ namespace: 'default', id: waiting.id, at: NOW + 10, content: 'a heron wades' });
      same.pop();
      expect(await sameText()).toBe(true);
      same.push(waiting);
      expect(await sameText()).toBe(false);
    });

    it('returns the retention of each candidate', async () => {
      const now = NOW + 20 * 86_400_000;
      const plain = await storeMemory({ content: 'a heron' });
      const important = await storeMemory({ content: 'a heron', importance: 1 });
      const used = await storeMemory({ content: 'a heron' });
      await tested.storage.recordAccess([{ namespace: 'default', ordinal: used.ordinal, count: 3, at: now }]);
      await storeMemory({ content: 'beside it', sessionId: 's' });
      await storeMemory({ content: 'a heron', sessionId: 's' });
      const retained = async (memory: { ordinal: number }) => {
        const { ordinals, retentions, candidateCount } = await search('heron', {}, now);
        expect([candidateCount, retentions.length]).toEqual([4, 4]);
        return retentions[ordinals.indexOf(memory.ordinal)] as number;
      };
      expect(await retained(plain)).toBeGreaterThan(0.5);
      expect(await retained(important)).toBeGreaterThan(await retained(plain));
      expect(await retained(used)).toBeGreaterThan(await retained(important));
      expect(await retained(used)).toBeLessThanOrEqual(1);
      await tested.storage.update({ namespace: 'default', id: important.id, at: now, importance: 0 });
      expect(await retained(important)).toBeLessThan(await retained(plain));
    });

    it('returns synonym frequencies of candidates, but includes no memory because of a synonym alone', async () => {
      const both = await storeMemory({ content: 'the doctor: a physician, physicians, a medic' });
      const one = await storeMemory({ content: 'a doctor' });
      await storeMemory({ content: 'a physician' });
      const signals = await search('harbour doctor');
      expect(getAdmitted(signals)).toEqual([both.ordinal, one.ordinal]);
      const word = signals.documentFrequencies.indexOf(2);
      expect(signals.synonyms).toEqual([
        { word, weight: expect.closeTo(0.22, 1) },
        { word, weight: expect.closeTo(0.18, 1) },
      ]);
      const frequencies = [both, one].map(({ ordinal }) => {
        const row = signals.ordinals.indexOf(ordinal);
        return [...signals.synonymFrequencies.slice(row * 2, row * 2 + 2)];
      });
      expect(frequencies).toEqual([
        [2, 1],
        [0, 0],
      ]);
      expect(signals.synonymFrequencies).toHaveLength(signals.ordinals.length * 2);
    });

    it('search does not include a neighbor as a candidate because of a synonym alone, but returns its synonym frequency', async () => {
      await storeMemory({ sessionId: 's', content: 'a physician' });
      const found = await storeMemory({ sessionId: 's', content: 'a doctor' });
      const signals = await search('doctor');
      expect(getAdmitted(signals)).toEqual([found.ordinal]);
      expect([...signals.synonymFrequencies]).toEqual([0, 1]);
    });

    it('search can return more synonyms than the maximum number of query words, but at most 128', async () => {
      const asked = [
        'doctor',
        'guitar',
        'kitchen',
        'holiday',
        'budget',
        'lawyer',
        'swim',
        'dinner',
        'flower',
        'salary',
        'river',
      ];
      const synonyms = asked.flatMap((word) => english.getSynonyms(word).map(({ term }) => term));
      await storeMemory({ content: `a doctor, ${synonyms.join(' and the ')}` });
      const signals = await search(`what is the ${asked.join(' and the ')}`);
      expect(signals.synonyms.length).toBeGreaterThan(64);
      expect(signals.synonyms.length).toBeLessThanOrEqual(128);
      expect(signals.synonymFrequencies).toHaveLength(signals.synonyms.length);
      expect(Math.min(...signals.synonymFrequencies)).toBeGreaterThan(0);
    });

    it('uses only synonyms that occur in the namespace', async () => {
      await storeMemory({ content: 'a doctor' });
      await storeMemory({ content: 'a physician', namespace: 'other' });
      expect((await search('doctor')).synonyms).toEqual([]);
    });

    it.each([
      ['what did Grace say of walnuts', 'grace'],
      ['what did you say of walnuts', 'assistant'],
    ])('marks memories whose speaker the query names or addresses: %s', async (query, named) => {
      const ordinals = new Map<number, string>();
      for (const name of ['grace', 'user', 'assistant']) {
        ordinals.set(
          (await storeMemory({ sessionId: 's', content: `${name}: walnuts` })).ordinal,
          `${name} in the text`,
        );
        const tags = ['nuts', `role:${name}`];
        ordinals.set((await storeMemory({ sessionId: 's', content: 'walnuts', tags })).ordinal, `${name} in a tag`);
      }
      const names = getSpeaking(await search(query)).map((ordinal) => ordinals.get(ordinal));
      expect(names.toSorted()).toEqual([`${named} in a tag`, `${named} in the text`]);
    });

    it('marks a memory by its new speaker as soon as the speaker tag changes', async () => {
      const { id, ordinal } = await storeMemory({ sessionId: 's', content: 'walnuts', tags: ['role:Grace'] });
      const findSpeaking = async () => getSpeaking(await search('what did Grace say of walnuts'));
      expect(await findSpeaking()).toEqual([ordinal]);
      await tested.storage.update({ namespace: 'default', id, at: NOW + 1, tags: ['role:Ann'] });
      expect(await findSpeaking()).toEqual([]);
      await tested.storage.update({
        namespace: 'default',
        id,
        at: NOW + 2,
        content: 'two walnuts',
        tags: ['role:Grace'],
      });
      expect(await findSpeaking()).toEqual([ordinal]);
    });

    it('finds memories of the queried date, whatever their texts', async () => {
      await storeMemory({ content: 'walnuts', createdAt: NOW - 1 });
      const stored = [
        await storeMemory({ content: 'almonds', createdAt: NOW }),
        await storeMemory({ content: 'cashews', createdAt: NOW + 9, tags: ['t'] }),
      ];
      await storeMemory({ content: 'pecans', createdAt: NOW + 10 });
      await storeMemory({ content: 'chestnuts', createdAt: NOW, namespace: 'other' });
      const expired = await storeMemory({ content: 'hazelnuts', createdAt: NOW, expiresAt: NOW + 10 });
      const ask = (filter: MemoryFilter, poolSize = 20, text = 'What happened on 7 May?') => {
        const date = { from: NOW + 3, until: NOW + 4, earliest: NOW, latest: NOW + 10, text: 'on 7 May' };
        const now = (expired.expiresAt as number) + 1;
        return tested.storage.search({ namespace: 'default', text, date, filter, now, poolSize, tailSize: 0 });
      };
      const signals = await ask({});
      expect(getAdmitted(signals)).toEqual(stored.map(({ ordinal }) => ordinal));
      expect([...signals.dated]).toEqual([0, 1]);
      expect(getAdmitted(await ask({ tags: ['t'] }))).toEqual([stored[1]?.ordinal]);
      expect(getAdmitted(await ask({}, 1))).toEqual([stored[1]?.ordinal]);
      expect(getAdmitted(await ask({}, 1, 'almonds on 7 May?'))).toEqual([stored[0]?.ordinal]);
      expect(getAdmitted(await ask({}, 20, 'What happened in May?'))).toEqual(stored.map(({ ordinal }) => ordinal));
    });

    it('finds for a question that consists of a date the memories of the date first, then those of its fringe', async () => {
      const inFringe = await storeMemory({ content: 'a walnut', createdAt: NOW });
      const dated = [
        await storeMemory({ content: 'almonds', createdAt: NOW + 3 }),
        await storeMemory({ content: 'cashews', createdAt: NOW + 3 }),
      ];
      const named = await storeMemory({ content: 'It happened on Monday', createdAt: NOW - 1 });
      for (let i = 0; i < 10; i++) await storeMemory({ content: `pecans ${i}`, createdAt: NOW + 9 });
      const date = { from: NOW + 3, until: NOW + 4, earliest: NOW, latest: NOW + 10, text: 'what happened on Monday?' };
      const ask = async (poolSize: number) =>
        getAdmitted(
          await tested.storage.search({
            ...RED_HERON,
            text: date.text,
            date: { ...date, isWholeQuery: true },
            poolSize,
          }),
        );
      expect(await ask(2)).toEqual(dated.map(({ ordinal }) => ordinal));
      const all = await ask(20);
      expect(all).toContain(inFringe.ordinal);
      expect(all).toContain(named.ordinal);
    });

    it('uses no synonyms for a query in another language', async () => {
      await storeMemory({ content: 'a gift, a present, a souvenir' });
      expect((await search('gift')).synonyms).not.toEqual([]);
      expect((await search('Wo ist das Gift von der Mutter?')).synonyms).toEqual([]);
    });

    it('returns document frequencies of the namespace alone', async () => {
      await storeMemory({ content: 'shared' });
      await storeMemory({ content: 'shared', namespace: 'other' });
      expect((await search('shared')).documentFrequencies).toEqual([1]);
    });

    it('includes candidates beyond the pool only in the tail', async () => {
      for (let i = 0; i < 30; i++) await storeMemory({ content: 'common', sessionId: `s${i}` });
      const request = { namespace: 'default', text: 'common', filter: {}, now: NOW + 1e6, poolSize: 10 };
      const short = await tested.storage.search({ ...request, tailSize: 0 });
      const long = await tested.storage.search({ ...request, tailSize: 15 });
      expect([short.pool, short.candidateCount]).toEqual([10, 10]);
      expect([long.pool, long.candidateCount]).toEqual([10, 25]);
      expect(long.ordinals.slice(0, 10)).toEqual(short.ordinals.slice(0, 10));
    });

    it.each([
      ['words', { ...RED_HERON, text: 'heron' }],
      ['meaning', { ...RED_HERON, text: 'stork', vector: { modelId: MODEL, values: vector(1) } }],
    ])('finds by %s a memory that matches worse than many memories with equal texts', async (_by, request) => {
      await tested.storage.useModel(MODEL);
      for (let i = 0; i < 70; i++) {
        await putVector(await storeMemory({ content: 'heron', sessionId: `s${i}`, tags: ['seen'] }), 1);
      }
      const one = await storeMemory({ content: 'a heron waits', tags: ['seen'] });
      const other = await storeMemory({ content: 'herons fly' });
      for (const memory of [one, other]) await putVector(memory, 1, 2);
      const signals = await tested.storage.search(request);
      expect(getAdmitted(signals)).toEqual(expect.arrayContaining([one.ordinal, other.ordinal]));
      expect(getAdmitted(signals)).toHaveLength(20);
      const filtered = await tested.storage.search({ ...request, filter: { tags: ['seen'] } });
      expect(getAdmitted(filtered)).toContain(one.ordinal);
      const long = await tested.storage.search({ ...request, tailSize: 80 });
      expect(getAdmitted(long)).toHaveLength(72);
      expect(getAdmitted({ ...long, candidateCount: long.pool })).toEqual(getAdmitted(signals));
    });

    it('finds the newest of many memories with equal texts, and a memory of the queried date', async () => {
      const day = { from: NOW - 1900, until: NOW - 1800, earliest: NOW - 2000, latest: NOW - 1000, text: 'on 7 May' };
      const dated = await storeMemory({ content: 'heron', createdAt: NOW - 1500 });
      for (let i = 0; i < 30; i++) await storeMemory({ content: 'heron', sessionId: `s${i}` });
      const newest = await storeMemory({ content: 'heron', sessionId: 'newest' });
      for (const bird of ['crane', 'stork', 'egret', 'ibis']) await storeMemory({ content: `a heron, no ${bird}` });
      const signals = await tested.storage.search({ ...RED_HERON, text: 'heron on 7 May', date: day, poolSize: 14 });
      expect(getAdmitted(signals)).toEqual(expect.arrayContaining([dated.ordinal, newest.ordinal]));
      expect(getAdmitted(signals).slice(-4)).toEqual([1, 2, 3, 4].map((after) => newest.ordinal + after));
    });

    it('includes the memories between two passages if there are at most two such memories', async () => {
      const texts = ['heron', 'one', 'two', 'three', 'four', 'heron', 'five', 'six', 'seven', 'eight', 'nine', 'heron'];
      const stored: number[] = [];
      for (const content of texts) stored.push((await storeMemory({ content, sessionId: 's' })).ordinal);
      const { ordinals, previous, next } = await search('heron');
      expect([...ordinals].sort((a, b) => a - b)).toEqual(stored.filter((_, i) => i < 7 || i > 9));
      const linked = (from: number, step: Int32Array) =>
        ordinals[step[ordinals.indexOf(stored[from] as number)] as number];
      expect([linked(2, next), linked(3, previous)]).toEqual([stored[3], stored[2]]);
      expect([linked(6, next), linked(10, previous)]).toEqual([undefined, undefined]);
    });
  });

  describe('read', () => {
    it('returns only memories that are neither expired nor hidden duplicates', async () => {
      const expired = await storeMemory({ expiresAt: NOW });
      const [first, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      await mergeDuplicates(10);
      const ordinals = [expired.ordinal, first.ordinal, duplicate.ordinal];
      expect(
        (await tested.storage.read('default', ordinals, { now: NOW }, 1e6)).memories.map((m) => m.ordinal),
      ).toEqual([first.ordinal]);
    });

    it('returns memories in the order of the ordinals, up to the maximum size of the result', async () => {
      const a = await storeMemory({ content: 'a'.repeat(1000) });
      const b = await storeMemory({ content: 'b'.repeat(1000) });
      const both = await tested.storage.read('default', [b.ordinal, 999_999, a.ordinal], { now: NOW }, 100_000);
      expect(both.memories.map((memory) => memory.ordinal)).toEqual([b.ordinal, a.ordinal]);
      expect(both.truncated).toBe(false);
      const one = await tested.storage.read('default', [b.ordinal, a.ordinal], { now: NOW }, 2500);
      expect(one.memories.map((memory) => memory.ordinal)).toEqual([b.ordinal]);
      expect(one.truncated).toBe(true);
      expect((await tested.storage.read('other', [a.ordinal], { now: NOW }, 100_000)).memories).toEqual([]);
    });
  });

  describe('searchAndRank', () => {
    it('returns the best-ranked candidates with their texts, up to the maximum size of the result', async () => {
      for (let i = 0; i < 12; i++) {
        await storeMemory({ content: `red ${'heron '.repeat(i)}`, sessionId: `s${i % 4}` });
        await storeMemory({ content: `blue ${i}`, sessionId: `s${i % 4}` });
      }
      const ranking = { limit: 5, minScore: 0.1, intent: {} };
      const ranked = [...rankOrdinals(await tested.storage.search(RED_HERON), ranking)];
      const request = { ...RED_HERON, ranking, maxBytes: 100_000 };
      const { results, truncated, stagesMs } = await tested.storage.searchAndRank({ ...request, explain: true });
      expect(results.map((result) => [result.memory.ordinal, result.ranked])).toEqual(ranked);
      expect(ranked).toHaveLength(5);
      expect(results[0]?.memory.content).toContain('heron');
      expect([truncated, Object.keys(stagesMs)]).toEqual([false, ['words', 'vectors', 'fuse', 'read']]);
      const scores = (await tested.storage.searchAndRank(request)).results.map(({ score, ranked }) => [score, ranked]);
      expect(scores).toEqual(ranked.map(([, { score }]) => [score, undefined]));
      const short = await tested.storage.searchAndRank({ ...request, maxBytes: 1 });
      expect(short.results.map(({ memory }) => memory.ordinal)).toEqual([ranked[0]?.[0]]);
      expect(short.truncated).toBe(true);
    });
  });

  describe('recordAccess', () => {
    it('adds to the access count of a memory, and sets the time of its last access', async () => {
      const stored = await storeMemory();
      await tested.storage.recordAccess([{ namespace: 'default', ordinal: stored.ordinal, count: 2, at: NOW }]);
      await tested.storage.recordAccess([
        { namespace: 'default', ordinal: stored.ordinal, count: 1, at: NOW + 7 },
        { namespace: 'default', ordinal: 999_999, count: 1, at: NOW },
      ]);
      expect(await tested.storage.memory('default', stored.id, LATER)).toMatchObject({
        accessCount: 3,
        accessedAt: NOW + 7,
        version: 1,
      });
    });

    it('records accesses in thousands of namespaces in one call', async () => {
      const stored = await storeMemory();
      const elsewhere = Array.from({ length: 4000 }, (_, i) => ({
        namespace: `namespace-${i}`,
        ordinal: 999_999,
        count: 1,
        at: NOW,
      }));
      await tested.storage.recordAccess([
        ...elsewhere,
        { namespace: 'default', ordinal: stored.ordinal, count: 2, at: NOW },
      ]);
      expect(await tested.storage.memory('default', stored.id, LATER)).toMatchObject({ accessCount: 2 });
    });
  });
}
