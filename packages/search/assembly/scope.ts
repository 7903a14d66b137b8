import { sumLanes } from './lanes';
import { getChunkLength, getChunkPostings, getFirstChunk, getNextChunk, getRow } from './postings';
import {
  ALLOWED,
  BEGINS_AT,
  BLOCK_ROWS,
  COUNTED,
  CREATED_AT,
  ENDS_AT,
  EXPIRES_AT,
  get,
  getBlockAt,
  getEarliestExpiry,
  LIVE,
  NAMESPACE,
  REPLACED,
  REPLACEMENT,
  rowCount,
  STORED_AT,
  set,
  TIER,
} from './rows';
import {
  beginSmallScope,
  findInSmallScope,
  getConditionsMet,
  getSmallScopeRow,
  isSmallScope,
  setConditionsMet,
  smallScopeCount,
} from './small-scope';
import { NONE } from './table';
import { holdsTerm } from './terms-of-row';

/*
 * The scope of a query: the rows that the query can return. Conditions (namespace, time, filters) are applied one after
 * another. `conditions` is the number of conditions so far, and ALLOWED is the number of conditions that a row has met
 * before the first one that the row does not meet. A row is in scope if the two numbers are equal.
 */

export let conditions: u8 = 0;

/** Number of the namespace's rows with COUNTED 1. Includes expired rows only in a small scope. */
export let memoryCount: u32 = 0;

const LANES: u32 = 16;

/**
 * Begins a scope: the live rows of a namespace that have not expired. If `userCount` is not 0, the scope has only rows
 * of the given users.
 *
 * @param counted number of rows in the namespace with COUNTED 1
 * @param users the number of each user's postings list; NONE for a user without rows
 */
export function scopeUsers(namespace: u32, counted: u32, users: usize, userCount: u32, now: f64): void {
  if (beginSmallScope(namespace, users, userCount)) {
    conditions = 1;
    memoryCount = counted;
    for (let place: u32 = 0; place < smallScopeCount; place++) {
      setConditionsMet(place, get<f64>(getSmallScopeRow(place), EXPIRES_AT) <= now ? 0 : 1);
    }
    return;
  }
  scopeNamespace(namespace, now);
  if (userCount > 0) scopeAnyPostings(users, userCount);
}

/** Begins a scope: the live rows of a namespace that have not expired. */
function scopeNamespace(namespace: u32, now: f64): void {
  conditions = 1;
  memoryCount = 0;
  const blocks = (rowCount + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let block: u32 = 0; block < blocks; block++) {
    scopeBlock(getBlockAt(block), namespace);
    if (getEarliestExpiry(block) <= now) dropExpired(getBlockAt(block), now);
    memoryCount += countCounted(getBlockAt(block));
  }
}

