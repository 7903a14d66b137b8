/** One operation of the HTTP interface. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With the name of at most one parameter in braces. */
  path: string;
  /** Its answer may take as long as the memories are many, so that only the whole time is limited. */
  slow?: true;
  /** The media type of its answer where that is not JSON. */
  answers?: string;
}

/** The operations of the interface, by the names that they have there and as methods of the client. */
export const OPERATIONS = {
  root: { method: 'GET', path: '/' },
  health: { method: 'GET', path: '/health' },
  metrics: { method: 'GET', path: '/metrics', answers: 'text/plain' },
  stats: { method: 'GET', path: '/stats' },
  store: { method: 'POST', path: '/store' },
  storeBatch: { method: 'POST', path: '/store/batch', slow: true },
  recall: { method: 'GET', path: '/recall' },
  session: { method: 'GET', path: '/session/{session_id}' },
  sessions: { method: 'GET', path: '/sessions' },
  users: { method: 'GET', path: '/users' },
  memory: { method: 'GET', path: '/memories/{memory_id}' },
  history: { method: 'GET', path: '/memories/{memory_id}/history' },
  memories: { method: 'GET', path: '/memories' },
  update: { method: 'PUT', path: '/update/{memory_id}' },
  forget: { method: 'DELETE', path: '/forget/{memory_id}' },
  forgetMany: { method: 'DELETE', path: '/memories' },
  consolidate: { method: 'POST', path: '/consolidate', slow: true },
  consolidations: { method: 'GET', path: '/consolidations' },
  consolidation: { method: 'GET', path: '/consolidations/{id}' },
  undo: { method: 'POST', path: '/consolidations/{id}/undo', slow: true },
  events: { method: 'GET', path: '/events', answers: 'text/event-stream' },
  exportMemories: { method: 'GET', path: '/export', slow: true, answers: 'application/x-ndjson' },
  importMemories: { method: 'POST', path: '/import', slow: true },
  backup: { method: 'GET', path: '/backup', slow: true, answers: 'application/vnd.sqlite3' },
} as const satisfies Record<string, Operation>;
