import type {
  ConsolidateResponse,
  ConsolidationResponse,
  ConsolidationsResponse,
  ForgetManyResponse,
  ForgetResponse,
  MemoriesResponse,
  Memory,
  RecallResponse,
  SessionResponse,
  StatsResponse,
  StoreRequest,
  UpdateRequest,
} from '@memoryd/contract';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Answer, type Request, send } from './http.ts';
import { eventually, type ProcessOptions, type ServerProcess, startProcess } from './process.ts';
import { type RunningServer, type ServerOptions, startServer } from './server.ts';

/** Settings of a server without an embedder and without scheduled consolidation. Makes tests fast and deterministic. */
export const WORDS_ONLY = { SERVICE_EMBEDDER: 'none', SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

/** Client of a server under test. All methods except `send`, `update`, `undo` and `getStatus` expect success. */
export class Client<Server extends RunningServer = RunningServer> {
  readonly #server: () => Server;

  constructor(server: () => Server) {
    this.#server = server;
  }

  get server(): Server {
    return this.#server();
  }

  /** Sends a request. Fails the test on a 500, which no request may cause. */
  async send<Body = unknown>(request: Request): Promise<Answer<Body>> {
    const answer = await send<Body>(this.server.port, request);
    expect(answer.status, `${request.method ?? 'GET'} ${request.path}: ${answer.text.slice(0, 400)}`).not.toBe(500);
    return answer;
  }

  /** Sends a request and expects a 200. */
  async ok<Body>(request: Request): Promise<Body> {
    const answer = await this.send<Body>(request);
    expect(answer.status, `${request.method ?? 'GET'} ${request.path}: ${answer.text.slice(0, 400)}`).toBe(200);
    return answer.body;
  }

  get<Body>(path: string): Promise<Body> {
    return this.ok<Body>({ path });
  }

  /** Stores a memory and returns its id. */
  async store(memory: StoreRequest, headers: Record<string, string> = {}): Promise<string> {
    const { id } = await this.ok<{ id: string }>({ method: 'POST', path: '/store', json: memory, headers });
    return id;
  }

  /** Stores memories concurrently. Returns their ids in the order of `memories`. */
  storeAll(memories: StoreRequest[]): Promise<string[]> {
    return Promise.all(memories.map((memory) => this.store(memory)));
  }

  /** Stores memories one after the other. */
  async storeInOrder(memories: StoreRequest[]): Promise<string[]> {
    const ids: string[] = [];
    for (const memory of memories) ids.push(await this.store(memory));
    return ids;
  }

  memory(id: string): Promise<Memory> {
    return this.get<Memory>(`/memories/${encodeURIComponent(id)}`);
  }

  async etag(id: string): Promise<string> {
    const answer = await this.send({ path: `/memories/${encodeURIComponent(id)}` });
    expect(answer.status).toBe(200);
    return answer.headers.etag ?? '';
  }

  async getStatus(id: string): Promise<number> {
    return (await this.send({ path: `/memories/${encodeURIComponent(id)}` })).status;
  }

  /** Recalls with the query and further parameters, such as `'top_k=3&tag=a'`. */
  recall(query: string, parameters = ''): Promise<RecallResponse> {
    const more = parameters === '' ? '' : `&${parameters}`;
    return this.get<RecallResponse>(`/recall?query=${encodeURIComponent(query)}${more}`);
  }

  /** Returns the ids of the recalled memories, best first. */
  async recalled(query: string, parameters = ''): Promise<string[]> {
    return (await this.recall(query, parameters)).results.map((result) => result.id);
  }

  session(sessionId: string, parameters = ''): Promise<SessionResponse> {
    return this.get<SessionResponse>(`/session/${encodeURIComponent(sessionId)}?${parameters}`);
  }

  memories(parameters = ''): Promise<MemoriesResponse> {
    return this.get<MemoriesResponse>(`/memories?${parameters}`);
  }

  update(id: string, change: UpdateRequest, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send({ method: 'PUT', path: `/update/${encodeURIComponent(id)}`, json: change, headers });
  }

  forget(id: string): Promise<ForgetResponse> {
    return this.ok<ForgetResponse>({ method: 'DELETE', path: `/forget/${encodeURIComponent(id)}` });
  }

  forgetMany(parameters: string): Promise<ForgetManyResponse> {
    return this.ok<ForgetManyResponse>({ method: 'DELETE', path: `/memories?${parameters}` });
  }

  consolidate(parameters = ''): Promise<ConsolidateResponse> {
    return this.ok<ConsolidateResponse>({ method: 'POST', path: `/consolidate?${parameters}` });
  }

  consolidations(parameters = ''): Promise<ConsolidationsResponse> {
    return this.get<ConsolidationsResponse>(`/consolidations?${parameters}`);
  }

  consolidation(id: string, parameters = ''): Promise<ConsolidationResponse> {
    return this.get<ConsolidationResponse>(`/consolidations/${encodeURIComponent(id)}?${parameters}`);
  }

  undo(id: string): Promise<Answer> {
    return this.send({ method: 'POST', path: `/consolidations/${encodeURIComponent(id)}/undo` });
  }

  stats(): Promise<StatsResponse> {
    return this.get<StatsResponse>('/stats');
  }

  /** Waits until every memory has its vectors. Claims of a killed server on pending memories expire after 30 seconds. */
  async embedded(): Promise<void> {
    await eventually('all vectors', 45_000, async () => {
      return (await this.stats()).pending_embeddings === 0 ? true : undefined;
    });
  }
}

/**
 * Starts a server in the test process before all tests of the calling block and stops it after them. Asserts that it
 * shuts down gracefully and wrote only log records.
 */
export function useServer(options: ServerOptions = {}): Client {
  let running: RunningServer | undefined;
  beforeAll(async () => {
    running = await startServer(options);
  });
  afterAll(async () => {
    if (running) await expectCleanEnd(running);
  });
  return new Client(() => {
    if (!running)
      throw new Error('the server is not running yet: use it in a hook or a test, not in the describe block itself');
    return running;
  });
}

/** Starts a server in the test process. The calling test must stop it. */
export async function startClient(options: ServerOptions = {}): Promise<Client> {
  const running = await startServer(options);
  return new Client(() => running);
}

/** Starts a server process. The calling test must stop it. */
export async function startProcessClient(options: ProcessOptions = {}): Promise<Client<ServerProcess>> {
  const running = await startProcess(options);
  return new Client(() => running);
}

/** Stops a server and asserts that it shuts down gracefully and wrote only log records. */
export async function expectCleanEnd(server: RunningServer): Promise<void> {
  const { code, stderr } = await server.stop();
  expect(code, stderr).toBe(0);
  expect(() => server.records(), 'not a log record').not.toThrow();
}
