import type { ImportedText } from '@memoryd/contract';
import type { Format, FormatOptions, LeftOutReason, Part } from '../format.ts';
import type { SourceFile } from '../source/source.ts';

/** Returns a file with this content, read in chunks of a size that splits lines and characters. */
function toFile(content: string | Uint8Array): SourceFile {
  const bytes = Buffer.from(content);
  return {
    path: 'any name',
    sizeBytes: bytes.length,
    async *open() {
      for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
    },
  };
}

/** Returns a file with an object per line. A text stands for a line as it is. */
export function toLines(...lines: (object | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Returns whether a format recognizes a content. */
export function recognizes(format: Format, content: string): boolean {
  const text = content.slice(0, 65_536);
  return format.recognizes({ path: 'any name', text, isWhole: text.length === content.length });
}

type TextPart = Part & { kind: 'text' };

/** The parts of a file by their kinds. */
export interface ReadFile {
  parts: TextPart[];
  texts: ImportedText[];
  contents: string[];
  leftOut: Partial<Record<LeftOutReason, number>>;
  refused: { place: string; reason: string }[];
}

/** Reads a file with answers, unless options say otherwise. */
export async function readFile(
  format: Format,
  content: string | Uint8Array,
  options: Partial<FormatOptions> = {},
): Promise<ReadFile> {
  const all: Part[] = [];
  const chosen = {
    capture: 'turns',
    map: {},
    restToMetadata: false,
    timeZone: 'UTC',
    readsRepositories: false,
  } as const;
  for await (const part of format.read(toFile(content), { ...chosen, ...options })) all.push(part);
  const parts = all.filter((part) => part.kind === 'text');
  const texts = parts.map(({ text }) => text);
  const counts = all.flatMap((part) => (part.kind === 'left-out' ? [[part.reason, part.count]] : []));
  return {
    ...{ parts, texts, contents: texts.map(({ content: text }) => text), leftOut: Object.fromEntries(counts) },
    refused: all.flatMap((part) => (part.kind === 'refused' ? [{ place: part.place, reason: part.reason }] : [])),
  };
}
