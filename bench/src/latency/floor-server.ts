import { createServer } from 'node:http';

const result = { id: '01990000-0000-7000-8000-000000000000', content: 'x'.repeat(150), score: 0.5, tags: [] };
const body = JSON.stringify({ results: Array.from({ length: 10 }, () => result), total: 10 });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

// Responds to every request at once with a body of the size of a recall response. Sends its port to the parent process.
const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.once('disconnect', () => process.exit());
