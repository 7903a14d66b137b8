import { assertValid, checkOf, MemoryError, NamespaceQuota } from '@memoryd/contract';
import type { NamespaceSummary, Namespaces } from '../ports/administration.ts';
import type { Clock } from '../ports/clock.ts';
import type { Storage } from '../ports/storage.ts';
import type { NamespaceUsage } from '../ports/storage-namespaces.ts';
import { assertKeepableNamespace, assertNamespace } from './namespace-name.ts';
import { toStats } from './stats.ts';

const check = checkOf(NamespaceQuota, 'quota');

/** See `Namespaces`. */
export function namespacesOf(storage: Storage, clock: Clock): Namespaces {
  async function isKnown(name: string): Promise<boolean> {
    return (await storage.usage(clock.now())).some((namespace) => namespace.name === name);
  }

  return {
    async list() {
      return (await storage.usage(clock.now())).map(toSummary);
    },
    async delete(name) {
      if (!(await isKnown(name))) throw unknownNamespace();
      const { count, purged } = await storage.deleteNamespace(name);
      return { deleted_count: count, ...(!purged && { purge: 'pending' as const }) };
    },
    async setQuota(name, quota) {
      assertKeepableNamespace(name);
      try {
        assertNamespace(name);
      } catch (error) {
        // One that is not there, and nobody could get a key for, would be a misspelt one.
        if (!(await isKnown(name))) throw error;
      }
      assertValid(check, quota);
      await storage.setQuota(name, quota);
    },
    async totals() {
      return toStats(await storage.totals(clock.now()));
    },
  };
}

function toSummary({ name, counts, used, quota, keys }: NamespaceUsage): NamespaceSummary {
  return { name, ...counts, memories: used.memories, bytes: used.bytes, quota, keys };
}

function unknownNamespace(): MemoryError {
  return new MemoryError('NOT_FOUND', 'there is no such namespace; `memoryd namespaces list` names those there are');
}
