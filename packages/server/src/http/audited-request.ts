import type { Telemetry } from '@memoryd/engine';
import type { FastifyRequest } from 'fastify';
import { type AuditEvent, type AuditedCaller, audit } from '../audit.ts';

/** Returns the caller of a request for audit records. Before authorization, the namespace is empty. */
export function auditedCaller({ id, ip, caller }: FastifyRequest): AuditedCaller {
  const { namespace = '', keyId, userId, agentId } = (caller as FastifyRequest['caller'] | undefined) ?? {};
  const owner = {
    ...(userId !== undefined && { user_id: userId }),
    ...(agentId !== undefined && { agent_id: agentId }),
  };
  return { namespace, key_id: keyId, ...owner, address: ip, request_id: id };
}

/** Reports an audit event of a request. See `audit`. */
export function auditRequest(
  request: FastifyRequest,
  telemetry: Telemetry,
  event: AuditEvent,
  facts?: Record<string, string | number>,
): void {
  audit(telemetry, event, auditedCaller(request), facts);
}
