import { type FileImportResponse, invalidRequest, type MemoryError } from '@memoryd/contract';
import { detectFormat } from './detect.ts';
import type { ForeignFormat } from './format.ts';
import { type ImportPartsOptions, importParts, type TextStore } from './import-parts.ts';
import { type ReadPartsOptions, readParts } from './read-parts.ts';
import type { Source } from './source.ts';

export interface ImportSourceOptions extends ImportPartsOptions, ReadPartsOptions {
  /** The format; recognized by the content if absent. */
  from?: ForeignFormat | undefined;
}

/**
 * Imports a source of another program. See `importParts`.
 *
 * @throws MemoryError INVALID_REQUEST if the format is unknown or is an export of memoryd, or the owner is unclear
 */
export async function importSource(
  store: TextStore,
  source: Source,
  options: ImportSourceOptions,
): Promise<FileImportResponse> {
  const { format, ...files } = await detectFormat(source, options.from);
  if (format === 'memoryd') throw createExportError(source.name);
  const detection = { ...files, format };
  const reading = {
    from: format.name,
    name: source.name,
    contentKey: source.contentKey,
    read: () => readParts(source, detection, options),
  };
  return importParts(store, reading, options);
}

function createExportError(name: string): MemoryError {
  return invalidRequest([
    {
      path: '/from',
      message: `from must be memoryd for ${name}, which is an export of memoryd and not of another program`,
    },
  ]);
}
