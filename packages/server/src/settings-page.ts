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

${table(['Flag', 'Environment variable', 'Default', 'Meaning'], rows)}

\`NODE_ENV=production\` is production, anything else is development. The two differ in which web pages may call the
service while \`SERVICE_CORS_ORIGINS\` is not set.
`;
}

function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  const lines = [head, rule, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
