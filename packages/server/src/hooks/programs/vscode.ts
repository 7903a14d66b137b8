import { readClaudeFormat, respondInClaudeFormat } from './claude-code.ts';
import type { Program } from './program.ts';

/**
 * VS Code: the events of Claude Code, with names of fields in camelCase. It also runs the hooks of Claude Code, so one
 * prompt may be reported twice. It passes no context on with a prompt.
 */
export const vscode: Program = {
  read: (body) => readClaudeFormat(body),
  respond: (event, context) => respondInClaudeFormat(event, context),
  takesContextOnPrompt: false,
};
