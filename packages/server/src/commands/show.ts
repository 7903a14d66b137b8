import type { Memory } from '@memoryd/contract';
import type { Environment } from '../settings/read.ts';
import type { AddCommand, AnswerFlags } from './command.ts';
import { SCOPE_OPTIONS, withMemories, withMemoryOptions } from './memories.ts';
import { print, tableFor } from './output.ts';
import { shown } from './shown.ts';

/** `memoryd show ID`. */
export const showCommand: AddCommand = (program, env) => {
  const command = program
    .command('show')
    .alias('get')
    .argument('<id>', 'the memory')
    .description('Print one memory: its fields and its whole text.');
  withMemoryOptions(command, SCOPE_OPTIONS).action((id: string, flags: AnswerFlags) => show(id, flags, env));
};

async function show(id: string, flags: AnswerFlags, env: Environment): Promise<void> {
  const memory = await withMemories(flags, env, {}, ({ api }) => api.memory(id));
  await print(flags, memory, () => asText(memory));
}

async function asText({ content, ...fields }: Memory): Promise<string> {
  const rows = Object.entries(fields).map(([name, value]) => [name, toCell(value)]);
  return `${await tableFor(['FIELD', 'VALUE'], rows)}\n${content.split('\n').map(shown).join('\n')}\n`;
}

function toCell(value: Memory[keyof Memory]): string {
  if (Array.isArray(value)) return value.join(', ') || '-';
  if (value === null) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
