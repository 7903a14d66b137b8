import { HookSettingsChange, HooksRequest, HooksResponse, MemoryError } from '@memoryd/contract';
import type { FastifyRequest } from 'fastify';
import type { HookOwner } from '../../hooks/owner-map.ts';
import { auditRequest } from '../audited-request.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import type { Route } from './route.ts';

/** `/hooks`: the settings of a user for the hooks of agent programs, and the activity of the hooks. */
export const hookSettings: Route = (app, { engine, hookActivity, telemetry }) => {
  const read = {
    operationId: 'getHookSettings',
    summary: 'Read the hook settings of a user, and what the hooks did',
    description:
      'The settings are stored. The counts are those of this service process since its start, and days are days in UTC.',
    tags: ['agents'],
    querystring: HooksRequest,
    response: createResponseSchemas(HooksResponse),
  };
  app.get('/hooks', { schema: read, config: { access: 'read', refusesForeignPages: true } }, async (request) => {
    const owner = getHookOwner(request, request.query.user_id);
    const settings = await engine.hooks.getSettings(owner.namespace, owner.userId || undefined);
    return { ...settings, programs: hookActivity.get(owner, Date.now()) };
  });

  const change = {
    operationId: 'setHookSettings',
    summary: 'Pause the hooks of a user, or set the folders that they ignore',
    description:
      'While hooks are paused, and in an ignored folder and below it, hooks store nothing and give nothing. ' +
      'Settings that are absent stay as they are. Other processes on the same database follow within two seconds.',
    tags: ['agents'],
    querystring: HooksRequest,
    body: HookSettingsChange,
    response: createResponseSchemas(HooksResponse, 'CONFLICT'),
  };
  app.put('/hooks', { schema: change, config: { access: 'write', refusesForeignPages: true } }, async (request) => {
    const owner = getHookOwner(request, request.query.user_id);
    const settings = await engine.hooks.putSettings(owner.namespace, owner.userId || undefined, request.body);
    auditRequest(request, telemetry, 'hooks_changed', {
      ...(owner.userId && { of_user: owner.userId }),
      paused: String(settings.paused),
      ignored_folders: settings.ignored_folders.length,
    });
    return { ...settings, programs: hookActivity.get(owner, Date.now()) };
  });
};

/**
 * Returns the owner of the hooks that a request is about: the user that the key is bound to, or the user that the
 * request names.
 *
 * @param userId the user in the request, if any
 * @throws MemoryError FORBIDDEN for another user than that of the key
 */
export function getHookOwner({ caller }: Pick<FastifyRequest, 'caller'>, userId: string | undefined): HookOwner {
  const bound = caller.userId;
  if (bound !== undefined && userId !== undefined && userId !== bound) {
    throw new MemoryError(
      'FORBIDDEN',
      'user_id must match the user_id that the API key is restricted to, or be omitted',
    );
  }
  return { namespace: caller.namespace, userId: bound ?? userId ?? '' };
}
