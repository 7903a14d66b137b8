import type { ImportedText } from '@memoryd/contract';
import type { Format, FormatOptions, Part } from './format.ts';
import type { SourceFile } from './source/source.ts';

export const OPTIONS: FormatOptions = {
  ...{ capture: 'prompts', map: {}, restToMetadata: false },
  ...{ timeZone: 'UTC', readsRepositories: false },
};

/** Returns a part with a text. */
export function createText(text: Partial<ImportedText> & { external_id: string }, place = text.external_id): Part {
  return { kind: 'text', text: { content: `text of ${text.external_id}`, ...text }, place };
}

export const createFile = (path: string): SourceFile => ({ path, sizeBytes: 1, async *open() {} });

/** Returns a format whose files have given parts by path; an error among them is thrown there. */
export function createFormat(files: Record<string, readonly (Part | Error)[]>): Format {
  return {
    ...{ name: 'jsonl', title: 'JSON lines', files: 'a test', recognizes: () => true },
    async *read({ path }) {
      for (const part of files[path] ?? []) {
        if (part instanceof Error) throw part;
        yield part;
      }
    },
  };
}

export async function* toParts(parts: readonly Part[]): AsyncIterable<Part> {
  yield* parts;
}
