import type { ImportFormat } from '@memoryd/contract';
import type { Format } from '../format.ts';
import { chatgpt } from './chatgpt.ts';
import { claude } from './claude.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { csv } from './csv.ts';
import { geminiCli } from './gemini-cli.ts';
import { jsonl } from './jsonl.ts';
import { letta } from './letta.ts';
import { markdown } from './markdown.ts';
import { mcpMemory } from './mcp-memory.ts';
import { mem0 } from './mem0.ts';
import { zep } from './zep.ts';

/** All formats of other programs, in the order in which they are tried: those with the most specific content first. */
export const FORMATS: readonly Format[] = [
  claudeCode,
  codex,
  geminiCli,
  chatgpt,
  claude,
  letta,
  mcpMemory,
  mem0,
  zep,
  markdown,
  csv,
  jsonl,
];

/** Formats without fields of their own. Detection ignores them if a source has another format. */
export const GENERAL_FORMATS: ReadonlySet<ImportFormat> = new Set(['markdown', 'csv', 'jsonl']);
