import { StoreRequest, StoreResponse } from '../store.ts';
import { formatId } from './listing.ts';
import { tool } from './tool.ts';

const DESCRIPTION = `Keeps one memory for later conversations. Store what will still matter then: facts about people
and projects, preferences, decisions and their reasons, plans, results, mistakes not to repeat. Leave out small talk,
what is quickly looked up, and secrets such as passwords. Store each fact on its own, so that it can be understood
without this conversation: names instead of pronouns, dates instead of "yesterday" ("Ada moved to Oslo in March 2026").
Recall first, to see whether it is known already. When a fact has changed, store the new one with \`supersedes\`, the id
of the old one: recall then ranks it above the old one. Give everything of one conversation or project the same
\`session_id\`, which also makes each part of it easier to find.`;

export const store = tool({
  name: 'store',
  title: 'Store a memory',
  description: DESCRIPTION,
  scope: 'write',
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: StoreRequest,
  output: StoreResponse,
  call: (api, args, options) => api.store(args, options),
  text: ({ id, created }) =>
    created === false
      ? `Stored in the memory that has this external_id. Its id is ${formatId(id)}.`
      : `Stored. Its id is ${formatId(id)}.`,
});
