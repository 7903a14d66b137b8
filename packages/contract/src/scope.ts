import { AgentId, UserId } from './field.ts';
import Type from './typebox.ts';

/** The user and the agent of a memory as responses tell of them, to be spread into what tells of memories. */
export const ownerFields = {
  user_id: Type.Optional(Type.String({ ...UserId, description: 'Its user; absent where all users share it.' })),
  agent_id: Type.Optional(Type.String({ ...AgentId, description: 'Its agent; absent where all agents share it.' })),
};

/** The user and the agent that a write is limited to, to be spread into requests. */
export const ownScopeFields = {
  user_id: Type.Optional(Type.String({ ...UserId, description: 'Only memories of this user.' })),
  agent_id: Type.Optional(Type.String({ ...AgentId, description: 'Only memories of this agent.' })),
};

/** The user and the agent that a request is limited to, to be spread into requests. */
export const scopeFields = {
  ...ownScopeFields,
  shared: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'With `user_id`, memories without a user too; with `agent_id`, memories without an agent too.',
      'x-must': 'be true or false',
    }),
  ),
};

/** Limits a request to the memories of one user, of one agent, or of one agent for one user. */
export const ScopeRequest = Type.Object(scopeFields, { additionalProperties: false });
export type ScopeRequest = Type.Static<typeof ScopeRequest>;

/** Limits a write in the same way; no write changes shared memories by the way. */
export const OwnScopeRequest = Type.Object(ownScopeFields, { additionalProperties: false });
export type OwnScopeRequest = Type.Static<typeof OwnScopeRequest>;
