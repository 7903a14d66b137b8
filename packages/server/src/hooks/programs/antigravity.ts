import { type Body, getText, getWorkspace, type HookEvent, type Program } from './program.ts';

/**
 * Antigravity: `PreInvocation` and `Stop`. `PreInvocation` precedes each call of the model, so it is reported several
 * times in a turn, and what it injects is for one call. The prompt is not in the body but in the file `transcriptPath`,
 * which the service never opens: a hook may add it as `prompt`, with `prompt_id`, and the last answer as `answer`.
 * Without a prompt, nothing is stored, and a context is given once, at the start of a conversation.
 */
export const antigravity: Program = {
  read,
  respond: (_event, context) => (context === undefined ? {} : { injectSteps: [{ ephemeralMessage: context }] }),
  takesContextOnPrompt: true,
};

function read(body: Body): HookEvent | undefined {
  const session = getText(body, 'conversationId', 'conversation_id', 'session_id');
  if (session === undefined) return undefined;
  const fields = { session, ...getWorkspace(body, 'workspacePaths') };
  const promptId = getText(body, 'prompt_id', 'promptId');
  const text = getText(body, 'prompt');
  const answer = getText(body, 'answer');
  const name = getText(body, 'hook_event_name', 'hookEventName') ?? (answer === undefined ? 'PreInvocation' : 'Stop');
  if (name === 'Stop') return { ...fields, kind: 'turn-end', promptId, answer: answer ?? '' };
  if (name !== 'PreInvocation') return undefined;
  if (text !== undefined) return { ...fields, kind: 'prompt', promptId, text: toRequest(text), isRepeated: true };
  return { ...fields, kind: 'start', reset: false, isRepeated: true };
}

/** Returns the part of a prompt that the person typed. Antigravity adds its own blocks before and after it. */
function toRequest(text: string): string {
  return /<USER_REQUEST>(.*?)(?:<\/USER_REQUEST>|$)/s.exec(text)?.[1] ?? text;
}
