import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';

/** Items that are converted at once, within a few milliseconds. */
const ITEMS_AT_ONCE = 1000;

/** Returns the JSON text of a body whose last field is a long list. Other requests proceed between parts of the list. */
export async function toJsonInParts(fields: object, name: string, items: readonly object[]): Promise<Buffer> {
  const parts = [Buffer.from(`${JSON.stringify({ ...fields, [name]: [] }).slice(0, -']}'.length)}`)];
  for (let first = 0; first < items.length; first += ITEMS_AT_ONCE) {
    if (first > 0) await nextTurn();
    const text = JSON.stringify(items.slice(first, first + ITEMS_AT_ONCE)).slice(1, -1);
    parts.push(Buffer.from(first > 0 ? `,${text}` : text));
  }
  return Buffer.concat([...parts, Buffer.from(']}')]);
}

/** Responds with the JSON text of a body whose last field is a long list. See `toJsonInParts`. */
export async function sendJsonInParts(
  reply: FastifyReply,
  ...[fields, name, items]: Parameters<typeof toJsonInParts>
): Promise<FastifyReply> {
  return reply.type('application/json; charset=utf-8').send(await toJsonInParts(fields, name, items));
}
