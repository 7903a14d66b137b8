import type { Memory } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, type CommonFlags, withExamples } from './command.ts';
import { toShortTime } from './local-time.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { MEMORY_ID_HELP, resolveId } from './memory-id.ts';
import { formatTable, print } from './output.ts';
import { toPrintableLines } from './printable.ts';
import type { Cell } from './table.ts';

export const showCommand: AddCommand = (program, env) => {
  const command = program
    .command('show')
    .alias('get')
    .argument('<id>', MEMORY_ID_HELP)
    .summary('Print one memory.')
    .description('Print one memory: its fields and its whole text.');
  withExamples(command, 'memoryd show 893564f3');
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string, flags: CommonFlags) => show(id, flags, env));
};

async function show(id: string, flags: CommonFlags, env: Environment): Promise<void> {
  const memory = await withMemories(flags, env, {}, async ({ api }) => api.memory(await resolveId(api, id)));
  await print(flags, memory, () => format(memory, flags));
}

async function format({ content, ...fields }: Memory, flags: CommonFlags): Promise<string> {
  const rows = Object.entries(fields).map(([name, value]) => [name, toCell(name, value, flags)]);
  return `${await formatTable(['FIELD', 'VALUE'], rows, { full: true })}\n${toPrintableLines(content)}\n`;
}

function toCell(name: string, value: Memory[keyof Memory], flags: CommonFlags): Cell {
  if (Array.isArray(value)) return { words: value.join(', ') || '-' };
  if (value === null) return '-';
  if (/_at$|^valid_/.test(name)) return toShortTime(String(value), flags);
  return typeof value === 'object' ? { text: JSON.stringify(value) } : String(value);
}
