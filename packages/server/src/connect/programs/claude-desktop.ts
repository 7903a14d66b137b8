import { anyExists, getApplicationFolder } from '../machine.ts';
import type { AgentProgram } from '../types.ts';

/** The program takes a bundle that the person opens, and has no hooks; connect changes no file of the program. */
export const claudeDesktop: AgentProgram = {
  name: 'claude-desktop',
  title: 'Claude Desktop',
  isInstalled: (machine) => anyExists(getApplicationFolder(machine, 'Claude')),
  getEdits: () => [],
  getAdvice: () => ['Claude Desktop has no hooks: it stores and recalls memories only when the model calls a tool.'],
};
