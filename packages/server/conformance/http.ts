import { Agent, type IncomingHttpHeaders, request as startRequest } from 'node:http';
import { connect } from 'node:net';

const RESPONSE_TIMEOUT_MS = 40_000;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** An HTTP request. The path is sent unchanged, so it may be malformed. */
export interface Request {
  method?: string;
  path: string;
  headers?: Record<string, string | string[]>;
  /** Body to send as JSON, with the JSON content type unless the headers set another one. */
  json?: unknown;
  /** Body to send unchanged. No content type is added. */
  body?: string | Uint8Array;
  /** Sends the body with chunked transfer encoding instead of a Content-Length. */
  chunked?: boolean;
}

/** An HTTP response. */
export interface Answer<Body = unknown> {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body as it was sent. */
  bytes: Buffer;
  text: string;
  /** The parsed body if the content type is JSON, otherwise the text. */
  body: Body;
}

/** Sends a request to a port of 127.0.0.1. Uses a new connection if the headers contain `connection: close`. */
export function send<Body = unknown>(port: number, request: Request): Promise<Answer<Body>> {
  const body = request.json === undefined ? request.body : JSON.stringify(request.json);
  const headers: Record<string, string | string[]> = { ...request.headers };
  if (request.json !== undefined) headers['content-type'] ??= 'application/json';
  if (body !== undefined) {
    if (request.chunked) headers['transfer-encoding'] = 'chunked';
    else headers['content-length'] = String(Buffer.byteLength(body));
  }
  const method = request.method ?? 'GET';
  const connections = headers.connection === 'close' ? false : agent;
  return new Promise((resolve, reject) => {
    const outgoing = startRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path: request.path,
        headers,
        agent: connections,
        timeout: RESPONSE_TIMEOUT_MS,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString('utf8');
          const isJson = /^application\/json\b/.test(incoming.headers['content-type'] ?? '');
          const parsed = (isJson && text !== '' ? JSON.parse(text) : text) as Body;
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes, text, body: parsed });
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${request.path.slice(0, 80)}: no response`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/**
 * Sends bytes that need not be valid HTTP, and returns all text that the server sends until it closes the connection,
 * or until the connection is idle for `timeoutMs`.
 */
export function sendRaw(port: number, bytes: string | Uint8Array, timeoutMs = 5_000): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text;
    });
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}

/** Parses a raw HTTP/1.1 response. */
export function parseRaw(answer: string): { status: number; headers: Map<string, string>; text: string } {
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { status: Number(statusLine.split(' ')[1] ?? 0), headers, text: rest.join('\r\n\r\n') };
}
