import { beginFew, fewCount, fewMet, fewRow, isFew, placeAmongFew, setFewMet } from './few';
import { getSum } from './lanes';
import { chunkLength, chunkPostings, firstChunk, getRow, nextChunk } from './postings';
import {
  ALLOWED,
  BLOCK_ROWS,
  blockAt,
  COUNTED,
  CREATED_AT,
  EXPIRES_AT,
  get,
  LIVE,
  NAMESPACE,
  rowCount,
  SUPERSEDED,
  set,
  soonestExpiry,
  TIER,
} from './rows';
import { NONE } from './table';
import { holdsTerm } from './terms-of-row';

/*
 * The scope of a query: which rows it may answer with. A row meets a namespace, a time and a filter one condition
 * after the other; ALLOWED counts how many of them it has met in turn, and `conditions` how many there were.
 */

export let conditions: u8 = 0;

/** Memories that the namespace has in recall, of those that are counted. */
export let memoryCount: u32 = 0;

const LANES: u32 = 16;

/**
 * Begins a scope: the live rows of some users that have not expired, or, without users, all of a namespace.
 *
 * @param counted rows of the namespace that are counted
 * @param users the numbers of the lists that hold the rows of each user; NONE is a user without any
 */
export function scopeUsers(namespace: u32, counted: u32, users: usize, userCount: u32, now: f64): void {
  if (beginFew(namespace, users, userCount)) {
    conditions = 1;
    memoryCount = counted;
    for (let place: u32 = 0; place < fewCount; place++) {
      setFewMet(place, get<f64>(fewRow(place), EXPIRES_AT) <= now ? 0 : 1);
    }
    return;
  }
  scopeNamespace(namespace, now);
  if (userCount > 0) scopeAnyPostings(users, userCount);
}

/** Begins a scope: live rows of a namespace that have not expired. */
function scopeNamespace(namespace: u32, now: f64): void {
  conditions = 1;
  memoryCount = 0;
  const blocks = (rowCount + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let block: u32 = 0; block < blocks; block++) {
    scopeBlock(blockAt(block), namespace);
    if (soonestExpiry(block) <= now) dropExpired(blockAt(block), now);
    memoryCount += countCounted(blockAt(block));
  }
}

// Sixteen rows at a time: four comparisons of four numbers, narrowed to bytes of 0 or 1.
function scopeBlock(block: usize, namespace: u32): void {
  const wanted = i32x4.splat(namespace);
  for (let row: usize = 0; row < BLOCK_ROWS; row += LANES) {
    const numbers = block + NAMESPACE + (row << 2);
    const low = i16x8.narrow_i32x4_s(i32x4.eq(v128.load(numbers), wanted), i32x4.eq(v128.load(numbers, 16), wanted));
    const high = i16x8.narrow_i32x4_s(
      i32x4.eq(v128.load(numbers, 32), wanted),
      i32x4.eq(v128.load(numbers, 48), wanted),
    );
    const equal = i8x16.narrow_i16x8_s(low, high);
    v128.store(block + ALLOWED + row, v128.and(equal, v128.load(block + LIVE + row)));
  }
}

function dropExpired(block: usize, now: f64): void {
  for (let row: usize = 0; row < BLOCK_ROWS; row++) {
    if (load<f64>(block + EXPIRES_AT + (row << 3)) <= now) store<u8>(block + ALLOWED + row, 0);
  }
}

function countCounted(block: usize): u32 {
  let sums = i32x4.splat(0);
  for (let row: usize = 0; row < BLOCK_ROWS; row += LANES) {
    const counted = v128.and(v128.load(block + ALLOWED + row), v128.load(block + COUNTED + row));
    const pairs = i16x8.extadd_pairwise_i8x16_u(counted);
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(pairs));
  }
  return getSum(sums);
}

const ANY_TIER: u8 = 3;

/** Narrows the scope to a time of creation, ends included, and a tier or any. */
export function scopeTimeAndTier(since: f64, until: f64, tier: u8): void {
  if (isFew) fewOfTimeAndTier(since, until, tier);
  else allOfTimeAndTier(since, until, tier);
  conditions++;
}

function fewOfTimeAndTier(since: f64, until: f64, tier: u8): void {
  for (let place: u32 = 0; place < fewCount; place++) {
    const row = fewRow(place);
    const createdAt = get<f64>(row, CREATED_AT);
    const isOfTier = tier === ANY_TIER || get<u8>(row, TIER) === tier;
    if (createdAt >= since && createdAt <= until && isOfTier) meetAt(place);
  }
}

function allOfTimeAndTier(since: f64, until: f64, tier: u8): void {
  const blocks = (rowCount + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let number: u32 = 0; number < blocks; number++) {
    const block = blockAt(number);
    for (let row: usize = 0; row < BLOCK_ROWS; row++) {
      if (load<u8>(block + ALLOWED + row) !== conditions) continue;
      const createdAt = load<f64>(block + CREATED_AT + (row << 3));
      if (createdAt < since || createdAt > until) continue;
      if (tier !== ANY_TIER && load<u8>(block + TIER + row) !== tier) continue;
      store<u8>(block + ALLOWED + row, conditions + 1);
    }
  }
}

/** Narrows the scope to the rows that nothing supersedes. */
export function scopeNotSuperseded(): void {
  if (isFew) {
    for (let place: u32 = 0; place < fewCount; place++) if (get<u8>(fewRow(place), SUPERSEDED) === 0) meetAt(place);
    conditions++;
    return;
  }
  for (let row: u32 = 0; row < rowCount; row++) {
    if (get<u8>(row, ALLOWED) === conditions && get<u8>(row, SUPERSEDED) === 0) set<u8>(row, ALLOWED, conditions + 1);
  }
  conditions++;
}

/** Narrows the scope to the rows in any of some lists of postings, no row in two of them; NONE is an empty one. */
export function scopeAnyPostings(terms: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u32>(terms + (i << 2));
    if (term === NONE) continue;
    if (isFew) meetFewIn(term);
    else meetPostings(term);
  }
  conditions++;
}

function meetPostings(term: u32): void {
  for (let chunk = firstChunk(term); chunk !== 0; chunk = nextChunk(chunk)) {
    const postings = chunkPostings(chunk);
    const length = chunkLength(chunk);
    for (let i: u32 = 0; i < length; i++) {
      const row = getRow(load<u32>(postings + (i << 2)));
      if (get<u8>(row, ALLOWED) === conditions) set<u8>(row, ALLOWED, conditions + 1);
    }
  }
}

function meetFewIn(term: u32): void {
  for (let place: u32 = 0; place < fewCount; place++) if (holdsTerm(fewRow(place), term)) meetAt(place);
}

/** Lets one of the few rows that has met all conditions so far meet the next. */
function meetAt(place: u32): void {
  if (fewMet(place) === conditions) setFewMet(place, conditions + 1);
}

export function isAllowed(row: u32): bool {
  if (!isFew) return get<u8>(row, ALLOWED) === conditions;
  const place = placeAmongFew(row);
  return place !== NONE && fewMet(place) === conditions;
}

/** Whether one of the few rows is allowed. */
export function isAllowedAt(place: u32): bool {
  return fewMet(place) === conditions;
}
