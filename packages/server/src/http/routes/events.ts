import { EventsRequest, MemoryError, MemoryEvent } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { onAccessRevoked } from '../access-revocation.ts';
import { beginResponse, sendHead } from '../download.ts';
import { EVENT_STREAM, writeEvents } from '../event-stream.ts';
import { EventsHeaders, readLastEventId } from '../request-headers.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

const HEADERS = { 'Content-Type': EVENT_STREAM, 'Cache-Control': 'no-store' };

const { last_event_id: _, ...query } = EventsRequest.properties;
const EventsQuery = Type.Object(query, { additionalProperties: false });

/** The schema of the data of one event; typed as a string, because the whole response is a text stream. */
const EventData = Type.Unsafe<string>(MemoryEvent);

const DESCRIPTION = `Server-sent events with JSON data. They report changes to the memories by this process and, on
PostgreSQL, by all processes that share the database. Events contain ids and times, never texts. With the id of the
last received event (\`Last-Event-ID\`), the stream continues after that event. It begins with a \`gap\` event if that
event is too old, came from another process, or preceded a restart of the service. With \`filter\`, an event lists and
counts only the memories that matched just before the event (a stored memory: as it was stored), and events without such
a memory, among them those of consolidation and imports, are left out.`;

const config = { access: 'read' } as const;

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the number of open event streams. */
    eventStreams: () => number;
  }
}

export const events: Route = (app, { getApi, gate }) => {
  const readers = new Set<AbortController>();
  app.decorate('eventStreams', () => readers.size);
  let stopping = false;
  app.addHook('preClose', (done) => {
    stopping = true;
    for (const reader of readers) reader.abort();
    done();
  });
  const schema = {
    operationId: 'streamEvents',
    summary: 'Stream changes to the memories',
    description: DESCRIPTION.replaceAll('\n', ' '),
    tags: ['service'],
    headers: EventsHeaders,
    querystring: EventsQuery,
    response: {
      ...createResponseSchemas(EventData),
      200: {
        description: 'An event stream that ends when the service stops.',
        content: { [EVENT_STREAM]: { schema: EventData } },
      },
    },
  };
  app.get('/events', { schema, config }, (request, reply) => {
    if (request.method === 'HEAD') {
      sendHead(reply, HEADERS);
      return;
    }
    if (stopping) throw new MemoryError('UNAVAILABLE', 'the service is stopping; retry later');
    const reader = new AbortController();
    const eventStream = getApi(request).events({ ...request.query, ...readLastEventId(request) }, reader.signal);
    readers.add(reader);
    onAccessRevoked(gate, request, reply, () => reader.abort());
    reply.raw.on('close', () => {
      reader.abort();
      readers.delete(reader);
    });
    void writeEvents(beginResponse(reply.headers(HEADERS)), eventStream);
  });
};
