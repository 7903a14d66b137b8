import { join } from 'node:path';
import { getPackageVersion, loadPackage } from './packages.ts';
import type { Peer, PeerKind } from './peer.ts';
import { fuseRanks } from './rank-fusion.ts';
import { getWords } from './words.ts';

interface Statement {
  run(...values: unknown[]): { lastInsertRowid: number | bigint };
  all(...values: unknown[]): Record<string, unknown>[];
  get(...values: unknown[]): Record<string, unknown> | undefined;
}

interface Database {
  pragma(text: string): unknown;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  transaction<T>(run: (argument: T) => void): (argument: T) => void;
  close(): void;
}

const CANDIDATES = 50;

/** A typical hand-written solution: SQLite's full-text index and sqlite-vec in one file, with rank fusion. */
export function sqliteHybrid(): PeerKind {
  return {
    name: 'sqlite-hybrid',
    version: `better-sqlite3 ${getPackageVersion('better-sqlite3')}, sqlite-vec ${getPackageVersion('sqlite-vec')}`,
    use: `in this process; stores 1,000 memories per transaction (WAL); FTS5 with the Porter stemmer, any of the question's words, bm25(); vec0 float[384]; the best ${CANDIDATES} of each, reciprocal rank fusion with k = 60`,
    batchSize: 1000,
    usesSharedVectors: true,
    async open({ folder, embedder }): Promise<Peer> {
      const database = openDatabase(join(folder, 'memories.db'), embedder.dimensions);
      const statements = prepare(database);
      const insert = database.transaction((contents: string[]) => {
        for (const content of contents) {
          const { lastInsertRowid } = statements.insertMemory.run(content);
          statements.insertWords.run(lastInsertRowid, content);
          statements.insertVector.run(BigInt(lastInsertRowid), embedder.prepared(content));
        }
      });
      const getIds = (rows: Record<string, unknown>[]): number[] => rows.map(({ id }) => Number(id));
      return {
        async store(memories) {
          insert(memories.map(({ content }) => content));
        },
        async recall(query, k) {
          const words = getWords(query).map((word) => `"${word}"`);
          const byWords = words.length > 0 ? getIds(statements.byWords.all(words.join(' OR '), CANDIDATES)) : [];
          const byVector = getIds(statements.byVector.all(await embedder.queryVector(query), CANDIDATES));
          return fuseRanks([byWords, byVector])
            .slice(0, k)
            .map((id) => String(statements.content.get(id)?.content));
        },
        async close() {
          database.close();
        },
      };
    },
  };
}

function openDatabase(path: string, dimensions: number): Database {
  const BetterSqlite = loadPackage<new (path: string) => Database>('better-sqlite3');
  const database = new BetterSqlite(path);
  loadPackage<{ load(database: Database): void }>('sqlite-vec').load(database);
  database.pragma('journal_mode = WAL');
  database.exec(`
    CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT NOT NULL);
    CREATE VIRTUAL TABLE words USING fts5(content, content='memories', content_rowid='id', tokenize='porter unicode61');
    CREATE VIRTUAL TABLE vectors USING vec0(embedding float[${dimensions}]);
  `);
  return database;
}

type Action = 'insertMemory' | 'insertWords' | 'insertVector' | 'byWords' | 'byVector' | 'content';

function prepare(database: Database): Record<Action, Statement> {
  return {
    insertMemory: database.prepare('INSERT INTO memories (content) VALUES (?)'),
    insertWords: database.prepare('INSERT INTO words (rowid, content) VALUES (?, ?)'),
    insertVector: database.prepare('INSERT INTO vectors (rowid, embedding) VALUES (?, ?)'),
    byWords: database.prepare('SELECT rowid AS id FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?'),
    byVector: database.prepare('SELECT rowid AS id FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance'),
    content: database.prepare('SELECT content FROM memories WHERE id = ?'),
  };
}
