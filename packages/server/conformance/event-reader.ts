import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import type { MemoryEvent } from '@memoryd/contract';
import { eventually } from './process.ts';

/** A stream of server-sent events as it arrives. */
export interface EventReader {
  status: number;
  headers: IncomingMessage['headers'];
  /** What has arrived, comments and fields that are no event included. */
  text(): string;
  /** Events that have arrived. */
  events(): MemoryEvent[];
  /** Waits until so many events have arrived. */
  until(count: number): Promise<MemoryEvent[]>;
  /** Resolved when the stream is over; whether the server ended it in order. */
  ended: Promise<boolean>;
  /** Leaves without a word, as a reader that is killed does. */
  leave(): void;
}

/** Opens `GET /events` with the parameters; resolved when the answer has begun. */
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

/** Opens a stream of events; resolved when the answer, whatever it is, has begun. */
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
        return arrived.length >= count ? arrived : undefined;
      }),
    ended,
    leave: () => outgoing.destroy(),
  };
}

/** The events of a stream (HTML Living Standard, section 9.2.6), each with its data, whose id and type must be its own. */
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
        throw new Error(`not one event: ${text}`);
      return event;
    });
}
