import { markdownTable } from './markdown-table.ts';
import { SETTING_NAMES } from './settings.ts';

/** The reference page of all settings, in Markdown as the formatter leaves it. */
export function settingsPage(): string {
  const rows = SETTING_NAMES.map(({ flag, value, env, defaultText, description }) => [
    `\`${flag} ${value.replaceAll('|', '\\|')}\``,
    `\`${env}\``,
    defaultText,
    description,
  ]);
  return `<!-- Written by \`npm run settings-page --workspace memoryd\`; edit packages/server/src/settings.ts instead. -->
# Settings

A flag wins over its environment variable, and a variable over the default. A value that cannot be used, or an unknown
flag, ends the start with one line on standard error and exit code 2.

${markdownTable(['Flag', 'Environment variable', 'Default', 'Meaning'], rows)}

\`NODE_ENV=production\` is production, anything else is development. The two differ in which web pages may call the
service while \`SERVICE_CORS_ORIGINS\` is not set.
`;
}
