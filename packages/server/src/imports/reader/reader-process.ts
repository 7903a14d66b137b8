import { basename } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { detectFormat } from '../detect.ts';
import type { Part } from '../format.ts';
import { type Detection, readParts } from '../read-parts.ts';
import { openSource } from '../source/open-source.ts';
import type { Source, SourceFile } from '../source/source.ts';
import type { Defect, ReaderData, ReaderRequest, ReaderResponse } from './reader-messages.ts';

/*
 * The process that reads an uploaded file. Its memory is limited, so a hostile file can end this process, but not the
 * service. A thread would not do: V8 ends the whole process when the parser of JSON reaches the limit of a thread.
 */

/** Maximum size of a batch, in parts and in characters of texts, and maximum time for it, in ms. */
const MAX_BATCH = { parts: 256, chars: 1024 * 1024, ms: 1000 };

/** Characters of the digest in the path of a file without a name. */
const CONTENT_CHARS = 12;

/** Interval of the messages that show that the process is at work, in ms. */
const ALIVE_INTERVAL_MS = 5000;

// Not an argument, which other users of the machine could read. Later messages wait for their listener.
const { path, name, from, format, maxZipBytes } = await new Promise<ReaderData>(
  (resolve) => void process.once('message', resolve),
);
const temporaryName = basename(path);
const shownName = name ?? 'upload';

let source: Source | undefined;
let detection: Detection | undefined;
let pass: AsyncIterator<Part> | undefined;
let defects: Defect[] = [];

const RESPONSES: Record<ReaderRequest, () => Promise<ReaderResponse>> = {
  async open() {
    const opened = await openSource(path, { maxZipBytes });
    // Without a name, other content is another file: its notes and rows must not replace those of this one.
    const filePath = name ?? `${shownName} ${opened.contentKey.slice(0, CONTENT_CHARS)}`;
    const files = opened.files.map((file) => withPath(file, filePath));
    const named: Source = { ...opened, files, refused: opened.refused.map(withPlace) };
    const { format: found, ...detected } = await detectFormat(named, from);
    source = named;
    if (found !== 'memoryd') detection = { ...detected, format: found };
    return { kind: 'opened', from: found === 'memoryd' ? found : found.name, contentKey: named.contentKey };
  },
  async start() {
    const onDefect = (error: unknown, path: string) => void defects.push({ path, error });
    pass = readParts(source as Source, detection as Detection, { format, onDefect })[Symbol.asyncIterator]();
    return { kind: 'started' };
  },
  async next() {
    const until = performance.now() + MAX_BATCH.ms;
    const parts: Part[] = [];
    let isLast = false;
    for (let chars = 0; parts.length < MAX_BATCH.parts && chars < MAX_BATCH.chars && performance.now() < until; ) {
      const next = await (pass as AsyncIterator<Part>).next();
      if (next.done) {
        isLast = true;
        break;
      }
      parts.push(next.value);
      if (next.value.kind === 'text') chars += next.value.text.content.length;
    }
    const noted = defects;
    defects = [];
    return { kind: 'batch', parts, isLast, defects: noted };
  },
};

/**
 * Returns a file of the source without the temporary name of the upload, and without the time of the upload. A repeated
 * upload has another name and time.
 */
function withPath(file: SourceFile, path: string): SourceFile {
  if (file.path !== temporaryName) return file;
  return { path, sizeBytes: file.sizeBytes, open: () => file.open() };
}

function withPlace({ place, reason }: Source['refused'][number]): Source['refused'][number] {
  return { place: place.replaceAll(temporaryName, shownName), reason };
}

async function respond(request: ReaderRequest): Promise<ReaderResponse> {
  try {
    return await RESPONSES[request]();
  } catch (error) {
    if (!(error instanceof MemoryError)) return { kind: 'failed', error };
    const message = error.message.replaceAll(path, shownName).replaceAll(temporaryName, shownName);
    return { kind: 'refused', error: { ...error.body, message } };
  }
}

function send(response: ReaderResponse): void {
  process.send?.(response);
}

let inTurn = Promise.resolve();
process.on('message', (request: ReaderRequest) => {
  inTurn = inTurn.then(async () => send(await respond(request)));
});
// The service has ended, or needs no more.
process.on('disconnect', () => process.exit());
setInterval(() => send({ kind: 'alive' }), ALIVE_INTERVAL_MS);
