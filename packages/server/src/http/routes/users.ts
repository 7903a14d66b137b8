import { NamespaceQuota, UserPath, UserQuotaResponse, UsersRequest, UsersResponse } from '@memoryd/contract';
import { answers } from '../answers.ts';
import { getAudit } from '../audited-request.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

/** `/users`: the users of the caller's namespace, and what each may hold. */
export const users: Route = (app, { getApi, engine, telemetry }) => {
  const list = {
    operationId: 'users',
    summary: 'The users with what they hold and may hold',
    tags: ['memories'],
    querystring: UsersRequest,
    response: answers(UsersResponse),
  };
  const reading = { access: 'read', heavy: 'list' } as const;
  app.get('/users', { schema: list, config: reading }, (request) => getApi(request).users(request.query));

  const setQuota = {
    operationId: 'setUserQuota',
    summary: 'Set what a user may hold',
    description: 'What the user holds already stays.',
    tags: ['administration'],
    params: UserPath,
    querystring: NoQuery,
    body: NamespaceQuota,
    response: answers(UserQuotaResponse),
  };
  const operating = { access: 'operate', refusesForeignPages: true } as const;
  app.put('/users/:user_id/quota', { schema: setQuota, config: operating }, async (request) => {
    const { user_id } = request.params;
    const { namespace } = request.caller;
    await engine.namespaces.setUserQuota(namespace, user_id, request.body);
    const { memories, bytes } = request.body;
    getAudit(request, telemetry, 'quota_changed', {
      of_namespace: namespace,
      of_user: user_id,
      memories: memories ?? 'default',
      bytes: bytes ?? 'default',
    });
    return { user_id, quota: request.body };
  });
};
