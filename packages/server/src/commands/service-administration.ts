import { AdministrationClient } from '@memoryd/client/administration';
import type { Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { RETRIES, serviceAt } from './memories.ts';
import type { PlaceAdministration } from './place-administration.ts';

/** Administers the service that settings name, over HTTP. */
export async function connectAdministration({ url, apiKey }: Settings): Promise<PlaceAdministration> {
  const client = new AdministrationClient({ url, retries: RETRIES, ...(apiKey !== undefined && { apiKey }) });
  return {
    place: url,
    ownFlags: undefined,
    keys: {
      add: (key) => client.addKey(key),
      list: async () => (await client.listKeys()).keys,
      revoke: async (id) => void (await client.revokeKey(id)),
      // A request without a key succeeds only from the service's own machine, while no key is required there.
      async areRequired() {
        const withoutKey = await serviceAt({ url });
        return withoutKey.root().then(
          () => false,
          (error) => {
            if (error.code === 'UNAUTHORIZED') return true;
            throw error;
          },
        );
      },
      async openLoopback() {
        throw new UsageError(
          `memoryd keys open does not work over HTTP; run it on the machine of the service ${url}, with --db-path or ` +
            '--database-url and the database of the service',
        );
      },
    },
    namespaces: {
      list: async () => (await client.listNamespaces()).namespaces,
      async delete(name) {
        const { deleted_count, purge } = await client.deleteNamespace(name);
        return { deleted_count, ...(purge && { purge }) };
      },
      setQuota: async (name, quota) => void (await client.setQuota(name, quota)),
      async userQuota() {
        throw new UsageError(
          `the service ${url} cannot return the quota of one user; give both --memories and --bytes to set the quota, ` +
            'or run memoryd users list to print all quotas',
        );
      },
      setUserQuota: async (_namespace, userId, quota) => void (await client.setUserQuota(userId, quota)),
    },
  };
}
