import { Agent, type IncomingHttpHeaders, request as startRequest } from 'node:http';
import { connect } from 'node:net';

const ANSWER_TIMEOUT_MS = 40_000;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** A request as it goes over the wire. The path is sent as it stands, so it may be malformed. */
export interface Request {
  method?: string;
  path: string;
  headers?: Record<string, string | string[]>;
  /** Sent as JSON with its content type. */
  json?: unknown;
  /** Sent as it stands, without a content type of its own. */
  body?: string | Uint8Array;
  /** Sends the body in chunks, without saying its length. */
  chunked?: boolean;
}

export interface Answer<Body = unknown> {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The text, parsed where the answer says that it is JSON. */
  body: Body;
}

/** Sends one request to a port of 127.0.0.1: over a new connection if its headers say `connection: close`. */
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
      { host: '127.0.0.1', port, method, path: request.path, headers, agent: connections, timeout: ANSWER_TIMEOUT_MS },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = /^application\/json\b/.test(incoming.headers['content-type'] ?? '');
          const parsed = (isJson && text !== '' ? JSON.parse(text) : text) as Body;
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, body: parsed });
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${request.path.slice(0, 80)}: no answer`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/**
 * Sends bytes that need not be HTTP and answers what comes back until the server closes the connection. A server that
 * neither answers nor closes gives what had come until `timeoutMs`.
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

/** The parts of an HTTP/1.1 answer as it went over the wire. */
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
