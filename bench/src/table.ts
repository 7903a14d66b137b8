/** Formats rows as text. The first `leftColumns` columns are aligned left, the others right. */
export function alignTable(header: readonly string[], rows: readonly (readonly string[])[], leftColumns = 1): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const cell = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column < leftColumns ? text.padEnd(width) : text.padStart(width);
  };
  return lines.map((line) => line.map(cell).join('  ').trimEnd()).join('\n');
}
