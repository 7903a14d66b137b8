import { antigravity } from './antigravity.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { copilotCli } from './copilot-cli.ts';
import { cursor } from './cursor.ts';
import { geminiCli } from './gemini-cli.ts';
import { opencode } from './opencode.ts';
import type { Program } from './program.ts';
import { vscode } from './vscode.ts';

/** The agent programs whose hooks the service answers, by their name in the URL. */
export const PROGRAMS = {
  'claude-code': claudeCode,
  codex,
  'gemini-cli': geminiCli,
  antigravity,
  cursor,
  vscode,
  'copilot-cli': copilotCli,
  opencode,
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;

export const PROGRAM_NAMES = Object.keys(PROGRAMS) as ProgramName[];
