/** The result of a check, with advice. */
export interface Finding {
  check:
    | 'node'
    | 'settings'
    | 'disk'
    | 'sync'
    | 'file'
    | 'database'
    | 'model'
    | 'port'
    | 'service'
    | 'hooks'
    | 'connect';
  /** `problem`: memoryd does not work; `warning`: memoryd works with limitations. */
  state: 'ok' | 'warning' | 'problem';
  found: string;
  /** How to fix the problem; absent if the state is `ok`. */
  advice?: string;
}

/** Formats a number of bytes in MB or GB. */
export function formatBytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
