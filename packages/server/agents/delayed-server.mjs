// An MCP server over stdio that imports nothing of ours and has one tool. Its argument is the time in ms that passes
// before it reads its first message.
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const TOOL = { name: 'nothing', description: 'Does nothing.', inputSchema: { type: 'object', properties: {} } };

/** Returns the result of a request. */
function getResult({ method, params }) {
  if (method === 'tools/list') return { tools: [TOOL] };
  if (method !== 'initialize') return {};
  const { protocolVersion } = params;
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'delayed', version: '1' } };
}

await delay(Number(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: getResult(message) })}\n`);
}
