import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { migrate } from './migrate-file.ts';
import { openForWriting } from './open-connection.ts';
import { askedPurge, askForPurge, closePurge } from './residue.ts';

let folder: string;
let one: Connection;
let other: Connection;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
  const path = join(folder, 'memory.db');
  [one, other] = [openForWriting(path), openForWriting(path)];
  migrate(one);
});
afterEach(() => {
  one.close();
  other.close();
  rmSync(folder, { recursive: true });
});

it('closes the request that it began with, and none that came since', () => {
  askForPurge(one);
  const asked = askedPurge(one) ?? '';
  askForPurge(other);
  closePurge(one, asked);
  const newer = askedPurge(other) ?? '';
  expect(newer).not.toBe('');
  closePurge(other, newer);
  expect(askedPurge(one)).toBeUndefined();
});

it('leaves open what another process asked for after it had closed the request before', () => {
  askForPurge(one);
  const asked = askedPurge(one) ?? '';
  closePurge(other, asked);
  askForPurge(other);
  closePurge(one, asked);
  expect(askedPurge(other)).toBeDefined();
});
