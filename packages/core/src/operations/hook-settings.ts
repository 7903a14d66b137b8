import {
  assertValid,
  createCheck,
  type HookSettings,
  HookSettingsChange,
  HooksRequest,
  LIMITS,
  MemoryError,
} from '@memoryd/contract';
import { LRUCache } from 'lru-cache';
import type { Hooks } from '../ports/administration.ts';
import type { HookStorage } from '../ports/storage-hooks.ts';
import { assertKeepableNamespace } from './namespaces.ts';

/** Maximum age of cached settings, in ms. */
const MAX_AGE_MS = 2000;

/** Maximum users with cached settings, and UTF-16 units of all cached settings together. */
const CACHE = { users: 10_000, chars: 8 * 2 ** 20 };

const checkUser = createCheck(HooksRequest, 'request');
const checkChange = createCheck(HookSettingsChange, 'body');

/** The port and the key of a read. */
interface Owner {
  namespace: string;
  userId: string;
}

/**
 * See `Hooks`. The cache holds the settings of this process; a change of another process is visible once the cached
 * settings are too old.
 */
export function createHooks(storage: HookStorage): Hooks {
  const cache = new LRUCache<string, HookSettings, Owner>({
    max: CACHE.users,
    maxSize: CACHE.chars,
    sizeCalculation: countChars,
    ttl: MAX_AGE_MS,
    // A read that a change or an eviction overtakes returns its settings, which are not cached.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => storage.hookSettings(context.namespace, context.userId),
  });
  return {
    async getSettings(namespace, userId) {
      const owner = toOwner(namespace, userId);
      return storage.hookSettings(owner.namespace, owner.userId);
    },
    async getRecentSettings(namespace, userId) {
      const owner = toOwner(namespace, userId);
      return cache.forceFetch(toKey(owner), { context: owner });
    },
    async putSettings(namespace, userId, change) {
      const owner = toOwner(namespace, userId);
      assertValid(checkChange, change);
      const settings = await storage.changeHookSettings(owner.namespace, owner.userId, withoutRepeats(change));
      if (!settings) throw tooManyUsers();
      // A read that began before the change does not replace the new settings.
      cache.set(toKey(owner), settings);
      return settings;
    },
  };
}

function toOwner(namespace: string, userId: string | undefined): Owner {
  assertKeepableNamespace(namespace);
  assertValid(checkUser, userId === undefined ? {} : { user_id: userId });
  return { namespace, userId: userId ?? '' };
}

function toKey({ namespace, userId }: Owner): string {
  return `${namespace}\0${userId}`;
}

function withoutRepeats({ ignored_folders: folders, ...others }: HookSettingsChange): HookSettingsChange {
  return { ...others, ...(folders && { ignored_folders: [...new Set(folders)] }) };
}

function countChars(settings: HookSettings): number {
  return 1 + settings.ignored_folders.reduce((sum, folder) => sum + folder.length, 0);
}

function tooManyUsers(): MemoryError {
  return new MemoryError(
    'CONFLICT',
    `the namespace already has hook settings of the maximum of ${LIMITS.hookUsers} users; resume the hooks of a user ` +
      'and remove the ignored folders of the user first',
  );
}
