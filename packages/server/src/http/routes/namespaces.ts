import { DeletedNamespace, NamespacePath, NamespaceQuota, NamespacesResponse, QuotaResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { getAudit } from '../audited-request.ts';
import { refuseBody } from '../json-body.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', refusesForeignPages: true } as const;

/** `/namespaces`: what they hold and may hold. */
export const namespaces: Route = (app, { engine, telemetry }) => {
  const list = {
    operationId: 'listNamespaces',
    summary: 'The namespaces with what they hold and may hold',
    tags: ['administration'],
    querystring: NoQuery,
    response: answers(NamespacesResponse),
  };
  app.get('/namespaces', { schema: list, config }, async () => ({ namespaces: await engine.namespaces.list() }));

  const setQuota = {
    operationId: 'setQuota',
    summary: 'Set what a namespace may hold',
    description: 'What it holds already stays.',
    tags: ['administration'],
    params: NamespacePath,
    querystring: NoQuery,
    body: NamespaceQuota,
    response: answers(QuotaResponse),
  };
  app.put('/namespaces/:name', { schema: setQuota, config }, async (request) => {
    const { name } = request.params;
    await engine.namespaces.setQuota(name, request.body);
    const { memories, bytes } = request.body;
    getAudit(request, telemetry, 'quota_changed', {
      of_namespace: name,
      memories: memories ?? 'default',
      bytes: bytes ?? 'default',
    });
    return { name, quota: request.body };
  });

  const remove = {
    operationId: 'deleteNamespace',
    summary: 'Delete a namespace for good',
    description: 'Its memories, their history, runs of consolidation, quota and API keys.',
    tags: ['administration'],
    params: NamespacePath,
    querystring: NoQuery,
    response: answers(DeletedNamespace, 'NOT_FOUND'),
  };
  app.delete('/namespaces/:name', { schema: remove, config, preValidation: refuseBody }, async (request) => {
    const { name } = request.params;
    const deleted = await engine.namespaces.delete(name);
    getAudit(request, telemetry, 'namespace_deleted', { of_namespace: name, count: deleted.deleted_count });
    return { name, status: 'deleted' as const, ...deleted };
  });
};
