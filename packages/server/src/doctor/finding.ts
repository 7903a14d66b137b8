/** What was looked at, what was found, and what to do about it. */
export interface Finding {
  check: 'node' | 'settings' | 'disk' | 'sync' | 'file' | 'database' | 'model' | 'port' | 'service';
  /** `problem`: memoryd does not work so; `warning`: it does, but not as well as it could. */
  state: 'ok' | 'warning' | 'problem';
  found: string;
  /** There unless all is well. */
  advice?: string;
}

/** How much, in the unit that people read. */
export function getSize(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
