import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import type { OnCopied } from './copies.ts';
import { attempt, unwrap } from './failure.ts';
import { makeFolder } from './file.ts';
import { openAsItIs } from './open-connection.ts';
import { assertFree, cannotBeMade, placeFile } from './place-file.ts';

/** What SQLite puts beside a database. */
const BESIDE = ['-wal', '-shm', '-journal'];

const PIECE_BYTES = 1024 * 1024;

/**
 * Puts a copy in the place of a database. CONFLICT where there is one, or a part of one; UNAVAILABLE where the copy cannot
 * be read, is damaged, is no database of memoryd or one of a newer memoryd, or the signal gave it up. The copy is only read.
 */
export async function restoreFile(
  copy: string,
  dbPath: string,
  { signal, onCopied }: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<void> {
  const [from, path] = [resolve(copy), resolve(dbPath)];
  for (const beside of BESIDE) await assertFree(`${path}${beside}`);
  await assertComplete(from);
  makeFolderOf(path);
  await placeFile(path, async (to) => {
    await copyBytes(from, to, onCopied, signal);
    assertSound(to);
  });
}

function makeFolderOf(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw cannotBeMade(path, cause);
  }
}

/** Refuses a file that a server was using when it was copied: the newest of it stands in the log beside it. */
async function assertComplete(from: string): Promise<void> {
  const log = await stat(`${from}-wal`).catch(() => ({ size: 0 }));
  if (log.size === 0) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `${from} has a log beside it, so it is in use or was; copy it by memoryd backup`,
  );
}

async function copyBytes(
  from: string,
  to: string,
  onCopied: OnCopied | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const cannotBeRead = (cause: NodeJS.ErrnoException) => {
    throw new MemoryError('UNAVAILABLE', `${from} cannot be read (${cause.code})`, { cause });
  };
  const source = await open(from, 'r').catch(cannotBeRead);
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const { size } = await source.stat();
      const piece = Buffer.alloc(PIECE_BYTES);
      for (let read = -1, done = 0; read !== 0; done += read) {
        if (signal?.aborted) throw new MemoryError('UNAVAILABLE', 'restoring was given up');
        read = (await source.read(piece).catch(cannotBeRead)).bytesRead;
        await target.writeFile(piece.subarray(0, read));
        onCopied?.(done + read, size);
      }
      await target.sync();
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function assertSound(path: string): void {
  const problems = unwrap(
    attempt(() => {
      const connection = openAsItIs(path);
      try {
        return connection.pragma('quick_check(1)', { simple: true }) as string;
      } finally {
        connection.close();
      }
    }),
  );
  if (problems !== 'ok') throw new MemoryError('UNAVAILABLE', `the copy is damaged: ${problems}`);
}
