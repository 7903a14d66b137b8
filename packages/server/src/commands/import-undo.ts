import { formatCount, type Import, type MemoryApi, type UndoImportResponse } from '@memoryd/contract';
import type { Environment, Flags } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { canAsk, confirm } from './ask.ts';
import type { CommonFlags, ViewFlags } from './command.ts';
import { toShortTime } from './local-time.ts';
import { withMemories } from './memories.ts';
import { asTable, print, printEach, write } from './output.ts';
import { toPrintable } from './printable.ts';
import { toShellWord } from './shell-word.ts';

/** Maximum imports that the error about a missing id lists. */
const MAX_LISTED_IMPORTS = 10;

/**
 * The flags of the undo command that select the memories. `--database-url` is absent, because it may contain a
 * password.
 */
const PLACE_FLAGS = { dbPath: '--db-path', url: '--url', namespace: '--namespace' } as const;

export type UndoFlags = CommonFlags & { undo?: string | true; yes?: true };

/** Returns the command that undoes an import in the same database or service. */
export function getUndoCommand(id: string, flags: Flags): string {
  const places = Object.entries(PLACE_FLAGS).flatMap(([key, flag]) => {
    const value = flags[key];
    return typeof value === 'string' ? [flag, toShellWord(value)] : [];
  });
  return ['memoryd import --undo', toShellWord(id), ...places].join(' ');
}

/** Lists imports, newest first. */
export async function listImports(flags: CommonFlags, env: Environment): Promise<void> {
  await withMemories(flags, env, {}, ({ api }) =>
    printEach(flags, eachImport(api), { format: getTable(flags), none: 'there are no imports' }),
  );
}

async function* eachImport(api: MemoryApi): AsyncIterable<Import> {
  let cursor: string | undefined;
  do {
    const page = await api.imports(cursor === undefined ? {} : { cursor });
    yield* page.imports;
    cursor = page.next_cursor;
  } while (cursor !== undefined);
}

function getTable(flags: ViewFlags) {
  return asTable<Import>(
    ['IMPORT', 'FROM', 'STARTED', 'ENDED', 'IMPORTED', 'STORED', 'NAME'],
    (each) => [
      each.id,
      each.from,
      toShortTime(each.started_at, flags),
      each.ended_at === null ? 'interrupted' : toShortTime(each.ended_at, flags),
      each.imported_count,
      each.memory_count,
      { text: [each.name ?? '', ...getOwner(each)].filter((part) => part !== '').join(', ') },
    ],
    flags,
  );
}

function getOwner({ user_id, agent_id }: Import): string[] {
  return [
    ...(user_id === undefined ? [] : [`user ${user_id}`]),
    ...(agent_id === undefined ? [] : [`agent ${agent_id}`]),
  ];
}

/**
 * Undoes the import that `--undo` names. Without an id, shows the newest import on a terminal, and asks.
 *
 * @throws UsageError with the ids of imports, if no id is given and nobody can be asked
 */
export async function undoImport(flags: UndoFlags, env: Environment): Promise<void> {
  await withMemories(flags, env, {}, async ({ api }) => {
    const id = typeof flags.undo === 'string' ? flags.undo : await chooseImport(api, flags);
    if (id === undefined) return;
    const undone = await api.undoImport(id);
    await print(flags, undone, () => formatUndone(undone));
  });
}

async function chooseImport(api: MemoryApi, flags: UndoFlags): Promise<string | undefined> {
  const { imports } = await api.imports({ limit: MAX_LISTED_IMPORTS });
  const [newest] = imports;
  if (newest === undefined) throw new UsageError('there are no imports to undo');
  if (flags.json || !canAsk()) {
    const ids = imports.map(
      ({ id, from, name }) => `${id} (${[from, ...(name ? [toPrintable(name)] : [])].join(', ')})`,
    );
    throw new UsageError(`--undo needs the id of an import; the newest are ${ids.join(', ')}`);
  }
  await write(await getTable(flags)([newest]));
  const question = `Forget ${formatCount(newest.memory_count, 'memory', 'memories')} of this import?`;
  return flags.yes || (await confirm(question)) ? newest.id : undefined;
}

function formatUndone({ id, forgotten_count, kept_count, purge }: UndoImportResponse): string {
  const kept =
    kept_count === 0
      ? ''
      : `; kept ${formatCount(kept_count, 'memory', 'memories')} that changed after the import, or were there before it`;
  const pending = purge === undefined ? '' : '; the bytes are overwritten when no running read needs them';
  return `undone ${id}: forgotten ${formatCount(forgotten_count, 'memory', 'memories')}${kept}${pending}\n`;
}
