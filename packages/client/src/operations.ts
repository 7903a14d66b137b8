/** One operation of the HTTP interface. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path template with at most one parameter in braces. */
  path: string;
  /**
   * True if the duration grows with the number of memories. The timeout of one attempt does not apply to such
   * operations, only the timeout of the whole call.
   */
  slow?: true;
  /** Media type of the response. Defaults to JSON. */
  mediaType?: string;
}

/** Operations of the HTTP interface, by the names of the client's methods. */
export const OPERATIONS = {
  root: { method: 'GET', path: '/' },
  health: { method: 'GET', path: '/health' },
  metrics: { method: 'GET', path: '/metrics', mediaType: 'text/plain' },
  stats: { method: 'GET', path: '/stats' },
  store: { method: 'POST', path: '/store' },
  storeBatch: { method: 'POST', path: '/store/batch', slow: true },
  recall: { method: 'GET', path: '/recall' },
  recallByBody: { method: 'POST', path: '/recall' },
  context: { method: 'POST', path: '/context' },
  session: { method: 'GET', path: '/session/{session_id}' },
  sessions: { method: 'GET', path: '/sessions' },
  users: { method: 'GET', path: '/users' },
  memory: { method: 'GET', path: '/memories/{memory_id}' },
  history: { method: 'GET', path: '/memories/{memory_id}/history' },
  memories: { method: 'GET', path: '/memories' },
  facets: { method: 'GET', path: '/facets' },
  growth: { method: 'GET', path: '/growth' },
  map: { method: 'GET', path: '/map' },
  related: { method: 'GET', path: '/memories/{memory_id}/related' },
  recalls: { method: 'GET', path: '/recalls' },
  update: { method: 'PUT', path: '/update/{memory_id}' },
  updateMany: { method: 'PATCH', path: '/memories', slow: true },
  undoChange: { method: 'POST', path: '/changes/{id}/undo', slow: true },
  forget: { method: 'DELETE', path: '/forget/{memory_id}' },
  forgetMany: { method: 'DELETE', path: '/memories' },
  consolidate: { method: 'POST', path: '/consolidate', slow: true },
  consolidations: { method: 'GET', path: '/consolidations' },
  consolidation: { method: 'GET', path: '/consolidations/{id}' },
  undo: { method: 'POST', path: '/consolidations/{id}/undo', slow: true },
  corrections: { method: 'GET', path: '/corrections' },
  decideCorrection: { method: 'POST', path: '/corrections/{id}' },
  events: { method: 'GET', path: '/events', mediaType: 'text/event-stream' },
  exportMemories: { method: 'GET', path: '/export', slow: true, mediaType: 'application/x-ndjson' },
  importMemories: { method: 'POST', path: '/import', slow: true },
  importTexts: { method: 'POST', path: '/imports', slow: true },
  imports: { method: 'GET', path: '/imports' },
  undoImport: { method: 'DELETE', path: '/imports/{id}', slow: true },
  backup: { method: 'GET', path: '/backup', slow: true, mediaType: 'application/vnd.sqlite3' },
} as const satisfies Record<string, Operation>;
