import type { Format } from '../format.ts';

/** Returns the number of texts that a format reads from a file. Fast for large files, since it checks no text. */
export async function countTexts(format: Format, content: string): Promise<number> {
  const bytes = Buffer.from(content);
  const file = {
    path: 'file',
    sizeBytes: bytes.length,
    async *open() {
      yield bytes;
    },
  };
  let count = 0;
  const options = {
    capture: 'prompts',
    map: {},
    restToMetadata: false,
    timeZone: 'UTC',
    readsRepositories: false,
  } as const;
  for await (const part of format.read(file, options)) if (part.kind === 'text') count += 1;
  return count;
}
