import type {
  Consolidation,
  ConsolidationChange,
  ConsolidationRequest,
  ConsolidationsRequest,
  HistoryRequest,
  MemoriesRequest,
  Memory,
  MemoryApi,
  MemoryText,
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

/** One item after the other, each page asked for when its first item is. `limit` is the size of a page. */
type Items<Item> = AsyncGenerator<Item, void, undefined>;

/** Every memory that passes the filter, newest first. */
export function eachMemory(memory: MemoryApi, request: MemoriesRequest = {}): Items<Memory> {
  return each(
    request,
    (page) => memory.memories(page),
    ({ memories }) => memories,
  );
}

/** Every session with memories that pass the filter, in the order of their ids. */
export function eachSession(memory: MemoryApi, request: SessionsRequest = {}): Items<SessionSummary> {
  return each(
    request,
    (page) => memory.sessions(page),
    ({ sessions }) => sessions,
  );
}

/** Every user of the namespace, in the order of their ids. */
export function eachUser(memory: MemoryApi, request: UsersRequest = {}): Items<UserSummary> {
  return each(
    request,
    (page) => memory.users(page),
    ({ users }) => users,
  );
}

/** A session's whole transcript, oldest first. */
export function eachSessionMemory(memory: MemoryApi, request: SessionRequest): Items<SessionMemory> {
  return each(
    request,
    (page) => memory.session(page),
    ({ memories }) => memories,
  );
}

/** Every text that a memory has had, oldest first. */
export function eachText(memory: MemoryApi, memoryId: string, request: HistoryRequest = {}): Items<MemoryText> {
  return each(
    request,
    (page) => memory.history(memoryId, page),
    ({ texts }) => texts,
  );
}

/** Every run of consolidation, newest first. */
export function eachConsolidation(memory: MemoryApi, request: ConsolidationsRequest = {}): Items<Consolidation> {
  return each(
    request,
    (page) => memory.consolidations(page),
    ({ consolidations }) => consolidations,
  );
}

/** Everything that a run of consolidation did, in order. */
export function eachChange(memory: MemoryApi, request: ConsolidationRequest): Items<ConsolidationChange> {
  return each(
    request,
    (page) => memory.consolidation(page),
    ({ changes }) => changes,
  );
}

async function* each<Request extends { cursor?: string }, Answer extends Page, Item>(
  request: Request,
  ask: (request: Request) => Promise<Answer>,
  getItems: (answer: Answer) => Item[],
): Items<Item> {
  for (let next: Request | undefined = request; next; ) {
    const answer: Answer = await ask(next);
    yield* getItems(answer);
    const { next_cursor: cursor } = answer;
    next = cursor === undefined ? undefined : { ...request, cursor };
  }
}
