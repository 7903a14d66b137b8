import type { Telemetry } from '@memoryd/engine';
import type { McpOptions } from './mcp/server.ts';
import type { Settings } from './settings/read.ts';
import { VERSION } from './version.ts';

type Sizes = Pick<Settings, 'maxBodyBytes' | 'maxBatchBodyBytes'>;

/**
 * What MCP servers of both transports are made with.
 *
 * @param facts what the record of a defect says beside it
 */
export function mcpOptions(
  { maxBodyBytes }: Sizes,
  telemetry: Telemetry,
  facts: Record<string, string> = {},
): McpOptions {
  return {
    version: VERSION,
    maxArgumentBytes: maxBodyBytes,
    onDefect: (error, asked) =>
      telemetry.report({
        level: 'error',
        component: 'mcp',
        event: 'request_failed',
        facts: { asked, ...facts },
        error,
      }),
  };
}

/** Most bytes of one message, which may hold several calls and more text than one call may bring: that is told better. */
export function maxMessageBytes({ maxBodyBytes, maxBatchBodyBytes }: Sizes): number {
  return Math.max(maxBodyBytes, maxBatchBodyBytes);
}
