/**
 * Returns the bytes of a text file as UTF-8: converted if the file begins with a byte order mark of UTF-16, as some
 * programs of Windows write it, else unchanged.
 */
export async function* toUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pending: Uint8Array[] = [];
  let convert: ((chunk?: Uint8Array) => Uint8Array) | undefined;
  for await (const chunk of bytes) {
    if (convert) {
      yield convert(chunk);
      continue;
    }
    pending.push(chunk);
    const head = Buffer.concat(pending);
    if (head.length < 2) continue;
    convert = createConverter(head);
    yield convert(head);
  }
  yield convert ? convert() : Buffer.concat(pending);
}

function createConverter([first, second]: Uint8Array): (chunk?: Uint8Array) => Uint8Array {
  const isLittle = first === 0xff && second === 0xfe;
  if (!isLittle && !(first === 0xfe && second === 0xff)) return (chunk) => chunk ?? new Uint8Array();
  const decoder = new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be');
  return (chunk) => Buffer.from(chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode());
}
