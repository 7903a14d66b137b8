import { EventsRequest, MemoryError, MemoryEvent } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { answers } from '../answers.ts';
import { beginAnswer, sendHead } from '../download.ts';
import { EVENT_STREAM, writeEvents } from '../event-stream.ts';
import { whenExpelled } from '../expelled.ts';
import { EventsHeaders, readLastEventId } from '../request-headers.ts';
import type { Route } from './route.ts';

const HEADERS = { 'Content-Type': EVENT_STREAM, 'Cache-Control': 'no-store' };

const { last_event_id: _, ...query } = EventsRequest.properties;
const EventsQuery = Type.Object(query, { additionalProperties: false });

/** What a stream is made of, which as a whole is a text. */
const EventData = Type.Unsafe<string>(MemoryEvent);

const DESCRIPTION = `Server-sent events, each with JSON as its data. They tell what this process, and on PostgreSQL
every other that shares the database, does with the memories, and name ids and times, never texts. After the id of
the last event that was seen (\`Last-Event-ID\`) the stream goes on there; where that is too long ago, or was seen
at another process, or the service has started anew since, it begins with a \`gap\`.`;

const config = { access: 'read' } as const;

declare module 'fastify' {
  interface FastifyInstance {
    /** How many streams of events are open. */
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
    operationId: 'events',
    summary: 'What happens to the memories, as it happens',
    description: DESCRIPTION.replaceAll('\n', ' '),
    tags: ['service'],
    headers: EventsHeaders,
    querystring: EventsQuery,
    response: {
      ...answers(EventData),
      200: {
        description: 'A stream that ends with the service.',
        content: { [EVENT_STREAM]: { schema: EventData } },
      },
    },
  };
  app.get('/events', { schema, config }, (request, reply) => {
    if (request.method === 'HEAD') {
      sendHead(reply, HEADERS);
      return;
    }
    if (stopping) throw new MemoryError('UNAVAILABLE', 'the service is stopping');
    const reader = new AbortController();
    const happening = getApi(request).events({ ...request.query, ...readLastEventId(request) }, reader.signal);
    readers.add(reader);
    whenExpelled(gate, request, reply, () => reader.abort());
    reply.raw.on('close', () => {
      reader.abort();
      readers.delete(reader);
    });
    void writeEvents(beginAnswer(reply.headers(HEADERS)), happening);
  });
};
