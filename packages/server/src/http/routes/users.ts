import { NamespaceQuota, UserPath, UserQuotaResponse, UsersRequest, UsersResponse } from '@memoryd/contract';
import { auditRequest } from '../audited-request.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

/** `/users`: the users of the caller's namespace with their usage and quotas. */
export const users: Route = (app, { getApi, engine, telemetry }) => {
  const list = {
    operationId: 'listUsers',
    summary: 'List the users with their usage and quotas',
    tags: ['memories'],
    querystring: UsersRequest,
    response: createResponseSchemas(UsersResponse),
  };
  const readConfig = { access: 'read', heavy: 'list' } as const;
  app.get('/users', { schema: list, config: readConfig }, (request) => getApi(request).users(request.query));

  const setQuota = {
    operationId: 'setUserQuota',
    summary: 'Set the quota of a user',
    description: 'Memories that are already stored remain, even above the new quota.',
    tags: ['administration'],
    params: UserPath,
    querystring: NoQuery,
    body: NamespaceQuota,
    response: createResponseSchemas(UserQuotaResponse),
  };
  const operateConfig = { access: 'operate', refusesForeignPages: true } as const;
  app.put('/users/:user_id/quota', { schema: setQuota, config: operateConfig }, async (request) => {
    const { user_id } = request.params;
    const { namespace } = request.caller;
    await engine.namespaces.setUserQuota(namespace, user_id, request.body);
    const { memories, bytes } = request.body;
    auditRequest(request, telemetry, 'quota_changed', {
      of_namespace: namespace,
      of_user: user_id,
      memories: memories ?? 'default',
      bytes: bytes ?? 'default',
    });
    return { user_id, quota: request.body };
  });
};
