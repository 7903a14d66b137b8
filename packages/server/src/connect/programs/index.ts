import type { AgentProgram, ProgramName } from '../types.ts';
import { antigravity } from './antigravity.ts';
import { claudeCode } from './claude-code.ts';
import { claudeDesktop } from './claude-desktop.ts';
import { codex } from './codex.ts';
import { copilotCli } from './copilot-cli.ts';
import { cursor } from './cursor.ts';
import { geminiCli } from './gemini-cli.ts';
import { openCode } from './opencode.ts';
import { vscode } from './vscode.ts';

/** All programs that `memoryd connect` knows. */
export const AGENT_PROGRAMS: Readonly<Record<ProgramName, AgentProgram>> = {
  'claude-code': claudeCode,
  codex,
  'gemini-cli': geminiCli,
  antigravity,
  opencode: openCode,
  cursor,
  vscode,
  'copilot-cli': copilotCli,
  'claude-desktop': claudeDesktop,
};
