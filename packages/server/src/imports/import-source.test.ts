import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ImportedText, ImportTextsRequest } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { importSource } from './import-source.ts';
import { openSource } from './open-source.ts';
import { OPTIONS } from './test-format.fixture.ts';

/** Imports a folder with one file, and returns the response with the requests that reached the store. */
async function run(name: string, content: string) {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-source-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), content);
  const source = await openSource(folder);
  const requests: ImportTextsRequest[] = [];
  const store = {
    async importTexts(texts: AsyncIterable<ImportedText>, request: ImportTextsRequest) {
      requests.push(request);
      let imported_count = 0;
      for await (const _text of texts) imported_count += 1;
      const none = { updated_count: 0, unchanged_count: 0, refused_count: 0, refused: [] };
      return { import_id: 'import 1', imported_count, ...none };
    },
  };
  return { response: importSource(store, source, { scope: {}, format: OPTIONS }), requests, source };
}

describe('importSource', () => {
  it('recognizes the format, and passes the name and the digest of the source on', async () => {
    const { response, requests, source } = await run('garden.md', '# Garden\n\nThe fig tree needs water in June.\n');
    expect(await response).toMatchObject({
      from: 'markdown',
      found_count: 1,
      imported_count: 1,
      import_id: 'import 1',
    });
    expect(requests).toEqual([
      { from: 'markdown', name: source.name, content_key: source.contentKey, expected_count: 1 },
    ]);
  });

  it('refuses an export of memoryd, which has another way', async () => {
    const { response, requests } = await run('export.ndjson', '{"format":"memoryd","version":1}\n');
    await expect(response).rejects.toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: '/from' }] });
    expect(requests).toEqual([]);
  });
});
