import { ExportLine, FileImportResponse, ImportFileRequest, ImportResponse, invalidRequest } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { getUploadFolder, removeLeftUploads } from '../../imports/uploads.ts';
import { BROKEN_ARRAY, createListContent, getItems } from '../lines-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { getStreamedBody, registerStreamed } from '../streamed-body.ts';
import { createUploadImport } from '../upload-import.ts';
import type { Route } from './route.ts';

const config = {
  access: 'write',
  longBody: true,
  heavy: 'import',
  heavyWith: { parameter: 'from', kind: 'upload' },
  refusesForeignPages: true,
} as const;

const File = Type.String({
  format: 'binary',
  description: 'With `from`, a file of another program, with any content type.',
});

export const importMemories: Route = (app, context) => {
  const schema = {
    operationId: 'importMemories',
    summary: 'Import exported memories, or a file of another program',
    description:
      'Without `from`, accepts the output of `GET /export`, of any length, or the same lines as items of a JSON array. Each memory is stored completely, or refused. ' +
      `${BROKEN_ARRAY} A ` +
      'memory that already exists is left unchanged, so an interrupted import can be sent again from the beginning. A ' +
      'memory keeps its id, unless the id belongs to another user or agent: then it is stored under a new id, which ' +
      '`new_ids` names. With `from`, accepts a file that another program exported, or a zip of such files, as it is, with ' +
      'any content type. The whole file is received and read before the first memory is stored. A repeated import brings ' +
      'only what is new. Events of the type `import` report progress; `GET /imports` lists the import, and ' +
      '`DELETE /imports/{id}` undoes it. If a key or the query names a user, all memories of a file of another program ' +
      'become that user’s, and a memory of another user in an export of memoryd is refused.',
    tags: ['memories'],
    querystring: ImportFileRequest,
    body: {
      content: {
        ...createListContent(Type.Array(ExportLine), 'ExportLine'),
        '*/*': { schema: File },
      },
    },
    response: createResponseSchemas(Type.Union([ImportResponse, FileImportResponse]), 'PAYLOAD_TOO_LARGE'),
  };
  app.addHook('onReady', () => removeLeftUploads(getUploadFolder(context.settings.database)));
  const importUpload = createUploadImport(app, context);
  registerStreamed(app, (scope) => {
    scope.post('/import', { schema, config }, (request, reply) => {
      const { from, ...options } = request.query;
      if (from !== undefined && from !== 'memoryd') return importUpload(request, reply, { from, ...options });
      const lines = getItems(request, getStreamedBody(request, reply, context));
      return context.getApi(request).importMemories(lines, toOwner(options));
    });
  });
};

/** Returns the options of an import of exported memories. Throws INVALID_REQUEST for an option of other files. */
function toOwner({ user_id, agent_id, ...others }: Omit<ImportFileRequest, 'from'>) {
  const details = Object.keys(others).map((name) => ({
    path: `/${name}`,
    message: `${name} must come with from, such as from=auto; an export of memoryd has no such option`,
  }));
  if (details.length > 0) throw invalidRequest(details);
  return { ...(user_id !== undefined && { user_id }), ...(agent_id !== undefined && { agent_id }) };
}
