import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import type { MemoryEvent } from '@memoryd/contract';
import { eventually } from './process.ts';

/** A reader of a stream of server-sent events. */
export interface EventReader {
  status: number;
  headers: IncomingMessage['headers'];
  /** Returns all text that has arrived, including comments and fields outside events. */
  text(): string;
  /** Returns the events that have arrived. */
  events(): MemoryEvent[];
  /** Waits until at least `count` events have arrived, and returns all of them. */
  until(count: number): Promise<MemoryEvent[]>;
  /** Resolves when the stream is closed: true if the server ended it properly, false if the connection was cut. */
  ended: Promise<boolean>;
  /** Destroys the connection without ending it, as a killed client does. */
  leave(): void;
}

/** Opens `GET /events` with these query parameters. Resolves with the response's headers. */
export function readEvents(
  port: number,
  parameters = '',
  lastEventId?: string,
  more: OutgoingHttpHeaders = {},
): Promise<EventReader> {
  const last = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  return openStream(port, `/events${parameters && `?${parameters}`}`, {
    accept: 'text/event-stream',
    ...last,
    ...more,
  });
}

/** Opens a stream of events. Resolves with the response's headers, whatever the status. */
export function openStream(port: number, path: string, headers: OutgoingHttpHeaders = {}): Promise<EventReader> {
  return new Promise((resolve, reject) => {
    const outgoing = startRequest({ host: '127.0.0.1', port, path, headers, agent: false }, (incoming) =>
      resolve(createReader(outgoing, incoming)),
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function createReader(outgoing: ClientRequest, incoming: IncomingMessage): EventReader {
  let text = '';
  incoming.setEncoding('utf8').on('data', (some: string) => {
    text += some;
  });
  const ended = new Promise<boolean>((resolve) => {
    incoming.on('error', () => resolve(false)).on('close', () => resolve(incoming.complete));
  });
  const events = () => parse(text);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: () => text,
    events,
    until: (count) =>
      eventually(`${count} events`, 20_000, () => {
        const arrived = events();
        if (arrived.length >= count) return arrived;
        if (incoming.destroyed) throw new Error(`the stream ended after ${arrived.length} of ${count} events`);
        return undefined;
      }),
    ended,
    leave: () => outgoing.destroy(),
  };
}

/**
 * Parses the events of a stream (HTML Living Standard, section 9.2.6). Throws if the `id` or `event` field of an event
 * differs from the id or type in its data.
 */
function parse(text: string): MemoryEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map(
      (block) => new Map(block.split('\n').map((line) => line.split(/:(?: )?(.*)/s).slice(0, 2) as [string, string])),
    )
    .filter((fields) => fields.has('data'))
    .map((fields) => {
      const event = JSON.parse(fields.get('data') ?? '') as MemoryEvent;
      if (event.id !== fields.get('id') || event.type !== fields.get('event'))
        throw new Error(`the id or type of an event differs from its data: ${text}`);
      return event;
    });
}
