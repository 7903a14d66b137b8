import { readClaudeFormat, respondInClaudeFormat } from './claude-code.ts';
import type { Program } from './program.ts';

const NAMES = { prompt: 'BeforeAgent', turnEnd: 'AfterAgent', compact: 'PreCompress' };

/** Gemini CLI: `SessionStart`, `BeforeAgent`, `AfterAgent` and `PreCompress`. Prompts have no id. */
export const geminiCli: Program = {
  read: (body) => readClaudeFormat(body, NAMES),
  respond: (event, context) => respondInClaudeFormat(event, context, NAMES),
  takesContextOnPrompt: true,
};
