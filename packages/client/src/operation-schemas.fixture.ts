import * as contract from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import type { Static, TSchema } from 'typebox';
import { expectTypeOf } from 'vitest';
import type { MemoryClient } from './client.ts';
import type { OPERATIONS } from './operations.ts';

/** Schemas of an operation. A request combines the fields of path, query string and body. */
interface OperationSchemas {
  request?: TSchema;
  /** Fields of a method's last argument that are sent in the query string. */
  options?: TSchema;
  /** One line of a streamed body. */
  line?: TSchema;
  response: TSchema;
}

/** Schemas of all JSON operations. The response schema of `events` is the schema of one event. */
export const SCHEMAS = {
  root: { response: contract.RootResponse },
  health: { response: contract.HealthResponse },
  stats: { options: contract.ScopeRequest, response: contract.StatsResponse },
  store: { request: contract.StoreRequest, response: contract.StoreResponse },
  storeBatch: { request: contract.StoreBatchRequest, response: contract.StoreBatchResponse },
  recall: { request: contract.RecallRequest, response: contract.RecallResponse },
  context: { request: contract.ContextRequest, response: contract.ContextResponse },
  session: { request: contract.SessionRequest, response: contract.SessionResponse },
  sessions: { request: contract.SessionsRequest, response: contract.SessionsResponse },
  users: { request: contract.UsersRequest, response: contract.UsersResponse },
  memory: { options: contract.ScopeRequest, response: contract.Memory },
  history: { request: contract.HistoryRequest, response: contract.HistoryResponse },
  memories: { request: contract.MemoriesRequest, response: contract.MemoriesResponse },
  facets: { request: contract.FacetsRequest, response: contract.FacetsResponse },
  growth: { request: contract.GrowthRequest, response: contract.GrowthResponse },
  map: { request: contract.MapRequest, response: contract.MapResponse },
  related: { request: contract.RelatedRequest, response: contract.RelatedResponse },
  recalls: { request: contract.RecallsRequest, response: contract.RecallsResponse },
  update: { request: contract.UpdateRequest, response: contract.UpdateResponse },
  updateMany: {
    request: contract.MemoryChanges,
    options: contract.MemorySelection,
    response: contract.UpdateManyResponse,
  },
  undoChange: { options: contract.OwnScopeRequest, response: contract.UndoChangeResponse },
  forget: { options: contract.OwnScopeRequest, response: contract.ForgetResponse },
  forgetMany: { request: contract.ForgetManyRequest, response: contract.ForgetManyResponse },
  consolidate: { request: contract.ConsolidateRequest, response: contract.ConsolidateResponse },
  consolidations: { request: contract.ConsolidationsRequest, response: contract.ConsolidationsResponse },
  consolidation: { request: contract.ConsolidationRequest, response: contract.ConsolidationResponse },
  undo: { request: contract.UndoRequest, response: contract.UndoResponse },
  corrections: { request: contract.CorrectionsRequest, response: contract.CorrectionsResponse },
  decideCorrection: {
    request: contract.DecideCorrectionRequest,
    options: contract.OwnScopeRequest,
    response: contract.DecideCorrectionResponse,
  },
  events: { request: contract.EventsRequest, response: contract.MemoryEvent },
  importMemories: { options: contract.OwnScopeRequest, response: contract.ImportResponse },
  importFile: {
    request: contract.ImportFileRequest,
    response: Type.Union([contract.ImportResponse, contract.FileImportResponse]),
  },
  importTexts: {
    request: contract.ImportTextsRequest,
    line: contract.ImportedText,
    response: contract.ImportTextsResponse,
  },
  imports: { request: contract.ImportsRequest, response: contract.ImportsResponse },
  undoImport: { options: contract.OwnScopeRequest, response: contract.UndoImportResponse },
} as const satisfies Partial<Record<keyof typeof OPERATIONS | 'importFile', OperationSchemas>>;

type Schemas = typeof SCHEMAS;
type Operation = keyof Schemas;

/** Result of a client method. For a method that returns a stream, one item of the stream. */
type Result<Name extends Operation> =
  ReturnType<MemoryClient[Name]> extends AsyncIterable<infer Item> ? Item : Awaited<ReturnType<MemoryClient[Name]>>;

/** Request argument of a method: the second argument if the first argument is an id or a stream, otherwise the first. */
type Request<Name extends Operation> = NonNullable<
  Parameters<MemoryClient[Name]> extends [string, infer Second, ...unknown[]]
    ? Second
    : Parameters<MemoryClient[Name]>[Name extends
        | 'history'
        | 'related'
        | 'undo'
        | 'importTexts'
        | 'importFile'
        | 'updateMany'
        ? 1
        : 0]
>;

type Results = { [Name in Operation]: Result<Name> };
type SchemaResults = { [Name in Operation]: Static<Schemas[Name]['response']> };
expectTypeOf<Results>().toEqualTypeOf<SchemaResults>();

type OperationWithRequest = {
  [Name in Operation]: Schemas[Name] extends { request: TSchema } ? Name : never;
}[Operation];
type Requests = { [Name in OperationWithRequest]: Request<Name> };
type SchemaRequests = { [Name in OperationWithRequest]: Static<Schemas[Name]['request']> };
expectTypeOf<Requests>().toEqualTypeOf<SchemaRequests>();

expectTypeOf<MemoryClient>().toExtend<contract.MemoryApi>();
