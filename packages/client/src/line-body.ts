/** A request body that consists of lines. A stream can be sent only once. */
export interface LineBody {
  body: ReadableStream<Uint8Array> | Blob;
  /** Returns the error from reading the lines, or undefined. `fetch` reports only that the body failed. */
  getError(): unknown;
  /**
   * Stops reading lines. Must be called after the request, because `fetch` would otherwise read all lines to the end.
   */
  end(): void;
}

/** Creates a request body from lines without line terminators. */
export async function createLineBody(lines: AsyncIterable<Uint8Array>): Promise<LineBody> {
  let lineError: unknown;
  const terminated = withLineFeeds(lines);
  if (isBrowser())
    return { body: new Blob(await collect(terminated)), getError: () => undefined, end: () => undefined };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await terminated.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        lineError = error;
        throw error;
      }
    },
    async cancel() {
      await terminated.return();
    },
  });
  // The request has ended, so errors from ending the iteration no longer matter.
  const end = () => void terminated.return().catch(() => undefined);
  return { body, getError: () => lineError, end };
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
