import { PassThrough } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { LineTransport } from './line-transport.ts';

const toLine = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;

it('a line transport reports an error of its receiver, responds to the request, and continues to read', async () => {
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
  const defects: [string, string][] = [];
  const onDefect = (error: unknown, method: string) => void defects.push([String(error), method]);
  const transport = new LineTransport({ input, output, maxMessageBytes: 1024, onDefect });
  const received: JSONRPCMessage[] = [];
  transport.onmessage = (message) => {
    if ('method' in message && message.method.startsWith('bad/')) throw new Error('no such state');
    received.push(message);
  };
  await transport.start();
  input.end(
    toLine({ id: 1, method: 'bad/request' }) + toLine({ method: 'bad/notification' }) + toLine({ method: 'good' }),
  );
  expect(await transport.ended).toBe('input ended');
  await transport.answered();
  expect(received).toMatchObject([{ method: 'good' }]);
  expect(defects).toEqual([
    ['Error: no such state', 'bad/request'],
    ['Error: no such state', 'bad/notification'],
  ]);
  expect(JSON.parse(output.read())).toEqual({
    ...{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'server error; see the server log' } },
  });
});
