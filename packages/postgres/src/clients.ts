import { MemoryError } from '@memoryd/contract/errors';
import { splitHosts } from '@memoryd/core/database-address';
import { Client, type ClientConfig } from 'pg';
import { explain, isLost, NoHostError, WrongServerError } from './failure.ts';

/** State of a server. `target_session_attrs` can require one of these states. */
interface Server {
  isStandby: boolean;
  isReadOnly: boolean;
}

/**
 * Supported values of `target_session_attrs` (postgresql.org/docs/17/libpq-connect.html) with the servers that each
 * value accepts.
 */
const TARGETS: Record<string, (server: Server) => boolean> = {
  any: () => true,
  'read-write': ({ isReadOnly }) => !isReadOnly,
  'read-only': ({ isReadOnly }) => isReadOnly,
  primary: ({ isStandby }) => !isStandby,
  standby: ({ isStandby }) => isStandby,
};

const SERVER_STATE = `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

/** Maximum reports of failed hosts until a host works again. */
const MAX_REPORTS = 100;

export type ClientClass = new (options: ClientConfig) => Client;

/**
 * Returns a client class for one database, whose URL can contain several hosts. A client connects to the last working
 * host. If that host cannot be reached or does not match `target_session_attrs` of the URL, the next client tries the
 * next host. If all of several hosts have failed in turn, the error does not name them, because callers read its
 * message.
 *
 * @param settings settings of each session; set with statements, because poolers reject them as startup parameters
 * @param onFailed called with what each host said when all of several hosts have failed in turn; once for each text
 *   until a host works again
 * @throws MemoryError UNAVAILABLE if the value of `target_session_attrs` is not supported
 */
export function createClientClass(
  databaseUrl: string,
  settings: Record<string, number>,
  onFailed: (message: string) => void = () => {},
): ClientClass {
  const addresses = splitHosts(databaseUrl);
  const target = addresses[0]?.searchParams.get('target_session_attrs') ?? 'any';
  const accepts = TARGETS[target];
  if (!accepts) {
    const known = Object.keys(TARGETS).join(', ');
    throw new MemoryError(
      'UNAVAILABLE',
      `target_session_attrs in the database address must be one of ${known}, not ${target}`,
    );
  }
  for (const { searchParams } of addresses) searchParams.delete('target_session_attrs');
  const assignments = Object.entries(settings).map(([name, value]) => `SET ${name} = ${value}`);
  const startup = [...assignments, SERVER_STATE].join('; ');
  let host = 0;
  const failures = new HostFailures(addresses, onFailed);

  return class DatabaseClient extends Client {
    readonly #host = host;

    constructor(options: ClientConfig) {
      super({ ...options, connectionString: (addresses[host] as URL).href });
      // A lost connection is reported by its next statement or by its release.
      this.on('error', () => {});
    }

    override connect(): Promise<Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: Client) => void)): void;
    override connect(callback?: (error: never, client: Client) => void) {
      const connected = this.#connect();
      if (callback) {
        connected.then(
          () => callback(null as never, this),
          (error: unknown) => callback(error as never, this),
        );
      }
      return connected;
    }

    async #connect(): Promise<Client> {
      try {
        await super.connect();
        // `pg` returns one result per statement.
        const results = (await super.query(startup)) as unknown as { rows: Server[] }[];
        const server = results.at(-1)?.rows[0] as Server;
        if (!accepts(server)) throw new WrongServerError((addresses[this.#host] as URL).host, describe(server), target);
        failures.clear();
        return this;
      } catch (error) {
        if (host === this.#host) host = (host + 1) % addresses.length;
        void super.end().catch(() => {});
        const haveAllFailed = failures.add(this.#host, error);
        throw haveAllFailed && isLost(error) ? new NoHostError(addresses.length, error) : error;
      }
    }
  };
}

function describe({ isStandby, isReadOnly }: Server): string {
  if (isStandby) return 'a standby';
  return isReadOnly ? 'a read-only primary' : 'a primary that accepts writes';
}

/** The last error of each of several hosts since one of them worked. */
class HostFailures {
  readonly #addresses: readonly URL[];
  readonly #onFailed: (message: string) => void;
  readonly #errors = new Map<number, unknown>();
  readonly #reported = new Set<string>();

  constructor(addresses: readonly URL[], onFailed: (message: string) => void) {
    this.#addresses = addresses;
    this.#onFailed = onFailed;
  }

  clear(): void {
    this.#errors.clear();
    this.#reported.clear();
  }

  /** Returns true if all of several hosts have failed, and reports their errors if they have changed. */
  add(host: number, error: unknown): boolean {
    if (this.#addresses.length === 1) return false;
    this.#errors.set(host, error);
    if (this.#errors.size < this.#addresses.length) return false;
    const message = this.#addresses.map((address, i) => `${address.host}: ${explain(this.#errors.get(i))}`).join('; ');
    if (!this.#reported.has(message) && this.#reported.size < MAX_REPORTS) {
      this.#reported.add(message);
      this.#onFailed(message);
    }
    return true;
  }
}
