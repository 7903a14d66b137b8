import { Option } from 'commander';
import type { AgentInput } from '../mcp-front/agent-input.ts';
import { loadSettings } from '../settings/file.ts';
import { SERVICE_SETTINGS, settingOptions } from '../settings/options.ts';
import type { SettingKey } from '../settings/schema.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, withExamples, withOptions } from './command.ts';
import { isRemote } from './database.ts';
import { NAMESPACE_AT_URL, NAMESPACE_OPTION_AT_URL, SCOPE_OPTIONS, toScope } from './memories.ts';

const DESCRIPTION =
  'Serve memories to one agent on standard input and output, with the Model Context Protocol. The log goes to standard ' +
  'error. Several agents and a server can use one database file at the same time. With --url, the agent uses a running ' +
  'service. A settings file is read only if --config names it.';

const LISTENER_SETTINGS: readonly SettingKey[] = [
  'host',
  'port',
  'corsOrigins',
  'rateLimit',
  'slowClientSeconds',
  'memoryLimitMb',
];

const TOOLS_OPTION = new Option(
  '--tools <names>',
  'Offer these tools: names separated by commas, or all for every tool. Default: the tools for models.',
);
const STRUCTURED_OPTION = new Option(
  '--structured',
  'Return results as JSON too, for programs. Many agents then show the model the JSON in place of the text.',
);

const OPTIONS = [
  ...settingOptions([...SERVICE_SETTINGS.filter((key) => !LISTENER_SETTINGS.includes(key)), 'url']),
  NAMESPACE_OPTION_AT_URL,
  ...SCOPE_OPTIONS,
  TOOLS_OPTION,
  STRUCTURED_OPTION,
];

/**
 * Returns `memoryd mcp`, with the options of all settings except `LISTENER_SETTINGS`.
 *
 * @param input see `serveAgent`
 */
export function mcpCommand(input?: AgentInput): AddCommand {
  return (program, env) => {
    const command = program
      .command('mcp')
      .summary('Serve one agent on standard input and output.')
      .description(DESCRIPTION);
    withExamples(command, 'memoryd mcp --user ada', 'memoryd mcp --url http://127.0.0.1:8090');
    withOptions(command, OPTIONS).action(async (flags) => {
      // Ignores the settings file in the working directory: an agent may start in an untrusted folder, whose settings
      // file must not decide where texts are sent.
      const settings = loadSettings(flags, env, { search: false });
      const url = isRemote(flags, settings) ? settings.url : '';
      if (url !== '' && flags.namespace !== undefined) throw new UsageError(NAMESPACE_AT_URL);
      const scope = { namespace: flags.namespace, scope: toScope(flags) };
      await (await import('../serve-agent.ts')).serveAgent({ ...settings, url }, scope, { ...flags, input });
    });
  };
}
