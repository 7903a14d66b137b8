// The server of the Claude Desktop bundle: passes each message of standard input to /mcp of a memoryd service. It needs
// no package, and runs on every Node from 18 on, because Claude Desktop may start it with its own Node or an older one.
// MEMORYD_URL, MEMORYD_USER: the service and the user. MEMORYD_KEY_FILE: a file with an API key, if the service needs one.
const { readFileSync } = require('node:fs');
const { createInterface } = require('node:readline');

const { MEMORYD_URL: url = '', MEMORYD_USER: user = '', MEMORYD_KEY_FILE: keyFile = '' } = process.env;
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const parameters = new URLSearchParams({ ...(user && { user_id: user }), ...(timeZone && { timezone: timeZone }) });
const { request } = require(url.startsWith('https:') ? 'node:https' : 'node:http');

/** Time in which a service that starts with the computer may begin to listen. */
const START_MS = 20_000;
const RETRY_MS = 500;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Time without data after which a request has failed. The service sends a keep-alive message at least every 15 s. */
const IDLE_MS = 60_000;

const startedAt = Date.now();
/** Running requests by the id of their message. */
const running = new Map();
let version;

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line.trim() === '') return;
  const message = parse(line);
  if (typeof message !== 'object' || message === null) {
    return write({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'a message must be a JSON object' } });
  }
  if (message.method === 'notifications/cancelled') cancel(message.params?.requestId);
  else send(line, message);
});

process.stdout.on('error', () => process.exit());

/** Ends a running request, which then gets no response. */
function cancel(id) {
  const sent = running.get(id);
  running.delete(id);
  sent?.destroy();
}

function send(line, message) {
  if (message.id !== undefined) running.set(message.id, undefined);
  // Without a user, the agent would have the memories of everybody.
  if (user === '') return fail(message, 'the user is empty; set it in the settings of this extension');
  let sent;
  try {
    sent = request(`${url}/mcp?${parameters}`, { method: 'POST', headers: getHeaders(message) });
  } catch (error) {
    return fail(message, error.message);
  }
  if (message.id !== undefined) running.set(message.id, sent);
  sent.setTimeout(IDLE_MS, () => sent.destroy(new Error(`no answer within ${IDLE_MS / 1000} seconds`)));
  sent.on('response', (response) => receive(response, message));
  sent.on('error', (error) => {
    if (error.code === 'ECONNREFUSED' && Date.now() - startedAt < START_MS) setTimeout(send, RETRY_MS, line, message);
    else fail(message, error.message);
  });
  sent.end(line);
}

function getHeaders({ method, params }) {
  // The revision from 2026-07-28 on names itself in each message, and needs the parts of the message as headers.
  const own = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  const key = keyFile && readFileSync(keyFile, 'utf8').trim();
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...((own ?? version) && { 'mcp-protocol-version': own ?? version }),
    ...(own && { 'mcp-method': method, ...((params.name ?? params.uri) && { 'mcp-name': params.name ?? params.uri }) }),
    ...(key && { authorization: `Bearer ${key}` }),
  };
}

function receive(response, message) {
  const isStream = /event-stream/.test(response.headers['content-type'] ?? '');
  let text = '';
  const answer = (json) => {
    const answered = parse(json);
    if (answered?.jsonrpc === undefined) return;
    if (answered.id === message.id) running.delete(message.id);
    if (message.method === 'initialize') version = answered.result?.protocolVersion ?? version;
    write(answered);
  };
  response.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    if (text.length > MAX_ANSWER_BYTES) response.destroy();
    if (!isStream) return;
    const lines = text.split('\n');
    text = lines.pop();
    for (const line of lines) if (line.startsWith('data:')) answer(line.slice('data:'.length));
  });
  response.on('error', () => {});
  response.on('close', () => {
    if (!isStream) answer(text);
    fail(message, parse(text)?.error?.message ?? `its response with status ${response.statusCode} ended early`);
  });
}

function parse(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Responds with an error to a request that has no response yet and is not cancelled. */
function fail({ id }, reason) {
  if (!running.delete(id)) return;
  const text = `memoryd at ${url} did not answer: ${reason}; check that the service runs (memoryd connect --status)`;
  write({ jsonrpc: '2.0', id, error: { code: -32000, message: text } });
}

function write(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
