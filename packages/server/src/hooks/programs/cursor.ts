import { type Body, getText, getWorkspace, type HookEvent, type Program } from './program.ts';

/** Cursor: `sessionStart`, `beforeSubmitPrompt`, `afterAgentResponse` and `preCompact`. */
export const cursor: Program = {
  read,
  respond: (event, context) => ({
    continue: true,
    ...(event.kind === 'start' && context !== undefined && { additional_context: context }),
  }),
  takesContextOnPrompt: false,
};

function read(body: Body): HookEvent | undefined {
  const session = getText(body, 'conversation_id', 'session_id');
  if (session === undefined) return undefined;
  const fields = { session, ...getWorkspace(body, 'workspace_roots') };
  const promptId = getText(body, 'generation_id');
  switch (getText(body, 'hook_event_name')) {
    case 'sessionStart':
      return { ...fields, kind: 'start', reset: false };
    case 'beforeSubmitPrompt':
      return { ...fields, kind: 'prompt', promptId, text: getText(body, 'prompt') ?? '' };
    case 'afterAgentResponse':
      return { ...fields, kind: 'turn-end', promptId, answer: getText(body, 'text') ?? '' };
    case 'preCompact':
      return { ...fields, kind: 'compact' };
    default:
      return undefined;
  }
}
