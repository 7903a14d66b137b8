import { createRequire } from 'node:module';
import { EmbedderUnavailable } from '../ports/embedder.ts';

const { resolve } = createRequire(import.meta.url);

/** Throws EmbedderUnavailable, with the command that helps, unless a package that may be left out is there. */
export function assertInstalled(name: string, command: string): void {
  try {
    resolve(name);
  } catch (cause) {
    throw new EmbedderUnavailable(`it needs a package that is not installed: ${command}`, {
      option: 'embedder',
      cause,
    });
  }
}
