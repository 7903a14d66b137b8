/** Bytes after which received chunks are handed to the browser, which may keep them on disk. */
const CHUNK_BYTES = 16_000_000;

/**
 * Saves a download as a file, once all of it has arrived. A download that is cut off saves nothing.
 *
 * @param onProgress receives the number of bytes that have arrived
 */
export async function saveFile(
  name: string,
  chunks: AsyncIterable<string | Uint8Array>,
  onProgress?: (bytes: number) => void,
): Promise<void> {
  let arrived: Blob[] = [];
  let recent: BlobPart[] = [];
  let [bytes, recentBytes] = [0, 0];
  for await (const chunk of chunks) {
    const part = new Blob([chunk as BlobPart]);
    recent.push(part);
    bytes += part.size;
    recentBytes += part.size;
    if (recentBytes < CHUNK_BYTES) continue;
    arrived = [...arrived, new Blob(recent)];
    recent = [];
    recentBytes = 0;
    onProgress?.(bytes);
  }
  const url = URL.createObjectURL(new Blob([...arrived, ...recent]));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has to have begun to read the file.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Returns a name for a file: `memoryd-anna-2026-11-30.jsonl`. */
export function createFileName(subject: string, extension: string): string {
  const part = subject.replace(/[^\p{L}\p{N}._@-]+/gu, '-').slice(0, 80);
  return `memoryd-${part}-${new Date().toISOString().slice(0, 10)}.${extension}`;
}
