/**
 * Returns an address for each host that a database's address names: `postgres://user@a:5432,b:5433/name` names two, as
 * libpq writes several servers of one database (postgresql.org/docs/17/libpq-connect.html). Throws where one is none.
 */
export function eachHost(databaseUrl: string): URL[] {
  const [, before = '', hosts = '', after = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(databaseUrl) ?? [];
  return hosts.split(',').map((host) => new URL(`${before}${host}${after}`));
}

/** Returns whether a text is the address of a database on a PostgreSQL server, of one host or several. */
export function isPostgresAddress(text: string): boolean {
  try {
    return eachHost(text).every(({ protocol }) => /^postgres(ql)?:$/.test(protocol));
  } catch {
    return false;
  }
}
