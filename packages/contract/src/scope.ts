import { AgentId, UserId } from './field.ts';
import Type from './typebox.ts';

/** User and agent fields of a memory in a response. Spread into response schemas. */
export const ownerFields = {
  user_id: Type.Optional(
    Type.String({
      ...UserId,
      description: 'The user that the memory belongs to. Absent if all users share the memory.',
    }),
  ),
  agent_id: Type.Optional(
    Type.String({
      ...AgentId,
      description: 'The agent that the memory belongs to. Absent if all agents share the memory.',
    }),
  ),
};

/** User and agent that limit a write. Spread into request schemas. */
export const ownScopeFields = {
  user_id: Type.Optional(Type.String({ ...UserId, description: 'Only memories of this user.' })),
  agent_id: Type.Optional(Type.String({ ...AgentId, description: 'Only memories of this agent.' })),
};

/** User and agent that limit a read. Spread into request schemas. */
export const scopeFields = {
  ...ownScopeFields,
  shared: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'With `user_id`, include memories without a user. With `agent_id`, include memories without an agent.',
      'x-must': 'be true or false',
    }),
  ),
};

/** Limits a request to the memories of one user, of one agent, or of one agent for one user. */
export const ScopeRequest = Type.Object(scopeFields, { additionalProperties: false });
export type ScopeRequest = Type.Static<typeof ScopeRequest>;

/**
 * Limits a write to the memories of one user, of one agent, or of one agent for one user. A scoped write never changes
 * shared memories, so this schema has no field `shared`.
 */
export const OwnScopeRequest = Type.Object(ownScopeFields, { additionalProperties: false });
export type OwnScopeRequest = Type.Static<typeof OwnScopeRequest>;
