import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import { serveCommand } from '../commands/serve.ts';
import { UsageError } from '../usage-error.ts';
import { SETTING_NAMES } from './names.ts';
import { readSettings, type Settings } from './read.ts';

/** Returns the settings that the command `serve` reads from a command line. */
async function getSettings(argv: string[], env: Record<string, string>): Promise<Settings | undefined> {
  let settings: Settings | undefined;
  const recordSettings = async (given: Settings) => {
    settings = given;
  };
  await runCommandLine(argv, env, [serveCommand(recordSettings)]);
  return settings;
}

/** Arguments, environment variables, and the expected error message. */
type Refusal = [argv: string[], env: Record<string, string>, message: string];

describe('settings', () => {
  it('settings have the documented defaults', () => {
    expect(readSettings({}, {})).toMatchObject({
      host: '127.0.0.1',
      port: 8090,
      embedder: 'minilm',
      embeddingUrl: 'https://api.openai.com/v1',
      consolidationIntervalSeconds: 3600,
      workingAgeSeconds: 3600,
      archiveDays: 30,
      workingMax: 10_000,
      episodicMax: 0,
      semanticMax: 0,
      maxBodyBytes: 1_048_576,
      maxAnswerBytes: 16_777_216,
      logLevel: 'info',
      logQueries: true,
      production: false,
    });
    expect(readSettings({}, {}).database.dbPath).toMatch(/memoryd[\\/](Data[\\/])?memory\.db$/);
    expect(readSettings({}, {}).corsOrigins).toBeUndefined();
    expect(readSettings({}, {}).embeddingApiKey).toBeUndefined();
    expect(readSettings({}, {})).toMatchObject({ llmUrl: '', llmModel: '' });
    expect(readSettings({}, {}).llmApiKey).toBeUndefined();
  });

  it('settings are read from environment variables and flags, and flags take precedence', async () => {
    const env = { SERVICE_PORT: '9000', SERVICE_LOG_QUERIES: 'false', NODE_ENV: 'production' };
    expect(readSettings({}, env)).toMatchObject({ port: 9000, logQueries: false, production: true });
    expect(await getSettings(['--port', '9001'], env)).toMatchObject({ port: 9001 });
    expect(await getSettings(['--port=9001'], { SERVICE_PORT: 'x' })).toMatchObject({ port: 9001 });
  });

  it('settings have a flag and an environment variable that are named after the key', () => {
    expect(SETTING_NAMES.find(({ key }) => key === 'consolidationIntervalSeconds')).toMatchObject({
      flag: '--consolidation-interval-seconds',
      env: 'SERVICE_CONSOLIDATION_INTERVAL_SECONDS',
    });
  });

  it('settings parse origins as a comma-separated list', () => {
    const origins = (text: string) => readSettings({}, { SERVICE_CORS_ORIGINS: text }).corsOrigins;
    expect(origins('https://a.example, HTTP://B.example:8080')).toEqual(['https://a.example', 'http://b.example:8080']);
    expect(origins('*')).toEqual(['*']);
    expect(origins('')).toEqual([]);
  });

  it('settings accept any model name after the colon of an embedder', async () => {
    for (const embedder of ['openai:nomic-embed-text:latest', 'openai:BAAI/bge-m3', 'transformers:/models/my model']) {
      expect(await getSettings(['--embedder', embedder], {})).toMatchObject({ embedder });
    }
  });

  it('settings accept the address and the key of an embedding server, and an empty key', async () => {
    const env = { SERVICE_EMBEDDING_URL: 'http://[::1]:11434/v1?version=1', SERVICE_EMBEDDING_API_KEY: 'sk-a/b+c=' };
    const given = { embeddingUrl: 'http://[::1]:11434/v1?version=1', embeddingApiKey: 'sk-a/b+c=' };
    expect(readSettings({}, env)).toMatchObject(given);
    expect(await getSettings(['--embedding-api-key', ''], env)).toMatchObject({ embeddingApiKey: '' });
  });

  it('settings keep spaces in prefixes, and distinguish an empty prefix from an absent one', async () => {
    const env = { SERVICE_EMBEDDER: 'transformers:e5', SERVICE_EMBEDDING_QUERY_PREFIX: 'query: ' };
    expect(readSettings({}, env)).toMatchObject({ embeddingQueryPrefix: 'query: ' });
    expect(readSettings({}, env)).not.toHaveProperty('embeddingPassagePrefix');
    const flags = ['--embedding-passage-prefix', '', '--embedding-pooling', 'last'];
    expect(await getSettings(flags, env)).toMatchObject({ embeddingPassagePrefix: '', embeddingPooling: 'last' });
    expect(await getSettings(['--embedder', 'openai:e5'], env)).toMatchObject({ embeddingQueryPrefix: 'query: ' });
    expect(readSettings({}, { SERVICE_EMBEDDING_QUERY_PREFIX: '' })).toMatchObject({ embedder: 'minilm' });
  });

  it('settings accept the address, the name and the key of a language model, or empty texts', async () => {
    const env = {
      SERVICE_LLM_URL: 'http://[::1]:11434/v1',
      SERVICE_LLM_MODEL: 'qwen3:8b',
      SERVICE_LLM_API_KEY: 'sk-1',
    };
    const given = { llmUrl: 'http://[::1]:11434/v1', llmModel: 'qwen3:8b', llmApiKey: 'sk-1' };
    expect(readSettings({}, env)).toMatchObject(given);
    const none = { SERVICE_LLM_URL: '', SERVICE_LLM_MODEL: '', SERVICE_LLM_API_KEY: '' };
    expect(readSettings({}, none)).toMatchObject({ llmUrl: '', llmModel: '', llmApiKey: '' });
  });

  it('settings accept the addresses of a PostgreSQL database and its replica', async () => {
    const address = 'postgres://ada:pass@db.example:5433/memories?sslmode=require';
    expect(readSettings({}, { SERVICE_DATABASE_URL: address }).database).toEqual({
      databaseUrl: address,
      databaseConnections: 10,
    });
    const flags = ['--database-read-url', 'postgresql://replica', '--database-connections', '4'];
    expect((await getSettings(flags, { SERVICE_DATABASE_URL: address }))?.database).toEqual({
      databaseUrl: address,
      databaseReadUrl: 'postgresql://replica',
      databaseConnections: 4,
    });
    const none = { SERVICE_DATABASE_URL: '', SERVICE_DATABASE_READ_URL: '', SERVICE_DB_PATH: 'm.db' };
    expect(readSettings({}, none).database).toEqual({
      dbPath: 'm.db',
    });
  });

  it.each([
    [['--llm-api-key=sk-sécret'], {}],
    [['--database-url', 'ada:sk-sécret@host/db'], {}],
    [['--database-url', 'postgres://ada:sk-sécret@host', '--db-path', 'm.db'], {}],
    [[], { SERVICE_DATABASE_URL: 'mysql://ada:sk-sécret@host/db' }],
    [[], { SERVICE_DATABASE_READ_URL: 'postgres://ada:sk-sécret@host/db' }],
    [[], { SERVICE_LLM_API_KEY: 'sk-sécret' }],
    [[], { SERVICE_LLM_URL: 'http://ada:sk-sécret@host' }],
    [['--embedding-api-key=sk-sécret'], {}],
    [['--embedding-api-kye=sk-sécret'], {}],
    [['--embedding-api-kye', 'sk-sécret'], {}],
    [['--embedding-key=sk-sécret'], {}],
    [[], { SERVICE_EMBEDDING_API_KEY: 'sk-sécret' }],
    [[], { SERVICE_EMBEDDING_URL: 'http://ada:sk-sécret@host' }],
  ])('settings do not repeat a secret in an error: flags %j, variables %j', async (argv, env) => {
    const error = await getSettings(argv, env).catch((refusal) => refusal);
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).not.toContain('sk-sécret');
  });

  it.each<Refusal>([
    [['--port', '80.5'], {}, '--port must be a whole number from 0 to 65535'],
    [['--port', '65536'], {}, '--port must be a whole number from 0 to 65535'],
    [[], { SERVICE_PORT: '' }, 'SERVICE_PORT must be a whole number from 0 to 65535'],
    [[], { SERVICE_LOG_QUERIES: 'yes' }, 'SERVICE_LOG_QUERIES must be true or false'],
    [
      [],
      { SERVICE_CORS_ORIGINS: 'a.example' },
      'SERVICE_CORS_ORIGINS must be * or origins such as https://app.example',
    ],
    ...[
      'https://a.example/',
      'https://a.example:443',
      'https://*.example',
      'https://u:p@a.example',
      'https://a.example?b',
    ].map((origin): Refusal => [[], { SERVICE_CORS_ORIGINS: origin }, 'SERVICE_CORS_ORIGINS must be * or origins']),
    [['--embedder', 'other'], {}, '--embedder must be minilm, none, openai:MODEL or transformers:MODEL'],
    [[], { SERVICE_EMBEDDER: 'openai' }, 'SERVICE_EMBEDDER must be minilm, none, openai:MODEL'],
    [[], { SERVICE_EMBEDDER: 'openai: ' }, 'SERVICE_EMBEDDER must be minilm, none, openai:MODEL'],
    [[], { SERVICE_EMBEDDER: 'transformers:' }, 'SERVICE_EMBEDDER must be minilm, none, openai:MODEL'],
    [[], { SERVICE_EMBEDDER: 'minilm:large' }, 'SERVICE_EMBEDDER must be minilm, none, openai:MODEL'],
    ...['localhost:11434/v1', 'ftp://host/v1', 'http://', 'http://host:70000/v1', 'http://ada:secret@host/v1'].map(
      (url): Refusal => [[], { SERVICE_EMBEDDING_URL: url }, 'SERVICE_EMBEDDING_URL must be an http or https address'],
    ),
    [['--embedding-api-key', 'top secret'], {}, '--embedding-api-key must be ASCII letters, digits and punctuation'],
    [
      ['--embedding-query-prefix', 'query: '],
      {},
      '--embedding-query-prefix needs an embedder openai:MODEL or transformers:MODEL, but SERVICE_EMBEDDER is minilm',
    ],
    [
      ['--embedder', 'openai:e5'],
      { SERVICE_EMBEDDING_POOLING: 'cls' },
      'SERVICE_EMBEDDING_POOLING needs an embedder transformers:MODEL, but --embedder is openai:e5',
    ],
    [
      ['--embedder', 'transformers:e5', '--embedding-query-input-type', 'query'],
      {},
      '--embedding-query-input-type needs an embedder openai:MODEL, but --embedder is transformers:e5',
    ],
    [
      ['--embedder', 'openai:e5'],
      { SERVICE_EMBEDDING_PASSAGE_INPUT_TYPE: 'search document' },
      'SERVICE_EMBEDDING_PASSAGE_INPUT_TYPE must be at most 64 ASCII letters, digits, underscores, hyphens and dots',
    ],
    [['--embedding-pooling', 'max'], {}, '--embedding-pooling must be one of mean, cls, last'],
    [
      ['--embedder', 'transformers:e5'],
      { SERVICE_EMBEDDING_PASSAGE_PREFIX: 'p'.repeat(257) },
      'SERVICE_EMBEDDING_PASSAGE_PREFIX must be a text of at most 256 characters',
    ],
    [[], { SERVICE_LLM_URL: 'localhost:11434' }, 'SERVICE_LLM_URL must be an http or https address'],
    [
      ['--llm-model', ' '],
      {},
      '--llm-model must be the name of a model, of at most 256 characters, without spaces at either end',
    ],
    [[], { SERVICE_LLM_API_KEY: 'top secret' }, 'SERVICE_LLM_API_KEY must be ASCII letters, digits and punctuation'],
    [[], { SERVICE_LLM_URL: 'http://host/v1' }, 'SERVICE_LLM_URL also needs SERVICE_LLM_MODEL'],
    [['--llm-model', 'qwen3'], {}, '--llm-model also needs --llm-url'],
    [[], { SERVICE_DATABASE_URL: 'localhost' }, 'SERVICE_DATABASE_URL must be an address such as postgres://'],
    [
      ['--database-url', 'postgres://host', '--db-path', 'm.db'],
      {},
      '--db-path and --database-url name two databases; set only one of them',
    ],
    [
      ['--db-path', 'm.db'],
      { SERVICE_DATABASE_URL: 'postgres://host' },
      '--db-path and SERVICE_DATABASE_URL name two databases; set only one of them',
    ],
    [
      [],
      { SERVICE_DATABASE_READ_URL: 'postgres://replica' },
      'SERVICE_DATABASE_READ_URL also needs SERVICE_DATABASE_URL',
    ],
    [['--prot', '1'], {}, "unknown option '--prot' (Did you mean --port?)"],
    [['--port'], {}, "option '--port <number>' argument missing"],
    [['8090'], {}, "unknown command '8090'"],
    [['serv'], {}, "unknown command 'serv' (Did you mean serve?)"],
    [['serve', 'more'], {}, 'too many arguments'],
  ])('settings reject the flags %j and variables %j with a one-line error', async (argv, env, message) => {
    const error = await getSettings(argv, env).catch((refusal) => refusal);
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('\n');
  });
});
