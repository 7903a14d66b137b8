import type {
  ApiKey,
  ApiKeyWithSecret,
  HookSettingsChange,
  HooksRequest,
  HooksResponse,
  NamespaceQuota,
  NamespaceSummary,
  NewKey,
  StatsHistoryResponse,
} from '@memoryd/contract';
import { toPath, toQueryString } from './address.ts';
import { toJsonBody } from './json-body.ts';
import type { Operation } from './operations.ts';
import { readJson } from './response-body.ts';
import { type CallOptions, Transport, type TransportOptions } from './transport.ts';

/** Operations on the API keys, namespaces, quotas and hooks of a service, by the names of the client's methods. */
export const ADMINISTRATION = {
  listKeys: { method: 'GET', path: '/keys' },
  addKey: { method: 'POST', path: '/keys' },
  revokeKey: { method: 'DELETE', path: '/keys/{id}' },
  listNamespaces: { method: 'GET', path: '/namespaces' },
  setQuota: { method: 'PUT', path: '/namespaces/{name}' },
  deleteNamespace: { method: 'DELETE', path: '/namespaces/{name}' },
  setUserQuota: { method: 'PUT', path: '/users/{user_id}/quota' },
  statsHistory: { method: 'GET', path: '/stats/history' },
  hooks: { method: 'GET', path: '/hooks' },
  setHooks: { method: 'PUT', path: '/hooks' },
} as const satisfies Record<string, Operation>;

/** Parts of a request that its operation does not define. */
interface Parts {
  /** Value of the parameter in the path. */
  id?: string;
  query?: object;
  body?: object;
}

/**
 * Client for the operators of a service. Every call needs an API key with the scope `operate`, or none while the
 * service accepts local requests without a key; `hooks` needs the scope `read`, and `setHooks` the scope `write`. Calls
 * reject with the `MemoryError` of this package. Reads, quotas and hook settings are retried if no response arrives;
 * `addKey`, `revokeKey` and `deleteNamespace` are not.
 *
 * @example
 * const { key } = await new AdministrationClient({ url, apiKey }).addKey({ namespace: 'kitchen', scope: 'write' });
 */
export class AdministrationClient {
  readonly #transport: Transport;

  constructor(options: TransportOptions = {}) {
    this.#transport = new Transport(options);
  }

  /** Returns all keys without their secrets, including revoked keys, in order of creation. */
  async listKeys(call: CallOptions = {}): Promise<{ keys: ApiKey[] }> {
    return this.#send(ADMINISTRATION.listKeys, call);
  }

  /** Creates a key. The result's `key` is the text of the key, which cannot be retrieved later. */
  async addKey(request: NewKey, call: CallOptions = {}): Promise<ApiKeyWithSecret> {
    return this.#send(ADMINISTRATION.addKey, call, { body: request });
  }

  /** Revokes a key. Rejects with NOT_FOUND for an unknown id. */
  async revokeKey(id: string, call: CallOptions = {}): Promise<{ id: string; status: 'revoked' }> {
    return this.#send(ADMINISTRATION.revokeKey, call, { id });
  }

  /** Returns the namespaces with their usage and quotas, ordered by name. */
  async listNamespaces(call: CallOptions = {}): Promise<{ namespaces: NamespaceSummary[] }> {
    return this.#send(ADMINISTRATION.listNamespaces, call);
  }

  /** Sets the quota of a namespace. A limit of null is the default of the service, and 0 is no limit. */
  async setQuota(
    name: string,
    quota: NamespaceQuota,
    call: CallOptions = {},
  ): Promise<{ name: string; quota: NamespaceQuota }> {
    return this.#send(ADMINISTRATION.setQuota, call, { id: name, body: quota });
  }

  /** Deletes a namespace for good. Rejects with NOT_FOUND for an unknown name. */
  async deleteNamespace(
    name: string,
    call: CallOptions = {},
  ): Promise<{ name: string; status: 'deleted'; deleted_count: number; purge?: 'pending' }> {
    return this.#send(ADMINISTRATION.deleteNamespace, call, { id: name });
  }

  /** Sets the quota of a user in the namespace of the API key. See `setQuota`. */
  async setUserQuota(
    userId: string,
    quota: NamespaceQuota,
    call: CallOptions = {},
  ): Promise<{ user_id: string; quota: NamespaceQuota }> {
    return this.#send(ADMINISTRATION.setUserQuota, call, { id: userId, body: quota });
  }

  /** Returns the rates and latencies of the last 24 hours of this service process, in all namespaces. */
  async statsHistory(call: CallOptions = {}): Promise<StatsHistoryResponse> {
    return this.#send(ADMINISTRATION.statsHistory, call);
  }

  /** Returns the settings of a user, or of nobody, for the hooks of agent programs, and the activity of the hooks. */
  async hooks(request: HooksRequest = {}, call: CallOptions = {}): Promise<HooksResponse> {
    return this.#send(ADMINISTRATION.hooks, call, { query: request });
  }

  /** Changes the hook settings of a user, or of nobody. Settings that are absent stay as they are. */
  async setHooks(
    settings: HookSettingsChange,
    request: HooksRequest = {},
    call: CallOptions = {},
  ): Promise<HooksResponse> {
    return this.#send(ADMINISTRATION.setHooks, call, { query: request, body: settings });
  }

  async #send<T extends object>(
    { method, path }: Operation,
    call: CallOptions,
    { id, query = {}, body }: Parts = {},
  ): Promise<T> {
    const repeatable = method === 'GET' || method === 'PUT';
    const request = {
      method,
      path: toPath(path, id) + toQueryString(query),
      repeatable,
      ...(body && { body: toJsonBody(body) }),
    };
    return this.#transport.send(request, call, ({ response }) => readJson<T>(response));
  }
}
