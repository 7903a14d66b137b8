import {
  ImportedText,
  ImportsRequest,
  ImportsResponse,
  ImportTextsRequest,
  ImportTextsResponse,
  isBlankLine,
  OwnScopeRequest,
  UndoImportResponse,
} from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { refuseBody, tryParseJson } from '../json-body.ts';
import { BROKEN_ARRAY, createListContent, getItems } from '../lines-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { getStreamedBody, registerStreamed } from '../streamed-body.ts';
import { ImportPath } from './parameters.ts';
import type { Route } from './route.ts';

export const importTexts: Route = (app, context) => {
  const config = { access: 'write', longBody: true, heavy: 'import', refusesForeignPages: true } as const;
  const schema = {
    operationId: 'importTexts',
    summary: 'Import texts of another program',
    description:
      'Accepts any number of texts, one per line or as a JSON array, each with the `external_id` that it has in the other program. Each text is stored ' +
      `completely, or refused and listed with its external id or its number. ${BROKEN_ARRAY} ` +
      'Texts that already exist are not stored ' +
      'again, so an interrupted import can be sent again from the beginning, and a later one brings only what is new. A ' +
      'text that changed in the source is updated, unless its memory was changed here. `GET /imports` lists ' +
      'the import, and `DELETE /imports/{id}` undoes it.',
    tags: ['memories'],
    querystring: ImportTextsRequest,
    body: { content: createListContent(Type.Array(ImportedText), 'ImportedText') },
    response: createResponseSchemas(ImportTextsResponse, 'CONFLICT', 'PAYLOAD_TOO_LARGE'),
  };
  registerStreamed(app, (scope) => {
    scope.post('/imports', { schema, config }, (request, reply) => {
      const texts = parseTexts(getItems(request, getStreamedBody(request, reply, context)));
      const redact = context.settings.redactImports === 'on';
      return context.getApi(request).importTexts(texts, { redact, ...request.query });
    });
  });
};

/** Parses texts. Skips blank lines. An item that is not JSON in UTF-8 becomes `undefined`, which is refused. */
async function* parseTexts(items: AsyncIterable<Uint8Array>): AsyncIterable<ImportedText> {
  for await (const item of items) {
    if (!isBlankLine(item)) yield tryParseJson(item) as ImportedText;
  }
}

export const imports: Route = (app, { getApi }) => {
  const config = { access: 'read', heavy: 'list' } as const;
  const schema = {
    operationId: 'listImports',
    summary: 'List imports, newest first',
    tags: ['memories'],
    querystring: ImportsRequest,
    response: createResponseSchemas(ImportsResponse),
  };
  app.get('/imports', { schema, config }, (request) => getApi(request).imports(request.query));
};

export const undoImport: Route = (app, { getApi }) => {
  const config = { access: 'write', refusesForeignPages: true } as const;
  const schema = {
    operationId: 'undoImport',
    summary: 'Undo an import',
    description:
      'Deletes the memories that the import created, permanently. Memories that were changed after the import stay, and ' +
      'are counted. A memory that a later import was the last to change then belongs to that import. Memories of earlier ' +
      'imports that the import changed stay too, with their newest text, and are counted. An import that is running ' +
      'cannot be undone.',
    tags: ['memories'],
    params: ImportPath,
    querystring: OwnScopeRequest,
    response: createResponseSchemas(UndoImportResponse, 'NOT_FOUND', 'CONFLICT'),
  };
  app.delete('/imports/:id', { schema, config, preValidation: refuseBody }, (request) =>
    getApi(request).undoImport(request.params.id, request.query),
  );
};
