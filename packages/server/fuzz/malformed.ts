import { connect } from 'node:net';
import fc from 'fast-check';
import { parseRaw } from '../conformance/http.ts';
import { expectError } from '../conformance/refusal.ts';

const RESPONSE_TIMEOUT_MS = 5000;

const HEADS = [
  'GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 15\r\n\r\n{"content":"a"}',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{"content":"a"}\r\n0\r\n\r\n',
];

const MALFORMED_REQUESTS = [
  'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n',
  'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"content":"half',
  'GET /stats HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n',
  'GET /stats HTTP/1.1\r\nHost : localhost\r\n\r\n',
  'GET /stats HTTP/1.1\r\nHost: localhost\r\nX: \u0001\u0000\r\n\r\n',
  'GET /stats HTTP/9.9\r\nHost: localhost\r\n\r\n',
  'GET /stats\r\n\r\n',
  'GET  /stats  HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'GET http://localhost/stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'GET //evil.example/%2e%2e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  `GET /${'a'.repeat(300_000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  `GET /stats HTTP/1.1\r\nHost: localhost\r\n${'X: y\r\n'.repeat(20_000)}\r\n`,
  '\r\n'.repeat(5000),
];

/** Malformed and unusual HTTP requests, and random bytes. */
export const malformed: fc.Arbitrary<Buffer> = fc.oneof(
  fc.constantFrom(...MALFORMED_REQUESTS).map((bytes) => Buffer.from(bytes, 'latin1')),
  fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.constantFrom(...HEADS), fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { minLength: 1, maxLength: 4 }))
    .map(([head, changes]) => {
      const bytes = Buffer.from(head, 'latin1');
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    }),
);

/** Sends bytes. Returns the status of the response (0 without one), and its problems. */
export async function sendMalformed(port: number, bytes: Buffer): Promise<{ status: number; problems: string[] }> {
  const text = await readResponse(port, bytes);
  if (text === undefined) return { status: 0, problems: ['the connection was not closed'] };
  if (text === '') return { status: 0, problems: [] };
  const { status, headers, text: rest } = parseRaw(text);
  // Another response may follow.
  const body = rest.slice(0, Number(headers.get('content-length') ?? rest.length));
  if (status < 400 || body === '') return { status, problems: [] };
  try {
    const code = (JSON.parse(body) as { error: { code: 'INVALID_REQUEST' } }).error.code;
    const answer = {
      status,
      headers: Object.fromEntries(headers),
      bytes: Buffer.from(body),
      text: body,
      body: JSON.parse(body),
    };
    expectError(answer, { code });
    return { status, problems: status === 500 ? ['a server error'] : [] };
  } catch (error) {
    return {
      status,
      problems: [`the error has the wrong shape: ${String(error).slice(0, 300)} ${text.slice(0, 300)}`],
    };
  }
}

/**
 * Returns everything that is received until the connection closes, or `undefined` if it does not close. Rejects if no
 * service listens.
 */
function readResponse(port: number, bytes: Buffer): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let text = '';
    let isLate = false;
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes));
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.setTimeout(RESPONSE_TIMEOUT_MS, () => {
      isLate = true;
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') reject(error);
    });
    socket.on('close', () => resolve(isLate ? undefined : text));
  });
}
