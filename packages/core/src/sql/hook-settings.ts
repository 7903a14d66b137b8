import type { HookSettings, HookSettingsChange } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import type { OwnedHookSettings } from '../ports/storage-hooks.ts';
import { fromJson } from './corruption.ts';
import { count, type Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

interface Row {
  userId: string;
  paused: number;
  folders: string;
}

const COLUMNS = raw('user_id AS "userId", paused, ignored_folders AS folders');

/** The settings of an owner without a row. */
const DEFAULTS: HookSettings = { paused: false, ignored_folders: [] };

function toSettings({ userId, paused, folders }: Row): HookSettings {
  return { paused: paused !== 0, ignored_folders: fromJson(folders, 'the hook settings of user', userId) };
}

/** See `HookStorage.hookSettings`. */
export async function hookSettings(queries: Queries, namespace: string, userId: string): Promise<HookSettings> {
  const row = await queries.row<Row>(sql`
    SELECT ${COLUMNS} FROM hook_setting WHERE namespace = ${namespace} AND user_id = ${userId}`);
  return row ? toSettings(row) : DEFAULTS;
}

/** See `HookStorage.allHookSettings`. */
export async function allHookSettings(queries: Queries, namespace: string): Promise<OwnedHookSettings[]> {
  const rows = await queries.rows<Row>(sql`
    SELECT ${COLUMNS} FROM hook_setting WHERE namespace = ${namespace} ORDER BY user_id`);
  return rows.map((row) => ({ userId: row.userId, ...toSettings(row) }));
}

/** See `HookStorage.changeHookSettings`. The transaction must hold the lock of the namespace. */
export async function changeHookSettings(
  queries: Queries,
  namespace: string,
  userId: string,
  change: HookSettingsChange,
): Promise<HookSettings | undefined> {
  const isOwner = sql`namespace = ${namespace} AND user_id = ${userId}`;
  const before = await queries.row<Row>(sql`SELECT ${COLUMNS} FROM hook_setting WHERE ${isOwner}`);
  const settings: HookSettings = { ...(before ? toSettings(before) : DEFAULTS), ...change };
  if (!settings.paused && settings.ignored_folders.length === 0) {
    await queries.run(sql`DELETE FROM hook_setting WHERE ${isOwner}`);
    return settings;
  }
  if (!before && (await count(queries, sql`hook_setting WHERE namespace = ${namespace}`)) >= LIMITS.hookUsers)
    return undefined;
  await queries.run(sql`
    INSERT INTO hook_setting (namespace, user_id, paused, ignored_folders)
    VALUES (${namespace}, ${userId}, ${settings.paused ? 1 : 0}, ${JSON.stringify(settings.ignored_folders)})
    ON CONFLICT (namespace, user_id) DO UPDATE
      SET paused = excluded.paused, ignored_folders = excluded.ignored_folders`);
  return settings;
}
