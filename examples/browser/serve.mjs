// Serves the page and the files of the client. Any other web server works too.
// Run: node examples/browser/serve.mjs [port]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const page = new URL('index.html', import.meta.url);
const client = new URL('.', import.meta.resolve('@memoryd/client'));

/** Returns the file and content type of a path; undefined for unknown paths. */
function getFile(path) {
  if (path === '/') return { file: page, type: 'text/html; charset=utf-8' };
  const [, name] = /^\/client\/([\w-]+\.js)$/.exec(path) ?? [];
  return name && { file: new URL(name, client), type: 'text/javascript; charset=utf-8' };
}

const server = createServer(async (request, response) => {
  const found = getFile(new URL(request.url, 'http://page').pathname);
  const body = found && (await readFile(found.file).catch(() => undefined));
  if (!body) return response.writeHead(404).end();
  response.writeHead(200, { 'Content-Type': found.type }).end(body);
});
server.listen(Number(process.argv[2] ?? 8092), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
