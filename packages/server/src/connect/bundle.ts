import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readAsset } from '../asset.ts';
import { VERSION } from '../version.ts';
import { getOwnFiles, joinPath } from './machine.ts';
import type { Connection, Machine } from './types.ts';

const ENTRY_POINT = 'server/claude-desktop.cjs';

/**
 * Writes the bundle that Claude Desktop installs when a person opens it, into the configuration folder. The bundle has
 * the address of the service and the user as defaults, and the path of the file with the API key, never the key.
 */
export async function writeBundle(connection: Connection, machine: Machine): Promise<{ path: string }> {
  const { strToU8, zipSync } = await import('fflate');
  const path = getBundlePath(machine);
  const files = {
    'manifest.json': strToU8(`${JSON.stringify(getManifest(connection, machine), null, 2)}\n`),
    [ENTRY_POINT]: strToU8(readAsset('claude-desktop.cjs')),
  };
  mkdirSync(machine.folders.config, { recursive: true });
  // A constant time, so that the same connection writes the same bytes.
  writeFileSync(path, zipSync(files, { mtime: new Date(1980, 0, 1) }));
  return { path };
}

/** Deletes the bundle. The extension that Claude Desktop installed from it stays until the person removes it there. */
export function removeBundle(machine: Machine): void {
  rmSync(getBundlePath(machine), { force: true });
}

function getBundlePath(machine: Machine): string {
  return joinPath(machine, machine.folders.config, 'memoryd.mcpb');
}

/** Returns the text in place of which Claude Desktop puts a value that the person can change. */
const toPlaceholder = (name: 'url' | 'user'): string => `\${user_config.${name}}`;

/** Returns the manifest of the bundle (MCP Bundles, manifest version 0.3). */
function getManifest({ url, user, hasKey }: Connection, machine: Machine) {
  return {
    manifest_version: '0.3',
    name: 'memoryd',
    display_name: 'memoryd',
    version: VERSION,
    description: 'Memory for Claude: stores and recalls notes of a memoryd service.',
    author: { name: 'memoryd' },
    license: 'MIT',
    server: {
      type: 'node',
      entry_point: ENTRY_POINT,
      mcp_config: {
        command: 'node',
        args: [`\${__dirname}/${ENTRY_POINT}`],
        env: {
          MEMORYD_URL: toPlaceholder('url'),
          MEMORYD_USER: toPlaceholder('user'),
          ...(hasKey && { MEMORYD_KEY_FILE: getOwnFiles(machine).key }),
        },
      },
    },
    tools_generated: true,
    prompts_generated: true,
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: '>=18.0.0' } },
    user_config: {
      url: {
        ...{ type: 'string', title: 'Address of the service', required: false, default: url },
        description: 'The address of a running memoryd, such as http://127.0.0.1:8090.',
      },
      user: {
        ...{ type: 'string', title: 'User', required: false, default: user },
        description: 'The user whose memories Claude stores and reads.',
      },
    },
  };
}
