/**
 * Splits the address of a database into one address per host: `postgres://user@a:5432,b:5433/name` results in two. The
 * syntax is that of libpq for multiple hosts (postgresql.org/docs/17/libpq-connect.html). Throws TypeError for an
 * invalid address.
 */
export function splitHosts(databaseUrl: string): URL[] {
  const [, before = '', hosts = '', after = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(databaseUrl) ?? [];
  return hosts.split(',').map((host) => new URL(`${before}${host}${after}`));
}

/** Returns true if a text is the address of a PostgreSQL database, with one or more hosts. */
export function isPostgresAddress(text: string): boolean {
  try {
    return splitHosts(text).every(({ protocol }) => /^postgres(ql)?:$/.test(protocol));
  } catch {
    return false;
  }
}
