import { readClaudeFormat, respondInClaudeFormat } from './claude-code.ts';
import type { Program } from './program.ts';

/** Codex: the events of Claude Code, with `turn_id` for the id of a prompt. */
export const codex: Program = {
  read: (body) => readClaudeFormat(body),
  respond: (event, context) => respondInClaudeFormat(event, context),
  takesContextOnPrompt: true,
  // Codex cuts a longer text.
  maxTokens: 2500,
};