// Processes sixteen rows at a time: four comparisons of four numbers each, narrowed to bytes of 0 or 1.
function scopeBlock(block: usize, namespace: u32): void {
  const target = i32x4.splat(namespace);
  for (let row: usize = 0; row < BLOCK_ROWS; row += LANES) {
    const numbers = block + NAMESPACE + (row << 2);
    const low = i16x8.narrow_i32x4_s(i32x4.eq(v128.load(numbers), target), i32x4.eq(v128.load(numbers, 16), target));
    const high = i16x8.narrow_i32x4_s(
      i32x4.eq(v128.load(numbers, 32), target),
      i32x4.eq(v128.load(numbers, 48), target),
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
  return sumLanes(sums);
}

const ANY_TIER: u8 = 3;

/** Narrows the scope to a creation time range, ends included, and a tier or ANY_TIER. */
export function scopeTimeAndTier(since: f64, until: f64, tier: u8): void {
  if (isSmallScope) narrowSmallScope(since, until, tier);
  else narrowAllRows(since, until, tier);
  conditions++;
}

function narrowSmallScope(since: f64, until: f64, tier: u8): void {
  for (let place: u32 = 0; place < smallScopeCount; place++) {
    const row = getSmallScopeRow(place);
    const createdAt = get<f64>(row, CREATED_AT);
    const isOfTier = tier === ANY_TIER || get<u8>(row, TIER) === tier;
    if (createdAt >= since && createdAt <= until && isOfTier) markConditionMet(place);
  }
}

function narrowAllRows(since: f64, until: f64, tier: u8): void {
  const blocks = (rowCount + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let number: u32 = 0; number < blocks; number++) {
    const block = getBlockAt(number);
    for (let row: usize = 0; row < BLOCK_ROWS; row++) {
      if (load<u8>(block + ALLOWED + row) !== conditions) continue;
      const createdAt = load<f64>(block + CREATED_AT + (row << 3));
      if (createdAt < since || createdAt > until) continue;
      if (tier !== ANY_TIER && load<u8>(block + TIER + row) !== tier) continue;
      store<u8>(block + ALLOWED + row, conditions + 1);
    }
  }
}

/**
 * Narrows the scope to rows that hold at a time or, if `isReplacementAlone`, that nothing replaces then. Keeps all rows
 * whose times do not tell, which the host decides with `excludeRow`.
 */
export function scopeHolding(at: f64, isReplacementAlone: bool): void {
  if (isSmallScope) {
    for (let place: u32 = 0; place < smallScopeCount; place++)
      if (mayHold(getSmallScopeRow(place), at, isReplacementAlone)) markConditionMet(place);
    conditions++;
    return;
  }
  for (let row: u32 = 0; row < rowCount; row++) {
    if (get<u8>(row, ALLOWED) === conditions && mayHold(row, at, isReplacementAlone))
      set<u8>(row, ALLOWED, conditions + 1);
  }
  conditions++;
}

/** Narrows the scope to rows that were stored at `until` or before. */
export function scopeStored(until: f64): void {
  if (isSmallScope) {
    for (let place: u32 = 0; place < smallScopeCount; place++)
      if (get<f64>(getSmallScopeRow(place), STORED_AT) <= until) markConditionMet(place);
    conditions++;
    return;
  }
  for (let row: u32 = 0; row < rowCount; row++) {
    if (get<u8>(row, ALLOWED) === conditions && get<f64>(row, STORED_AT) <= until)
      set<u8>(row, ALLOWED, conditions + 1);
  }
  conditions++;
}

/**
 * Narrows the scope to the rows whose byte is not 0.
 *
 * @param bytes address of one byte for each row
 */
export function scopeMarkedRows(bytes: usize): void {
  const count = isSmallScope ? smallScopeCount : rowCount;
  for (let i: u32 = 0; i < count; i++) {
    const row = isSmallScope ? getSmallScopeRow(i) : i;
    if (load<u8>(bytes + row) === 0) continue;
    if (isSmallScope) markConditionMet(i);
    else if (get<u8>(row, ALLOWED) === conditions) set<u8>(row, ALLOWED, conditions + 1);
  }
  conditions++;
}

function mayHold(row: u32, at: f64, isReplacementAlone: bool): bool {
  const replacement = get<u8>(row, REPLACEMENT);
  if (replacement > REPLACED) return true;
  if (isReplacementAlone) return replacement === 0 || get<f64>(row, ENDS_AT) > at;
  return get<f64>(row, BEGINS_AT) <= at && get<f64>(row, ENDS_AT) > at;
}

/** Removes a row from the scope. No effect if the row is not in scope. */
export function excludeRow(row: u32): void {
  if (!isAllowed(row)) return;
  if (isSmallScope) setConditionsMet(findInSmallScope(row), 0);
  else set<u8>(row, ALLOWED, 0);
}

/** Adds a row to the scope. The row must be live and of the namespace and, in a small scope, of its users. */
export function includeRow(row: u32): void {
  const place = isSmallScope ? findInSmallScope(row) : NONE;
  if (!isSmallScope) set<u8>(row, ALLOWED, conditions);
  else if (place !== NONE) setConditionsMet(place, conditions);
}

/** Narrows the scope to rows in one of the given postings lists. The lists must be disjoint. NONE is an empty list. */
export function scopeAnyPostings(terms: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u32>(terms + (i << 2));
    if (term === NONE) continue;
    if (isSmallScope) meetInSmallScope(term);
    else meetPostings(term);
  }
  conditions++;
}

function meetPostings(term: u32): void {
  for (let chunk = getFirstChunk(term); chunk !== 0; chunk = getNextChunk(chunk)) {
    const postings = getChunkPostings(chunk);
    const length = getChunkLength(chunk);
    for (let i: u32 = 0; i < length; i++) {
      const row = getRow(load<u32>(postings + (i << 2)));
      if (get<u8>(row, ALLOWED) === conditions) set<u8>(row, ALLOWED, conditions + 1);
    }
  }
}

function meetInSmallScope(term: u32): void {
  for (let place: u32 = 0; place < smallScopeCount; place++)
    if (holdsTerm(getSmallScopeRow(place), term)) markConditionMet(place);
}

/** Records that a row of the small scope meets the next condition, if the row has met all previous conditions. */
function markConditionMet(place: u32): void {
  if (getConditionsMet(place) === conditions) setConditionsMet(place, conditions + 1);
}

export function isAllowed(row: u32): bool {
  if (!isSmallScope) return get<u8>(row, ALLOWED) === conditions;
  const place = findInSmallScope(row);
  return place !== NONE && getConditionsMet(place) === conditions;
}

/** Returns the number of rows in scope with COUNTED 1. */
export function countMemories(): u32 {
  let counted: u32 = 0;
  const count = isSmallScope ? smallScopeCount : rowCount;
  for (let i: u32 = 0; i < count; i++) {
    const row = isSmallScope ? getSmallScopeRow(i) : i;
    if (isSmallScope ? isAllowedAt(i) : isAllowed(row)) counted += get<u8>(row, COUNTED);
  }
  return counted;
}

/** Returns whether the row at a place of the small scope has met all conditions. */
export function isAllowedAt(place: u32): bool {
  return getConditionsMet(place) === conditions;
}
