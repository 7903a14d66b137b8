import { MemoryError } from '@memoryd/contract/errors';
import { eachHost } from '@memoryd/engine/storage-kit';
import { Client, type ClientConfig } from 'pg';
import { WrongServer } from './failure.ts';

/** What a server says of itself. */
interface Server {
  isStandby: boolean;
  isReadOnly: boolean;
}

/** The values of `target_session_attrs` (postgresql.org/docs/17/libpq-connect.html), and which servers each accepts. */
const TARGETS: Record<string, (server: Server) => boolean> = {
  any: () => true,
  'read-write': ({ isReadOnly }) => !isReadOnly,
  'read-only': ({ isReadOnly }) => isReadOnly,
  primary: ({ isStandby }) => !isStandby,
  standby: ({ isStandby }) => isStandby,
};

const ASK_SERVER = `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

export type ClientClass = new (options: ClientConfig) => Client;

/**
 * Returns the class of clients of one database, whose address may name several hosts. A client connects to the host that
 * worked last; where that cannot be reached, or is not what `target_session_attrs` of the address accepts, the next client
 * tries the next host.
 *
 * @param settings for each session; set by a statement, since poolers refuse them as parameters of the start
 */
export function clientsFor(databaseUrl: string, settings: Record<string, number>): ClientClass {
  const addresses = eachHost(databaseUrl);
  const target = addresses[0]?.searchParams.get('target_session_attrs') ?? 'any';
  const accepts = TARGETS[target];
  if (!accepts) {
    const known = Object.keys(TARGETS).join(', ');
    throw new MemoryError('UNAVAILABLE', `target_session_attrs of the address must be one of ${known}, not ${target}`);
  }
  for (const { searchParams } of addresses) searchParams.delete('target_session_attrs');
  const assignments = Object.entries(settings).map(([name, value]) => `SET ${name} = ${value}`);
  const begin = [...assignments, ASK_SERVER].join('; ');
  let host = 0;

  return class DatabaseClient extends Client {
    readonly #host = host;

    constructor(options: ClientConfig) {
      super({ ...options, connectionString: (addresses[host] as URL).href });
      // One that is lost is reported by its next statement, or by its release.
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
        // Of several statements, `pg` gives the results of each.
        const results = (await super.query(begin)) as unknown as { rows: Server[] }[];
        const server = results.at(-1)?.rows[0] as Server;
        if (!accepts(server)) throw new WrongServer((addresses[this.#host] as URL).host, target);
        return this;
      } catch (error) {
        if (host === this.#host) host = (host + 1) % addresses.length;
        void super.end().catch(() => {});
        throw error;
      }
    }
  };
}
