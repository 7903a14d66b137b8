import type { AgentProgram, Connection, FileEdit, Machine, ProgramName } from '../types.ts';
import { antigravity } from './antigravity.ts';
import { claudeCode } from './claude-code.ts';
import { claudeDesktop } from './claude-desktop.ts';
import { codex } from './codex.ts';
import { copilotCli } from './copilot-cli.ts';
import { cursor } from './cursor.ts';
import { geminiCli } from './gemini-cli.ts';
import { getIgnoreEdits } from './ignored-files.ts';
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

/** Returns all changes of files that connect a program. Throws a UsageError if the program has no files for a project. */
export function getConnectionEdits(connection: Connection, machine: Machine): FileEdit[] {
  const { program, project } = connection;
  const edits = AGENT_PROGRAMS[program].getEdits(connection, machine);
  if (project === undefined) return edits;
  return [...edits, ...getIgnoreEdits(machine, project, [...new Set(edits.map(({ path }) => path))])];
}
