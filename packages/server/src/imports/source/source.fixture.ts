import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Source, type SourceFile, UnreadableFile } from './source.ts';

/** Writes files into a folder, by their paths with `/`. */
export function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** The bytes of a file, and the reason why it cannot be read further. */
export interface ReadFile {
  bytes: Buffer;
  fault?: string;
}

/** Reads a file to its end or to its fault. Any other error is thrown. */
export async function readSourceFile(file: SourceFile): Promise<ReadFile> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of file.open()) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { bytes: Buffer.concat(chunks), fault: error.message };
  }
  return { bytes: Buffer.concat(chunks) };
}

/** Reads all files of a source as text, by path. */
export async function readTexts({ files }: Pick<Source, 'files'>): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const file of files) {
    const { bytes, fault } = await readSourceFile(file);
    texts[file.path] = fault === undefined ? bytes.toString() : `${bytes}[${fault}]`;
  }
  return texts;
}
