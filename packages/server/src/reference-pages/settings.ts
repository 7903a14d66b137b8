import { SETTING_NAMES } from '../settings/names.ts';
import { markdownTable } from './markdown-table.ts';

/** Returns the reference page of all settings in Markdown. */
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

A flag overrides its environment variable, a variable overrides the settings file, and the file overrides the default. With
an invalid value, an unknown flag, or an unknown key in the file, memoryd exits with code 2 and one line on standard error.
An unknown variable that begins with \`SERVICE_\` causes a warning.

The settings file is \`memoryd.config.json\` in the working directory, or the file of \`--config\`. It contains a JSON object
with the keys below (\`{"port": 8091, "logQueries": false, "corsOrigins": ["https://app.example"]}\`). A relative \`dbPath\` is
resolved from the folder of the file. \`memoryd mcp\` reads only the file of \`--config\`: agents start it in folders that
others control, and a settings file decides where texts are sent. The [commands](cli.md) page lists the settings of each
command.

${markdownTable(['Flag', 'Environment variable', 'In the file', 'Default', 'Meaning'], rows)}

[Languages](../guide/languages.md) lists the prefixes and the pooling that embedding models need.

\`NODE_ENV=production\` selects production; any other value selects development. They differ only in the web pages that may
call the service while \`SERVICE_CORS_ORIGINS\` is not set.
`;
}
