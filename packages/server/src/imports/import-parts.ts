import {
  type FileImportResponse,
  type ImportedText,
  type ImportPreview,
  type ImportTextsRequest,
  LIMITS,
  type MemoryApi,
} from '@memoryd/contract';
import { digest } from '../hooks/keys.ts';
import type { ForeignFormat, Part } from './format.ts';
import { type OwnerOptions, Owners } from './owners.ts';
import { createPreview, type Refusals } from './preview.ts';

/** The part of the API that stores texts. */
export type TextStore = Pick<MemoryApi, 'importTexts'>;

export interface ImportPartsOptions extends OwnerOptions {
  /** Whether nothing is stored. */
  dryRun?: boolean | undefined;
  /** See `ImportTextsRequest`. */
  redact?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Called before the first text is stored. Nothing is stored if it resolves with false. */
  onPreview?: ((preview: ImportPreview & Refusals) => Promise<boolean>) | undefined;
  /** Called after each text that was given to the store. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** The parts of a recognized source. */
export interface PartsReading {
  from: ForeignFormat;
  /** As in `Source`. */
  name: string;
  /** As in `Source`. */
  contentKey: string;
  /** Reads all parts from the beginning. */
  read(): AsyncIterable<Part>;
}

/**
 * Imports the parts of a source. The first pass reads everything and creates the preview; the second one stores the
 * texts.
 *
 * @throws MemoryError INVALID_REQUEST if the owner of the texts is unclear
 * @throws the signal's reason if the signal is aborted; what was stored until then stays, and a repetition continues
 */
export async function importParts(
  store: TextStore,
  reading: PartsReading,
  options: ImportPartsOptions,
): Promise<FileImportResponse> {
  const { preview, refusals } = await createPreview(reading.from, reading.read(), options);
  options.signal?.throwIfAborted();
  const isStored =
    preview.found_count > 0 && !options.dryRun && ((await options.onPreview?.({ ...preview, ...refusals })) ?? true);
  if (!isStored) return { ...preview, imported_count: 0, updated_count: 0, unchanged_count: 0, ...refusals };
  const request = createRequest(reading, preview, options);
  const { refused, refused_count, ...stored } = await store.importTexts(
    readTexts(reading, preview.found_count, options),
    request,
  );
  return {
    ...preview,
    ...stored,
    refused_count: refusals.refused_count + refused_count,
    refused: [...refusals.refused, ...refused].slice(0, LIMITS.listedRejections),
  };
}

function createRequest(
  { from, name, contentKey }: PartsReading,
  { found_count }: ImportPreview,
  { scope, sourceUser, redact }: ImportPartsOptions,
): ImportTextsRequest {
  const shownName = name.toWellFormed().replaceAll('\0', '').slice(0, LIMITS.importNameChars).toWellFormed();
  return {
    ...scope,
    from,
    ...(shownName !== '' && { name: shownName }),
    // Each user of a source gets a separate import, so that it can be undone alone.
    content_key: sourceUser === undefined ? contentKey : digest(contentKey, sourceUser),
    expected_count: found_count,
    ...(redact !== undefined && { redact }),
  };
}

/** Yields the texts with their owners. Refused and left-out parts are in the preview. */
async function* readTexts(
  reading: PartsReading,
  total: number,
  options: ImportPartsOptions,
): AsyncIterable<ImportedText> {
  const owners = new Owners(options);
  let done = 0;
  for await (const part of reading.read()) {
    options.signal?.throwIfAborted();
    const owned = part.kind === 'text' && owners.assign(part.text);
    if (!owned) continue;
    yield owned;
    done += 1;
    options.onProgress?.(done, total);
  }
}
