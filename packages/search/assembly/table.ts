import { allocate, release } from './memory';

/** Stands for a missing row, number or value. */
export const NONE: u32 = 0xffffffff;

const FIRST_SLOTS: u32 = 1024;

/** A slot has 2^4 bytes: a key (64 bits) and its value (32 bits), adjacent so that a lookup touches one cache line. */
const SLOT_BITS: u32 = 4;
const VALUE: usize = 8;

/** A hash table from 64-bit keys other than 0 to 32-bit values, with open addressing. */
@unmanaged
export class Table {
  slotsAt: usize;
  slots: u32;
  used: u32;
}

/** Initializes an empty table at an address. */
export function clearTable(at: usize): Table {
  const table = changetype<Table>(at);
  allocateSlots(table, FIRST_SLOTS);
  return table;
}

/** Returns the value of a key; NONE if the key is missing. */
export function find(table: Table, key: u64): u32 {
  const slot = getSlot(table, key);
  return load<u64>(slot) === key ? load<u32>(slot, VALUE) : NONE;
}

/** Sets the value of a key. The value NONE removes the key. */
export function put(table: Table, key: u64, value: u32): void {
  // At a load factor of at most 3/4, a lookup probes only a few slots.
  if (table.used * 4 >= table.slots * 3) grow(table);
  const slot = getSlot(table, key);
  if (load<u64>(slot) !== key) {
    store<u64>(slot, key);
    table.used++;
  }
  store<u32>(slot, value, VALUE);
}

// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4) with linear probing.
function getSlot(table: Table, key: u64): usize {
  const mask = table.slots - 1;
  let slot = (((key * 0x9e3779b97f4a7c15) >> 32) as u32) & mask;
  let found = load<u64>(table.slotsAt + ((slot as usize) << SLOT_BITS));
  while (found !== key && found !== 0) {
    slot = (slot + 1) & mask;
    found = load<u64>(table.slotsAt + ((slot as usize) << SLOT_BITS));
  }
  return table.slotsAt + ((slot as usize) << SLOT_BITS);
}

function grow(table: Table): void {
  const old = table.slotsAt;
  const slots = table.slots;
  allocateSlots(table, slots * 2);
  for (let slot: u32 = 0; slot < slots; slot++) {
    const at = old + ((slot as usize) << SLOT_BITS);
    if (load<u64>(at) !== 0 && load<u32>(at, VALUE) !== NONE) put(table, load<u64>(at), load<u32>(at, VALUE));
  }
  release(old, (slots as usize) << SLOT_BITS);
}

function allocateSlots(table: Table, slots: u32): void {
  table.slots = slots;
  table.used = 0;
  table.slotsAt = allocate((slots as usize) << SLOT_BITS);
  memory.fill(table.slotsAt, 0, (slots as usize) << SLOT_BITS);
}

/** Returns a hash of two numbers (the finalizer of MurmurHash3, Appleby). */
export function mix(one: u64, other: u64): u64 {
  let mixed = one * 0x9e3779b97f4a7c15 + other;
  mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccd;
  mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53;
  return mixed ^ (mixed >> 33);
}
