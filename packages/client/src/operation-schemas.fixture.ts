import * as contract from '@memoryd/contract';
import type { Static, TSchema } from 'typebox';
import { expectTypeOf } from 'vitest';
import type { MemoryClient } from './client.ts';
import type { OPERATIONS } from './operations.ts';

/** What an operation takes and answers. A request holds what stands in its path, query string and body. */
interface OperationSchemas {
  request?: TSchema;
  /** The fields of a method's last argument that stand in the query string. */
  options?: TSchema;
  response: TSchema;
}

/** The contract's schemas of every operation that speaks JSON; events answer a stream of theirs. */
export const SCHEMAS = {
  root: { response: contract.RootResponse },
  health: { response: contract.HealthResponse },
  stats: { options: contract.ScopeRequest, response: contract.StatsResponse },
  store: { request: contract.StoreRequest, response: contract.StoreResponse },
  storeBatch: { request: contract.StoreBatchRequest, response: contract.StoreBatchResponse },
  recall: { request: contract.RecallRequest, response: contract.RecallResponse },
  session: { request: contract.SessionRequest, response: contract.SessionResponse },
  sessions: { request: contract.SessionsRequest, response: contract.SessionsResponse },
  users: { request: contract.UsersRequest, response: contract.UsersResponse },
  memory: { options: contract.ScopeRequest, response: contract.Memory },
  history: { request: contract.HistoryRequest, response: contract.HistoryResponse },
  memories: { request: contract.MemoriesRequest, response: contract.MemoriesResponse },
  update: { request: contract.UpdateRequest, response: contract.UpdateResponse },
  forget: { options: contract.OwnScopeRequest, response: contract.ForgetResponse },
  forgetMany: { request: contract.ForgetManyRequest, response: contract.ForgetManyResponse },
  consolidate: { request: contract.ConsolidateRequest, response: contract.ConsolidateResponse },
  consolidations: { request: contract.ConsolidationsRequest, response: contract.ConsolidationsResponse },
  consolidation: { request: contract.ConsolidationRequest, response: contract.ConsolidationResponse },
  undo: { response: contract.UndoResponse },
  events: { request: contract.EventsRequest, response: contract.MemoryEvent },
  importMemories: { options: contract.OwnScopeRequest, response: contract.ImportResponse },
} as const satisfies Partial<Record<keyof typeof OPERATIONS, OperationSchemas>>;

type Schemas = typeof SCHEMAS;
type Operation = keyof Schemas;

/** What a method of the client answers, or streams. */
type Answer<Name extends Operation> =
  ReturnType<MemoryClient[Name]> extends AsyncIterable<infer Item> ? Item : Awaited<ReturnType<MemoryClient[Name]>>;

/** The request among a method's arguments, which stands after an id where there is one. */
type Request<Name extends Operation> = NonNullable<
  Parameters<MemoryClient[Name]> extends [string, infer Second, ...unknown[]]
    ? Second
    : Parameters<MemoryClient[Name]>[Name extends 'history' ? 1 : 0]
>;

type Answers = { [Name in Operation]: Answer<Name> };
type SchemaAnswers = { [Name in Operation]: Static<Schemas[Name]['response']> };
expectTypeOf<Answers>().toEqualTypeOf<SchemaAnswers>();

type Requesting = { [Name in Operation]: Schemas[Name] extends { request: TSchema } ? Name : never }[Operation];
type Requests = { [Name in Requesting]: Request<Name> };
type SchemaRequests = { [Name in Requesting]: Static<Schemas[Name]['request']> };
expectTypeOf<Requests>().toEqualTypeOf<SchemaRequests>();

expectTypeOf<MemoryClient>().toExtend<contract.MemoryApi>();
