/** Joins chunks. Browsers refuse chunks in shared memory. */
export function toBlob(chunks: Uint8Array[]): Blob {
  return new Blob(chunks as Uint8Array<ArrayBuffer>[]);
}

/** A request body that is read while it is sent. A stream can be sent only once. */
export interface StreamedBody {
  body: ReadableStream<Uint8Array> | Blob;
  /** Returns the error from reading the chunks, or undefined. `fetch` reports only that the body failed. */
  getError(): unknown;
  /**
   * Stops reading. Must be called after the request, because `fetch` would otherwise read all chunks to the end.
   */
  end(): void;
}

/** Creates a request body from lines without line terminators. */
export function createLineBody(lines: AsyncIterable<Uint8Array>): Promise<StreamedBody> {
  return createChunkBody(withLineFeeds(lines));
}

/** Creates a request body from chunks of bytes. In a browser, collects them first. */
export async function createChunkBody(chunks: AsyncIterable<Uint8Array>): Promise<StreamedBody> {
  let readError: unknown;
  if (isBrowser()) return { body: toBlob(await collect(chunks)), getError: () => undefined, end: () => undefined };
  const iterator = chunks[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        readError = error;
        throw error;
      }
    },
    async cancel() {
      await iterator.return?.();
    },
  });
  // The request has ended, so errors from ending the iteration no longer matter.
  const end = () => void iterator.return?.().catch(() => undefined);
  return { body, getError: () => readError, end };
}

// Browsers cannot stream a request body, or support streaming only over HTTP/2.
function isBrowser(): boolean {
  return 'document' in globalThis || 'WorkerNavigator' in globalThis;
}

async function* withLineFeeds(
  lines: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  for await (const line of lines) {
    const terminated = new Uint8Array(line.length + 1);
    terminated.set(line);
    terminated[line.length] = 0x0a;
    yield terminated;
  }
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
