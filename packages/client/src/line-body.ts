/** A body that can be sent once. */
export interface LineBody {
  body: ReadableStream<Uint8Array> | Blob;
  /** What the lines threw, if they did: of a body that breaks, fetch says no more than that it broke. */
  failure(): unknown;
  /** Has no more lines read. To be called when the call is over: fetch would read on to their end for nobody. */
  end(): void;
}

/** Lines, each with its end, as the body of a request. */
export async function getBody(lines: AsyncIterable<Uint8Array>): Promise<LineBody> {
  let failed: unknown;
  const ended = withEnds(lines);
  if (isPage()) return { body: new Blob(await gathered(ended)), failure: () => undefined, end: () => undefined };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await ended.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        failed = error;
        throw error;
      }
    },
    async cancel() {
      await ended.return();
    },
  });
  // What goes wrong where the lines are left changes nothing about the call, which has come to its end.
  const end = () => void ended.return().catch(() => undefined);
  return { body, failure: () => failed, end };
}

// Browsers either cannot send a body as it comes or do so over HTTP/2 alone.
function isPage(): boolean {
  return 'document' in globalThis || 'WorkerNavigator' in globalThis;
}

async function* withEnds(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  for await (const line of lines) {
    const ended = new Uint8Array(line.length + 1);
    ended.set(line);
    ended[line.length] = 0x0a;
    yield ended;
  }
}

async function gathered<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
