import { describe, expect, it } from 'vitest';
import type { Answer } from './http.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_TIMEZONE: 'UTC' } });

let users = 0;
/** Returns a user without memories. */
const createUser = () => `user ${users++}`;

interface HookParameters {
  program?: string;
  user?: string;
  query?: string;
  headers?: Record<string, string>;
}

/** Sends the body of a hook. The deadline is long, because tests share a slow machine. */
function callHook(body: unknown, { program = 'claude-code', user, query = '', headers = {} }: HookParameters = {}) {
  const owner = user === undefined ? '' : `&user_id=${encodeURIComponent(user)}`;
  const path = `/hooks/${program}?deadline_ms=10000${owner}${query}`;
  return memoryd.send<object>({ method: 'POST', path, json: body, headers });
}

const start = (session_id: string, fields: object = {}) => ({
  ...{ session_id, hook_event_name: 'SessionStart', source: 'startup', cwd: '/home/ada/garden' },
  ...fields,
});

let prompts = 0;
const prompt = (session_id: string, text: string, fields: object = {}) => ({
  ...{ session_id, hook_event_name: 'UserPromptSubmit', prompt: text, prompt_id: `prompt ${prompts++}` },
  ...{ cwd: '/home/ada/garden', permission_mode: 'default' },
  ...fields,
});

/** Returns the context in a response in the format of Claude Code; empty without one. */
function getContext({ body }: Answer<object>): string {
  const { hookSpecificOutput } = body as { hookSpecificOutput?: { additionalContext: string } };
  return hookSpecificOutput?.additionalContext ?? '';
}

describe('POST /hooks/claude-code', () => {
  it('stores a prompt, and gives it to a later session of the same project and user', async () => {
    const user = createUser();
    const first = await callHook(prompt('a', 'The narwhal figurine stands in the hall.'), { user });
    expect(first.body).toEqual({});
    const { memories } = await memoryd.memories(`user_id=${encodeURIComponent(user)}`);
    expect(memories).toHaveLength(1);
    expect(memories[0]).toMatchObject({
      ...{ content: 'The narwhal figurine stands in the hall.', source: 'claude-code', session_id: 'claude-code:a' },
      ...{
        tags: ['role:user', 'project:garden'],
        metadata: { project: expect.stringMatching(/^garden-[0-9a-f]{8}$/) },
      },
    });
    const second = await callHook(prompt('b', 'Where does the narwhal figurine stand?'), { user });
    expect(second.body).toEqual({
      hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: expect.any(String) },
    });
    expect(getContext(second)).toContain('stands in the hall.');
    const again = await callHook(prompt('b', 'Where is the narwhal figurine of mine?'), { user });
    expect(getContext(again)).toBe('');
  });

  it('gives the newest statements at the start of a session', async () => {
    const user = createUser();
    await callHook(prompt('a', 'The narwhal figurine stands in the hall.'), { user });
    const { body } = await callHook(start('b'), { user });
    expect(body).toEqual({
      hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: expect.stringContaining('narwhal') },
    });
  });
});
