import { SETTING_NAMES } from '../settings/names.ts';
import { markdownTable } from './markdown-table.ts';

/** The reference page of all settings, in Markdown as the formatter leaves it. */
export function settingsPage(): string {
  const rows = SETTING_NAMES.map(({ key, flag, value, env, defaultText, description }) => [
    `\`${flag} ${value.replaceAll('|', '\\|')}\``,
    `\`${env}\``,
    `\`${key}\``,
    defaultText,
    description,
  ]);
  return `<!-- Written by \`npm run settings-page --workspace memoryd\`; edit packages/server/src/settings/schema.ts instead. -->
# Settings

A flag wins over its environment variable, a variable over the settings file, and the file over the default. A value that
cannot be used, an unknown flag, or an unknown key in the file ends the start with one line on standard error and exit code
2; a variable that begins with \`SERVICE_\` and is no setting is warned of.

The settings file is \`memoryd.config.json\` in the working directory, or what \`--config\` names: a JSON object of the keys
below, with values of JSON (\`{"port": 8091, "logQueries": false, "corsOrigins": ["https://app.example"]}\`). \`dbPath\` is seen
from the folder of the file. Only \`--config\` names one for \`memoryd mcp\`, which agents start in folders of others: a file
says where texts are sent. Which settings a command takes is in [the reference of commands](cli.md).

${markdownTable(['Flag', 'Environment variable', 'In the file', 'Default', 'Meaning'], rows)}

[Languages](../guide/languages.md) shows which prefixes and which pooling embedding models need.

\`NODE_ENV=production\` is production, anything else is development. The two differ in which web pages may call the
service while \`SERVICE_CORS_ORIGINS\` is not set.
`;
}
