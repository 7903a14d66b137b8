import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { migrate } from './migrate.ts';
import { openForWriting } from './open-connection.ts';
import { closePurgeRequest, getPurgeRequest, requestPurge } from './page-gaps.ts';

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

it('closePurgeRequest closes the request with the given id, but not a newer request', () => {
  requestPurge(one);
  const request = getPurgeRequest(one) ?? '';
  requestPurge(other);
  closePurgeRequest(one, request);
  const newer = getPurgeRequest(other) ?? '';
  expect(newer).not.toBe('');
  closePurgeRequest(other, newer);
  expect(getPurgeRequest(one)).toBeUndefined();
});

it('closePurgeRequest does not close a later request of another process', () => {
  requestPurge(one);
  const request = getPurgeRequest(one) ?? '';
  closePurgeRequest(other, request);
  requestPurge(other);
  closePurgeRequest(one, request);
  expect(getPurgeRequest(other)).toBeDefined();
});
