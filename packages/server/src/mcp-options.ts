import type { TimeZone } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import type { McpOptions } from './mcp/server.ts';
import type { Settings } from './settings/read.ts';
import { VERSION } from './version.ts';

/** Maximum messages in a batch, which only protocol version 2025-03-26 has. */
export const MAX_BATCH_MESSAGES = 100;

type SizeLimits = Pick<Settings, 'maxBodyBytes' | 'maxBatchBodyBytes'>;

/**
 * Returns the options that the MCP servers of both transports, HTTP and stdio, share.
 *
 * @param zone the zone of the times that the caller reads
 * @param facts additional facts for the log record of an internal error
 */
export function mcpOptions(
  { maxBodyBytes }: SizeLimits,
  telemetry: Telemetry,
  zone: TimeZone,
  facts: Record<string, string> = {},
): McpOptions {
  return {
    version: VERSION,
    maxArgumentBytes: maxBodyBytes,
    zone,
    onDefect: (error, method) =>
      telemetry.report({
        level: 'error',
        component: 'mcp',
        event: 'request_failed',
        facts: { asked: method, ...facts },
        error,
      }),
  };
}

/**
 * Returns the setting that limits the size of one message. A message may contain several calls, so a message may be
 * larger than one call. The separate limit for one call has a clearer error.
 */
export function getMessageSetting({ maxBodyBytes, maxBatchBodyBytes }: SizeLimits): keyof SizeLimits {
  return maxBodyBytes > maxBatchBodyBytes ? 'maxBodyBytes' : 'maxBatchBodyBytes';
}
