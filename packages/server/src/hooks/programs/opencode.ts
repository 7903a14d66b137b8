import { type Body, getItems, getText, type HookEvent, type Program } from './program.ts';

/**
 * OpenCode, by memoryd's own plugin. The body of each event has `event`, `session_id` and `directory`, and `parent_id` in
 * the session of a sub-agent.
 *
 * | event | when | further fields |
 * |---|---|---|
 * | `session.start` | before the first prompt of a session | |
 * | `chat.message` | a person sent a message | `message_id`; `parts` of OpenCode, or `text` |
 * | `session.compacted` | OpenCode has shortened its context | |
 * | `session.idle` | the agent has answered | `message_id` of the person's message; `answer` |
 *
 * The response is `{"context": "…"}`, or `{}` if there is nothing to give.
 */
export const opencode: Program = {
  read,
  respond: (_event, context) => (context === undefined ? {} : { context }),
  takesContextOnPrompt: true,
};

function read(body: Body): HookEvent | undefined {
  const session = getText(body, 'session_id');
  if (session === undefined) return undefined;
  const fields = {
    session,
    folder: getText(body, 'directory'),
    isByAgent: getText(body, 'parent_id') !== undefined,
  };
  const promptId = getText(body, 'message_id');
  switch (getText(body, 'event')) {
    case 'session.start':
      return { ...fields, kind: 'start', reset: false };
    case 'chat.message':
      return {
        ...fields,
        kind: 'prompt',
        promptId,
        text: withoutQuotes(getText(body, 'text') ?? joinParts(body)),
      };
    case 'session.compacted':
      return { ...fields, kind: 'compact' };
    case 'session.idle':
      return { ...fields, kind: 'turn-end', promptId, answer: getText(body, 'answer') ?? '' };
    default:
      return undefined;
  }
}

/** Joins the texts of the parts that a person typed; OpenCode and its plugins mark their own as synthetic. */
function joinParts(body: Body): string {
  const texts = getItems(body, 'parts').flatMap((part) => {
    const { type, text, synthetic } = (part ?? {}) as Body;
    return type === 'text' && typeof text === 'string' && synthetic !== true ? [text] : [];
  });
  return texts.join('\n');
}

/** Removes the quotes that `opencode run` puts around a prompt, and the backslashes before quotes in it. */
function withoutQuotes(text: string): string {
  const quoted = /^\s*"((?:[^"\\]|\\.)*)"\s*$/s.exec(text)?.[1];
  return quoted === undefined ? text : quoted.replaceAll('\\"', '"');
}
