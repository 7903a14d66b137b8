import { type Body, getItems, getText, getTime, type HookEvent, type Program } from './program.ts';

/** Ways in which a session starts without what the program was given before. */
const LOST = new Set(['compact', 'clear', 'resume']);

/** Values of `source` of a prompt that no person sent. The field may be absent. */
const AUTOMATIC = new Set(['system', 'loop_wakeup', 'schedule_wakeup', 'poll_event']);

/** The events with which programs that follow the hooks of Claude Code report prompts and answers. */
interface Names {
  prompt: string;
  turnEnd: string;
  compact: string;
}

const NAMES: Names = { prompt: 'UserPromptSubmit', turnEnd: 'Stop', compact: 'PreCompact' };

/** Reads an event in the format of Claude Code. Names of fields may be in camelCase. */
export function readClaudeFormat(body: Body, names: Names = NAMES): HookEvent | undefined {
  const session = getText(body, 'session_id', 'sessionId');
  if (session === undefined) return undefined;
  const fields = {
    session,
    folder: getText(body, 'cwd'),
    // Inside a sub-agent only; `agent_type` alone names the agent of a whole session.
    isByAgent: getText(body, 'agent_id', 'agentId') !== undefined,
  };
  const promptId = getText(body, 'prompt_id', 'promptId', 'turn_id', 'turnId');
  const at = getTime(body, 'timestamp');
  switch (getText(body, 'hook_event_name', 'hookEventName')) {
    case 'SessionStart':
      return { ...fields, kind: 'start', reset: LOST.has(getText(body, 'source') ?? '') };
    case names.compact:
      return { ...fields, kind: 'compact' };
    case names.prompt: {
      const isAutomatic = AUTOMATIC.has(getText(body, 'source') ?? '');
      return { ...fields, kind: 'prompt', promptId, at, text: getText(body, 'prompt') ?? '', isAutomatic };
    }
    case names.turnEnd: {
      const answer = getText(body, 'last_assistant_message', 'lastAssistantMessage', 'prompt_response') ?? '';
      const scheduled = getItems(body, 'session_crons').flatMap(
        (task) => getText((task ?? {}) as Body, 'prompt') ?? [],
      );
      return { ...fields, kind: 'turn-end', promptId, answer, scheduled };
    }
    default:
      return undefined;
  }
}

/** Returns the response of a hook of Claude Code. Codex refuses a response with any other key. */
export function respondInClaudeFormat(
  event: HookEvent,
  context: string | undefined,
  { prompt }: Pick<Names, 'prompt'> = NAMES,
): object {
  if (context === undefined) return {};
  const hookEventName = event.kind === 'start' ? 'SessionStart' : prompt;
  return { hookSpecificOutput: { hookEventName, additionalContext: context } };
}

/** Claude Code: `SessionStart`, `UserPromptSubmit`, `Stop` and `PreCompact`. */
export const claudeCode: Program = {
  read: (body) => readClaudeFormat(body),
  respond: (event, context) => respondInClaudeFormat(event, context),
  takesContextOnPrompt: true,
  // Claude Code replaces a longer text by a part of it and the path of a file.
  maxChars: 10_000,
};
