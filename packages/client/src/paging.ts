import type {
  Consolidation,
  ConsolidationChange,
  ConsolidationRequest,
  ConsolidationsRequest,
  Correction,
  CorrectionsRequest,
  HistoryRequest,
  Import,
  ImportsRequest,
  MemoriesRequest,
  Memory,
  MemoryApi,
  MemoryText,
  RecallsRequest,
  RememberedRecall,
  SessionMemory,
  SessionRequest,
  SessionSummary,
  SessionsRequest,
  UserSummary,
  UsersRequest,
} from '@memoryd/contract';

interface Page {
  next_cursor?: string;
}

/**
 * Iterator over all items of a paged list. Fetches a page when its first item is requested. `limit` of the request is
 * the page size.
 */
type Items<Item> = AsyncGenerator<Item, void, undefined>;

/**
 * Iterates over the memories that match the filter, by default newest first. In another `order` than `created`, pages are
 * read by their offset: changes during the iteration can move memories past it, and reading more than 10,000 memories
 * throws INVALID_REQUEST. By `use` and `retention`, the iteration has the newest 10,000 memories.
 */
export async function* eachMemory(memory: MemoryApi, request: MemoriesRequest = {}): Items<Memory> {
  const { offset: start = 0, ...others } = request;
  for (let next: MemoriesRequest | undefined = request, offset = start; next; ) {
    const { memories, total, ordered_count: count = total, next_cursor: cursor } = await memory.memories(next);
    yield* memories;
    offset += memories.length;
    if (cursor !== undefined) next = { ...others, cursor };
    else if ((others.order ?? 'created') === 'created' || memories.length === 0 || offset >= count) next = undefined;
    else next = { ...others, offset };
  }
}

/** Iterates over the sessions with memories that match the filter, ordered by session id and user. */
export function eachSession(memory: MemoryApi, request: SessionsRequest = {}): Items<SessionSummary> {
  return each(
    request,
    (page) => memory.sessions(page),
    ({ sessions }) => sessions,
  );
}

/** Iterates over the last recalls and given contexts, newest first, as far as they are remembered. */
export function eachRecall(memory: MemoryApi, request: RecallsRequest = {}): Items<RememberedRecall> {
  return each(
    request,
    (page) => memory.recalls(page),
    ({ recalls }) => recalls,
  );
}

/** Iterates over the users of the namespace, ordered by id. */
export function eachUser(memory: MemoryApi, request: UsersRequest = {}): Items<UserSummary> {
  return each(
    request,
    (page) => memory.users(page),
    ({ users }) => users,
  );
}

/** Iterates over the complete transcript of a session, oldest first. */
export function eachSessionMemory(memory: MemoryApi, request: SessionRequest): Items<SessionMemory> {
  return each(
    request,
    (page) => memory.session(page),
    ({ memories }) => memories,
  );
}

/** Iterates over the text history of a memory, oldest first. */
export function eachText(memory: MemoryApi, memoryId: string, request: HistoryRequest = {}): Items<MemoryText> {
  return each(
    request,
    (page) => memory.history(memoryId, page),
    ({ texts }) => texts,
  );
}

/** Iterates over the consolidation runs, newest first. */
export function eachConsolidation(memory: MemoryApi, request: ConsolidationsRequest = {}): Items<Consolidation> {
  return each(
    request,
    (page) => memory.consolidations(page),
    ({ consolidations }) => consolidations,
  );
}

/** Iterates over the suggested corrections in a state, latest first. */
export function eachCorrection(memory: MemoryApi, request: CorrectionsRequest = {}): Items<Correction> {
  return each(
    request,
    (page) => memory.corrections(page),
    ({ corrections }) => corrections,
  );
}

/** Iterates over the imports, newest first. */
export function eachImport(memory: MemoryApi, request: ImportsRequest = {}): Items<Import> {
  return each(
    request,
    (page) => memory.imports(page),
    ({ imports }) => imports,
  );
}

/** Iterates over the changes of a consolidation run, in the order in which the run made the changes. */
export function eachChange(memory: MemoryApi, request: ConsolidationRequest): Items<ConsolidationChange> {
  return each(
    request,
    (page) => memory.consolidation(page),
    ({ changes }) => changes,
  );
}

async function* each<Request extends { cursor?: string }, Response extends Page, Item>(
  request: Request,
  fetchPage: (request: Request) => Promise<Response>,
  getItems: (page: Response) => Item[],
): Items<Item> {
  for (let next: Request | undefined = request; next; ) {
    const page: Response = await fetchPage(next);
    yield* getItems(page);
    const { next_cursor: cursor } = page;
    next = cursor === undefined ? undefined : { ...request, cursor };
  }
}
