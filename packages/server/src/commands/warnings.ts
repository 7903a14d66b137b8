import type { Telemetry } from '@memoryd/engine';
import { note } from './output.ts';

/** Returns telemetry that prints each distinct warning and error once, as a sentence on standard error. */
export function warnings(): Telemetry {
  const printed = new Set<string>();
  return {
    report({ level, event, facts, error }) {
      if (level !== 'warn' && level !== 'error') return;
      const why = error instanceof Error ? error.message : facts?.message;
      const sentence = event.replaceAll('_', ' ') + (typeof why === 'string' ? `: ${why}` : '');
      if (!printed.has(sentence)) warn(sentence);
      printed.add(sentence);
    },
  };
}

/** Prints a warning on standard error. */
export function warn(message: string): void {
  note(`memoryd: ${message}`);
}
