import { readClaudeFormat } from './claude-code.ts';
import { type Body, getText, getTime, type HookEvent, type Program } from './program.ts';

/**
 * GitHub Copilot CLI. Its own events (`sessionStart`, `userPromptSubmitted`, `agentStop`) have no name in the body, so
 * that they are told apart by their fields; events in the format of VS Code have one. The text of an answer is not
 * among the documented fields.
 */
export const copilotCli: Program = {
  read: (body) =>
    getText(body, 'hook_event_name', 'hookEventName') === undefined ? read(body) : readClaudeFormat(body),
  respond: (_event, context) => (context === undefined ? {} : { additionalContext: context }),
  takesContextOnPrompt: true,
};

function read(body: Body): HookEvent | undefined {
  const folder = getText(body, 'cwd');
  // Early versions send no id of the session: the folder stands for it, and each start begins it again.
  const session = getText(body, 'sessionId', 'session_id') ?? folder;
  if (session === undefined) return undefined;
  const fields = { session, folder };
  const at = getTime(body, 'timestamp');
  const text = getText(body, 'prompt');
  if (text !== undefined) return { ...fields, kind: 'prompt', at, text };
  const source = getText(body, 'source');
  if (source !== undefined) return { ...fields, kind: 'start', reset: source === 'resume' || session === folder };
  if (getText(body, 'stopReason') === undefined) return undefined;
  return { ...fields, kind: 'turn-end', answer: getText(body, 'lastAssistantMessage') ?? '' };
}
