import { join } from 'node:path';
import { getCanonicalTimeZone, TIME_ZONE_MUST } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import {
  ENGINE_DEFAULTS,
  ENGINE_RANGES,
  INPUT_TYPE_MUST,
  isInputType,
  isPostgresAddress,
  MAX_PREFIX_LENGTH,
  POOLINGS,
  RERANK_FORMS,
} from '@memoryd/engine/defaults';
import envPaths from 'env-paths';

interface WholeNumber {
  /** The unit in error messages. */
  unit?: 'milliseconds' | 'seconds' | 'days' | 'bytes' | 'megabytes' | undefined;
  minimum: number;
  maximum: number;
  default: number;
  'x-default-text'?: string;
  description: string;
}

/** Returns the schema of an integer setting. */
function wholeNumber({ unit, ...options }: WholeNumber) {
  const { minimum, maximum } = options;
  const number = unit ? `a whole number of ${unit}` : 'a whole number';
  return Type.Integer({ ...options, 'x-must': `be ${number} from ${minimum} to ${maximum}` });
}

/** Returns the schema of an integer setting of the engine, with the engine's range and default. */
function engineNumber(key: keyof typeof ENGINE_RANGES, description: string, unit?: WholeNumber['unit']) {
  const [minimum, maximum] = ENGINE_RANGES[key];
  return wholeNumber({ unit, minimum, maximum, default: ENGINE_DEFAULTS[key], description });
}

/** Returns the schema of a number of threads, whose default depends on the machine. */
function engineThreads(key: 'searchThreads' | 'modelThreads', description: string, defaultText: string) {
  const [minimum, maximum] = ENGINE_RANGES[key];
  return wholeNumber({ minimum, maximum, default: ENGINE_DEFAULTS[key], description, 'x-default-text': defaultText });
}

/** Returns the schema of the maximum size of a tier. */
function tierMax(tier: 'episodic' | 'semantic') {
  return engineNumber(
    `${tier}Max`,
    `Maximum ${tier} memories of a namespace. Above it, a consolidation evicts those with the lowest retention; 0 is unlimited.`,
  );
}

/** Returns the schema of a PostgreSQL address; an empty text means no database address. */
function databaseAddress(description: string) {
  return Type.Refine(
    Type.String({
      default: '',
      'x-default-text': 'none',
      description,
      'x-must': 'be an address such as postgres://user:password@127.0.0.1:5432/memoryd',
    }),
    (text) => text === '' || isPostgresAddress(text),
  );
}

/** Returns the schema of a prefix that an embedder adds to each text. */
function embeddingPrefix(texts: string, example: string) {
  return Type.Optional(
    Type.String({
      maxLength: MAX_PREFIX_LENGTH,
      'x-default-text': "the model's own",
      description:
        `Prefix of each ${texts} for \`openai:MODEL\` or \`transformers:MODEL\`, such as \`${example}\`; an empty text means ` +
        'no prefix. By default, the prefix in the configuration of a local model, else none.',
      'x-must': `be a text of at most ${MAX_PREFIX_LENGTH} characters`,
    }),
  );
}

/** Returns the schema of the field `input_type` in embedding requests. */
function embeddingInputType(texts: string, examples: string) {
  return Type.Optional(
    Type.Refine(
      Type.String({
        'x-default-text': 'none',
        description:
          `Value of the field \`input_type\` in the requests of \`openai:MODEL\` for ${texts}, such as ${examples}; an empty ` +
          'text omits the field.',
        'x-must': INPUT_TYPE_MUST,
      }),
      isInputType,
    ),
  );
}

/**
 * All settings with their defaults, ranges and descriptions. Flags, environment variables, the keys of the settings
 * file, the reference page and error messages are derived from this schema.
 */
