import { ApiKeysResponse, ApiKeyWithSecret, KeyPath, NewKey, RevokeKeyResponse } from '@memoryd/contract';
import { auditRequest } from '../audited-request.ts';
import { refuseBody } from '../json-body.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const config = { access: 'operate', refusesForeignPages: true } as const;

/** `/keys`: the API keys of the database. */
export const keys: Route = (app, { engine, telemetry }) => {
  const list = {
    operationId: 'listKeys',
    summary: 'List the API keys without their secrets',
    tags: ['administration'],
    querystring: NoQuery,
    response: createResponseSchemas(ApiKeysResponse),
  };
  app.get('/keys', { schema: list, config }, async () => ({ keys: await engine.keys.list() }));

  const add = {
    operationId: 'addKey',
    summary: 'Create an API key',
    description: 'The response contains the key itself in `key`, which cannot be retrieved later.',
    tags: ['administration'],
    querystring: NoQuery,
    body: NewKey,
    response: createResponseSchemas(ApiKeyWithSecret, 'CONFLICT'),
  };
  app.post('/keys', { schema: add, config }, async (request) => {
    const made = await engine.keys.add(request.body);
    auditRequest(request, telemetry, 'key_added', {
      made_key_id: made.id,
      scope: made.scope,
      of_namespace: made.namespace,
      ...(made.user_id !== undefined && { of_user: made.user_id }),
      ...(made.agent_id !== undefined && { of_agent: made.agent_id }),
    });
    return made;
  });

  const revoke = {
    operationId: 'revokeKey',
    summary: 'Revoke an API key',
    tags: ['administration'],
    params: KeyPath,
    querystring: NoQuery,
    response: createResponseSchemas(RevokeKeyResponse, 'NOT_FOUND'),
  };
  app.delete('/keys/:id', { schema: revoke, config, preValidation: refuseBody }, async (request) => {
    const { id } = request.params;
    await engine.keys.revoke(id);
    auditRequest(request, telemetry, 'key_revoked', { revoked_key_id: id });
    return { id, status: 'revoked' as const };
  });
};
