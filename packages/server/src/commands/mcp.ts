import { loadSettings } from '../settings/file.ts';
import { SERVICE_SETTINGS, settingOptions } from '../settings/options.ts';
import type { SettingKey } from '../settings/schema.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, withOptions } from './command.ts';
import { isRemote, NAMESPACE_AT_URL, NAMESPACE_OPTION_AT_URL, SCOPE_OPTIONS, toScope } from './memories.ts';

const DESCRIPTION =
  'Serve memories to one agent on standard input and output, by the Model Context Protocol. The log goes to standard ' +
  'error. Several may use one file at once, beside a server too, or with --url a service. A settings file is read where ' +
  '--config names one.';

const OF_A_LISTENER: readonly SettingKey[] = [
  'host',
  'port',
  'corsOrigins',
  'rateLimit',
  'slowClientSeconds',
  'memoryLimitMb',
];

const OPTIONS = [
  ...settingOptions([...SERVICE_SETTINGS.filter((key) => !OF_A_LISTENER.includes(key)), 'url']),
  NAMESPACE_OPTION_AT_URL,
  ...SCOPE_OPTIONS,
];

/** `memoryd mcp`, with every setting but those of a listener on the network. */
export const mcpCommand: AddCommand = (program, env) => {
  const command = program.command('mcp').description(DESCRIPTION);
  withOptions(command, OPTIONS).action(async (flags) => {
    // An agent is started in whatever folder is worked in: a file that lies there does not say where texts are sent.
    const settings = loadSettings(flags, env, { search: false });
    const url = isRemote(flags, settings) ? settings.url : '';
    const { serveAgent } = await import('../serve-agent.ts');
    if (url !== '' && flags.namespace !== undefined) throw new UsageError(NAMESPACE_AT_URL);
    await serveAgent({ ...settings, url }, { namespace: flags.namespace, scope: toScope(flags) });
  });
};
