import {
  DeleteNamespaceResponse,
  NamespacePath,
  NamespaceQuota,
  NamespacesResponse,
  QuotaResponse,
} from '@memoryd/contract';
import { auditRequest } from '../audited-request.ts';
import { refuseBody } from '../json-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', refusesForeignPages: true } as const;

/** `/namespaces`: the namespaces with their usage and quotas. */
export const namespaces: Route = (app, { engine, telemetry }) => {
  const list = {
    operationId: 'listNamespaces',
    summary: 'List the namespaces with their usage and quotas',
    tags: ['administration'],
    querystring: NoQuery,
    response: createResponseSchemas(NamespacesResponse),
  };
  app.get('/namespaces', { schema: list, config }, async () => ({ namespaces: await engine.namespaces.list() }));

  const setQuota = {
    operationId: 'setNamespaceQuota',
    summary: 'Set the quota of a namespace',
    description: 'Memories that are already stored remain, even above the new quota.',
    tags: ['administration'],
    params: NamespacePath,
    querystring: NoQuery,
    body: NamespaceQuota,
    response: createResponseSchemas(QuotaResponse),
  };
  app.put('/namespaces/:name', { schema: setQuota, config }, async (request) => {
    const { name } = request.params;
    await engine.namespaces.setQuota(name, request.body);
    const { memories, bytes } = request.body;
    auditRequest(request, telemetry, 'quota_changed', {
      of_namespace: name,
      memories: memories ?? 'default',
      bytes: bytes ?? 'default',
    });
    return { name, quota: request.body };
  });

  const remove = {
    operationId: 'deleteNamespace',
    summary: 'Delete a namespace permanently',
    description: 'Deletes its memories with their history, its consolidation records, its quota and its API keys.',
    tags: ['administration'],
    params: NamespacePath,
    querystring: NoQuery,
    response: createResponseSchemas(DeleteNamespaceResponse, 'NOT_FOUND'),
  };
  app.delete('/namespaces/:name', { schema: remove, config, preValidation: refuseBody }, async (request) => {
    const { name } = request.params;
    const deleted = await engine.namespaces.delete(name);
    auditRequest(request, telemetry, 'namespace_deleted', { of_namespace: name, count: deleted.deleted_count });
    return { name, status: 'deleted' as const, ...deleted };
  });
};
