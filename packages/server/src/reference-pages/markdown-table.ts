/** Returns a Markdown table with padded columns, as the code formatter writes tables. */
export function markdownTable(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  const lines = [head, rule, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