export const SettingsSchema = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      default: '127.0.0.1',
      description: 'Address to listen on.',
      'x-must': 'be a host name or an IP address',
    }),
    port: wholeNumber({
      minimum: 0,
      maximum: 65_535,
      default: 8090,
      description: 'Port to listen on; 0 selects a free port.',
    }),
    dbPath: Type.String({
      minLength: 1,
      default: join(envPaths('memoryd', { suffix: '' }).data, 'memory.db'),
      'x-default-text': '`memoryd/memory.db` under the XDG data folder (`~/.local/share`)',
      'x-value': 'path',
      description: 'Path of the database file. Missing folders are created.',
      'x-must': 'be a path',
    }),
    url: Type.Refine(
      Type.String({
        default: '',
        'x-default-text': 'none',
        description:
          'Address of a running memoryd, such as `http://127.0.0.1:8090`, that commands use instead of opening a database. ' +
          'The flags `--db-path` and `--database-url` override `SERVICE_URL` and the settings file, and cannot be combined ' +
          'with `--url`. `memoryd serve` ignores this setting, but then creates no database ' +
          'at the default path.',
        'x-must': 'be an http or https address such as http://127.0.0.1:8090, without a user name or password',
      }),
      (text) => text === '' || isPlainHttpUrl(text),
    ),
    databaseUrl: databaseAddress(
      'Address of a PostgreSQL database with pgvector, instead of a file: `postgres://USER:PASSWORD@HOST:PORT/NAME`. Several ' +
        'hosts (`HOST:PORT,HOST:PORT`) are servers of the same database; `target_session_attrs=read-write` selects the ' +
        'primary. Other users of the machine may read a flag; the password can also be in `PGPASSWORD` or `~/.pgpass`.',
    ),
    databaseReadUrl: databaseAddress(
      'Address of a replica of that database. Recall reads from the replica if it has all writes of this server.',
    ),
    databaseConnections: wholeNumber({
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: 'Maximum concurrent connections to the PostgreSQL database; the same limit applies to the replica.',
    }),
    corsOrigins: Type.Optional(
      Type.Array(Type.Refine(Type.String(), isOrigin), {
        'x-default-text': 'every origin in development, none in production',
        description:
          'Origins, separated by commas, whose web pages may call the service; `*` means every origin, an empty text none.',
        'x-must':
          'be * or origins such as https://app.example, separated by commas, in lower case, without a path or a default port',
      }),
    ),
    apiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        minLength: 32,
        maxLength: 512,
        'x-default-text': 'none',
        description:
          'An API key with the scope `operate` for the namespace `default`, in addition to the keys of `memoryd keys`. If ' +
          'set, every caller needs a key. Other users of the machine may read a flag.',
        'x-must':
          'be 32 to 512 ASCII letters, digits and punctuation characters without spaces; create a secure key with ' +
          '`openssl rand -hex 32`',
      }),
    ),
    maxConnections: wholeNumber({
      minimum: 1,
      maximum: 100_000,
      default: 1024,
      description:
        'Maximum open connections. At the limit, a new connection closes the one that has been idle for longest. If none ' +
        'is idle, the new connection serves only `/health`, `/livez`, `/readyz` and `/metrics`.',
    }),
    maxConnectionsPerAddress: wholeNumber({
      minimum: 0,
      maximum: 100_000,
      default: 512,
      description: 'Maximum open connections from one address; 0 is unlimited.',
    }),
    maxEventStreams: engineNumber('maxEventStreams', 'Maximum open streams of `GET /events`.'),
    maxEventStreamsPerNamespace: engineNumber(
      'maxEventStreamsPerNamespace',
      'Maximum open streams of `GET /events` per namespace.',
    ),
    // A single agent that sends one request at a time stays far below this default.
    rateLimit: wholeNumber({
      minimum: 0,
      maximum: 10_000_000,
      default: 60_000,
      description:
        'Maximum requests per minute with one API key; 0 is unlimited. Requests without a key are not limited.',
    }),
    embedder: Type.String({
      pattern: '^(minilm|none|(openai|transformers):\\S(.*\\S)?)$',
      default: ENGINE_DEFAULTS.embedder,
      'x-value': 'minilm|none|openai:MODEL|transformers:MODEL',
      description:
        '`minilm`: recall by words and by meaning with the bundled model. `none`: recall by words only. `openai:MODEL`: a ' +
        'model of a server with the OpenAI embeddings protocol. `transformers:MODEL`: a folder with ONNX weights or a ' +
        'model of the Hugging Face hub, run by the package `@huggingface/transformers`.',
      'x-must': 'be minilm, none, openai:MODEL or transformers:MODEL, where MODEL has no spaces at either end',
    }),
    tokenStates: Type.Enum(['on', 'off'], {
      default: 'on',
      description:
        'Whether the state of each token (32 bytes) is stored for each memory with the bundled model, which improves ' +
        'ranking. Changing this setting re-embeds all memories.',
      'x-must': 'be on or off',
    }),
    tokenStatesCacheBytes: engineNumber(
      'tokenStatesCacheBytes',
      'Limit of the token states of a database file that each search thread has in memory. Other states are read from the ' +
        'file by each recall that needs them. `memoryd doctor --url` tells whether all fit.',
      'bytes',
    ),
    searchThreads: engineThreads(
      'searchThreads',
      'Maximum threads that search a database file. A further one starts when a search has to wait, and takes about ' +
        '50 MB, and for each memory 400 bytes and its cached token states.',
      '1 below four cores, otherwise 2',
    ),
    modelThreads: engineThreads(
      'modelThreads',
      'Maximum threads of the bundled model. A further one starts when a query has to wait, and takes about 60 MB.',
      '1 below four cores, otherwise 2',
    ),
    embeddingUrl: Type.Refine(
      Type.String({
        default: ENGINE_DEFAULTS.embeddingUrl,
        description: 'Address of the server of `openai:MODEL`, without `/embeddings`.',
        'x-must': 'be an http or https address such as http://127.0.0.1:11434/v1, without a user name or password',
      }),
      isPlainHttpUrl,
    ),
    embeddingApiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        'x-default-text': 'none',
        description: 'API key for the server of `openai:MODEL`. Other users of the machine may read a flag.',
        'x-must': 'be ASCII letters, digits and punctuation characters without spaces',
      }),
    ),
    embeddingQueryPrefix: embeddingPrefix('query', 'query: '),
    embeddingPassagePrefix: embeddingPrefix('memory', 'passage: '),
    embeddingPooling: Type.Optional(
      Type.Enum([...POOLINGS], {
        'x-default-text': "the model's own",
        description:
          'How `transformers:MODEL` pools the token vectors of a text: the `mean` of all, the first token (`cls`) or the ' +
          '`last` token. By default, the pooling in the configuration of a local model, else `mean`.',
        'x-must': `be one of ${POOLINGS.join(', ')}`,
      }),
    ),
    embeddingQueryInputType: embeddingInputType('queries', '`query` or `search_query`'),
    embeddingPassageInputType: embeddingInputType('memories', '`passage` or `search_document`'),
    llmUrl: Type.Refine(
      Type.String({
        default: '',
        'x-default-text': 'none',
        description:
          'Address of a server with the OpenAI chat protocol, without `/chat/completions`. Its language model distils ' +
          'semantic memories, and receives the texts of memories. Without a model, or if it fails, distillation quotes ' +
          'sentences.',
        'x-must': 'be an http or https address such as http://127.0.0.1:11434/v1, without a user name or password',
      }),
      (text) => text === '' || isPlainHttpUrl(text),
    ),
    llmModel: Type.String({
      pattern: '^(\\S(.*\\S)?)?$',
      maxLength: 256,
      default: '',
      'x-default-text': 'none',
      description: 'Name of the language model; requires `--llm-url`.',
      'x-must': 'be the name of a model, of at most 256 characters, without spaces at either end',
    }),
    llmApiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        'x-default-text': 'none',
        description: "API key for the language model's server. Other users of the machine may read a flag.",
        'x-must': 'be ASCII letters, digits and punctuation characters without spaces',
      }),
    ),
    rerankUrl: Type.Refine(
      Type.String({
        default: '',
        'x-default-text': 'none',
        description:
          'Whole address of the endpoint of a reranker, whose scores become part of the ranking. It receives queries and ' +
          'texts of memories. If it fails or is late, results are those without a reranker.',
        'x-must': 'be an http or https address such as http://127.0.0.1:8080/rerank, without a user name or password',
      }),
      (text) => text === '' || isPlainHttpUrl(text),
    ),
    rerankForm: Type.Enum([...RERANK_FORMS], {
      default: ENGINE_DEFAULTS.rerankForm,
      description:
        'Form of the requests to the reranker: `tei` for Text Embeddings Inference, `cohere` for Cohere, Jina, vLLM and ' +
        'llama.cpp.',
      'x-must': `be one of ${RERANK_FORMS.join(', ')}`,
    }),
    rerankModel: Type.String({
      pattern: '^(\\S(.*\\S)?)?$',
      maxLength: 256,
      default: '',
      'x-default-text': 'none',
      description: 'Name of the reranker at its server, if the server has several; requires `--rerank-url`.',
      'x-must': 'be the name of a model, of at most 256 characters, without spaces at either end',
    }),
    rerankTimeoutMs: engineNumber(
      'rerankTimeoutMs',
      'Milliseconds for which a recall waits for the reranker before it returns results without it.',
      'milliseconds',
    ),
    rerankApiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        'x-default-text': 'none',
        description: "API key for the reranker's server. Other users of the machine may read a flag.",
        'x-must': 'be ASCII letters, digits and punctuation characters without spaces',
      }),
    ),
    redact: Type.Enum(['on', 'off'], {
      default: 'off',
      description:
        'Whether keys, tokens, passwords and payment card numbers are replaced by `[redacted:KIND]` in memories, before ' +
        'they are written, embedded or logged, and in queries. Responses to writes report replacements in `redacted`.',
      'x-must': 'be on or off',
    }),
    redactImports: Type.Enum(['on', 'off'], {
      default: 'on',
      description:
        'Whether imports of files of other programs replace secrets in the same way, although `redact` is off. The query ' +
        'parameter `redact` of `POST /import` and `POST /imports` overrides it.',
      'x-must': 'be on or off',
    }),
    timezone: Type.Optional(
      Type.Refine(
        Type.String({
          'x-default-text': '`UTC`; for `memoryd mcp`, the time zone of the process',
          description:
            'Time zone (IANA name) for dates such as "yesterday" in queries without a `timezone`, and for the times that ' +
            'models read over the Model Context Protocol.',
          'x-must': TIME_ZONE_MUST,
        }),
        (text) => getCanonicalTimeZone(text) !== undefined,
      ),
    ),
    consolidationIntervalSeconds: engineNumber(
      'consolidationIntervalSeconds',
      'Interval between automatic consolidations in seconds; 0 turns them off.',
      'seconds',
    ),
    workingAgeSeconds: engineNumber(
      'workingAgeSeconds',
      'Age in seconds at which an automatic consolidation promotes a working memory.',
      'seconds',
    ),
    archiveDays: engineNumber(
      'archiveDays',
      'Days for which evicted memories and records of consolidations are stored, and consolidations can be undone.',
      'days',
    ),
    workingMax: engineNumber(
      'workingMax',
      'Maximum working memories of a namespace. Above three quarters of it, the oldest are promoted at once.',
    ),
    episodicMax: tierMax('episodic'),
    semanticMax: tierMax('semantic'),
    namespaceMaxMemories: engineNumber(
      'namespaceMaxMemories',
      'Maximum memories of a namespace without its own quota, including memories that are hidden until they are deleted; 0 ' +
        'is unlimited. Semantic memories are not counted.',
    ),
    namespaceMaxBytes: engineNumber(
      'namespaceMaxBytes',
      'Maximum bytes of text (UTF-8) of the same memories, including earlier versions and attachments; 0 is unlimited. ' +
        'Tags and metadata are not counted.',
      'bytes',
    ),
    userMaxMemories: engineNumber(
      'userMaxMemories',
      'Maximum memories of a user without their own quota in one namespace, counted in the same way; 0 is unlimited.',
    ),
    userMaxBytes: engineNumber(
      'userMaxBytes',
      'Maximum bytes of text (UTF-8) of the same memories, including earlier versions and attachments; 0 is unlimited.',
      'bytes',
    ),
    maxBodyBytes: wholeNumber({
      unit: 'bytes',
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      default: 1024 * 1024,
      description: 'Maximum size of a request body in bytes.',
    }),
    maxBatchBodyBytes: wholeNumber({
      unit: 'bytes',
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      default: 16 * 1024 * 1024,
      description:
        'Maximum size of the body of a batch in bytes. A text in it may be at most as large as a single request body.',
    }),
    importMaxMb: wholeNumber({
      unit: 'megabytes',
      minimum: 1,
      maximum: 1_000_000,
      default: 2048,
      description:
        'Maximum size in megabytes of a file of another program that `POST /import` receives. The file is stored beside ' +
        'the database file, or in the temporary folder for a PostgreSQL database, until the import ends.',
    }),
    maxAnswerBytes: engineNumber('maxAnswerBytes', 'Maximum bytes of memory content in one response.', 'bytes'),
    slowClientSeconds: wholeNumber({
      unit: 'seconds',
      minimum: 1,
      maximum: 600,
      default: 30,
      description:
        'Timeout in seconds for receiving a complete request, and for a client that reads nothing of a response.',
    }),
    memoryLimitMb: wholeNumber({
      unit: 'megabytes',
      minimum: 0,
      maximum: 100_000_000,
      default: 0,
      'x-default-text': 'nine tenths of the memory of the machine or container',
      description:
        'Resident memory in megabytes above which requests are refused with status 503; 0 selects the default.',
    }),
    dbSizeAlertMb: wholeNumber({
      unit: 'megabytes',
      minimum: 1,
      maximum: 1_000_000_000,
      default: 5000,
      description: 'Database size in megabytes above which the alert `DatabaseLarge` fires.',
    }),
    logLevel: Type.Enum(['debug', 'info', 'warn', 'error'], {
      default: 'info',
      description: 'Minimum level of log records: `debug`, `info`, `warn` or `error`.',
      'x-must': 'be one of debug, info, warn, error',
    }),
    accessLog: Type.Boolean({
      default: false,
      description:
        'Whether each request is logged with its method, path, status, duration, namespace, key id and address.',
      'x-must': 'be true or false',
    }),
    logQueries: Type.Boolean({
      default: true,
      description:
        'Whether log records of recalls contain the text of the query, and `GET /recalls` lists the last recalls of this process.',
      'x-must': 'be true or false',
    }),
  },
  { additionalProperties: false },
);

// Uses a parser, because a pattern would accept invalid addresses, such as an address with a port that is too large.
function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

/**
 * Returns true for `*`, and for an origin in the form that browsers send. Browser extensions have their own schemes.
 */
function isOrigin(text: string): boolean {
  if (text.includes('*')) return text === '*';
  if (/^https?:/.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/.test(text);
}

/** Values of all settings, before the database settings are combined. */
export type SettingValues = Type.Static<typeof SettingsSchema>;

export type SettingKey = keyof typeof SettingsSchema.properties;
