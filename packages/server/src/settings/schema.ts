import { join } from 'node:path';
import { TIME_ZONE_MUST } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import {
  ENGINE_DEFAULTS,
  ENGINE_RANGES,
  isPostgresAddress,
  MAX_PREFIX_LENGTH,
  POOLINGS,
} from '@memoryd/engine/defaults';
import envPaths from 'env-paths';

interface WholeNumber {
  /** What it counts, where its name does not tell. */
  unit?: 'seconds' | 'days' | 'bytes' | 'megabytes' | undefined;
  minimum: number;
  maximum: number;
  default: number;
  'x-default-text'?: string;
  description: string;
}

/** A setting that is a whole number of a range. */
function wholeNumber({ unit, ...options }: WholeNumber) {
  const { minimum, maximum } = options;
  const number = unit ? `a whole number of ${unit}` : 'a whole number';
  return Type.Integer({ ...options, 'x-must': `be ${number} from ${minimum} to ${maximum}` });
}

/** Such a setting of the engine. */
function engineNumber(key: keyof typeof ENGINE_RANGES, description: string, unit?: WholeNumber['unit']) {
  const [minimum, maximum] = ENGINE_RANGES[key];
  return wholeNumber({ unit, minimum, maximum, default: ENGINE_DEFAULTS[key], description });
}

/** The largest size of a tier that consolidation sees to. */
function tierMax(tier: 'episodic' | 'semantic') {
  return engineNumber(
    `${tier}Max`,
    `Most ${tier} memories of a namespace, beyond which a consolidation evicts those retained least; 0 is any number.`,
  );
}

/** The address of a PostgreSQL database; an empty text is none. */
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

/** The text that an embedder puts before each text of a kind. */
function embeddingPrefix(texts: string, example: string) {
  return Type.Optional(
    Type.String({
      maxLength: MAX_PREFIX_LENGTH,
      'x-default-text': "the model's own",
      description:
        `Text that \`openai:MODEL\` or \`transformers:MODEL\` gets before each ${texts}, such as \`${example}\`; an empty ` +
        'text is no prefix. By default, the folder of a model says which, and other models get none.',
      'x-must': `be a text of at most ${MAX_PREFIX_LENGTH} characters`,
    }),
  );
}

/**
 * Every setting: the one place that knows their defaults, ranges and descriptions. Flags, environment names,
 * the keys of the settings file, the reference page and the messages at start follow from it.
 */
export const SettingsSchema = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      default: '127.0.0.1',
      description: 'Address to listen on.',
      'x-must': 'be a host name or an address',
    }),
    port: wholeNumber({
      minimum: 0,
      maximum: 65_535,
      default: 8090,
      description: 'Port to listen on; 0 takes any free one.',
    }),
    dbPath: Type.String({
      minLength: 1,
      default: join(envPaths('memoryd', { suffix: '' }).data, 'memory.db'),
      'x-default-text': '`memoryd/memory.db` under the XDG data folder (`~/.local/share`)',
      'x-value': 'path',
      description: 'Path of the database file; its folders are made.',
      'x-must': 'be a path',
    }),
    url: Type.Refine(
      Type.String({
        default: '',
        'x-default-text': 'none',
        description:
          'Address of a running memoryd, such as `http://127.0.0.1:8090`, that commands ask instead of opening a database. ' +
          '`--db-path` or `--database-url` as a flag wins over `SERVICE_URL` and the settings file, and is refused beside `--url`. ' +
          'It is nothing to the service itself.',
        'x-must': 'be an http or https address such as http://127.0.0.1:8090, without a user name',
      }),
      (text) => text === '' || isPlainHttpUrl(text),
    ),
    databaseUrl: databaseAddress(
      'Address of a PostgreSQL database with pgvector, instead of a file: `postgres://USER:PASSWORD@HOST:PORT/NAME`. Several ' +
        'hosts, as `HOST:PORT,HOST:PORT`, are servers of one database, of which `target_session_attrs=read-write` takes the primary. As a ' +
        'flag, other users of the machine may read it; the password may also stand in `PGPASSWORD` or `~/.pgpass`.',
    ),
    databaseReadUrl: databaseAddress(
      'Address of a replica of that database, which recall asks as far as it is up to date with what this server wrote.',
    ),
    databaseConnections: wholeNumber({
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: 'Most connections to the PostgreSQL database, and as many to its replica, at a time.',
    }),
    corsOrigins: Type.Optional(
      Type.Array(Type.Refine(Type.String(), isOrigin), {
        'x-default-text': 'every origin in development, none in production',
        description: 'Origins, separated by commas, whose web pages may call; `*` is every origin, an empty text none.',
        'x-must': 'be origins such as https://app.example, separated by commas',
      }),
    ),
    apiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        minLength: 32,
        maxLength: 512,
        'x-default-text': 'none',
        description:
          'One API key that may operate the namespace `default`, beside those of `memoryd keys`; with it, every caller ' +
          'needs a key. As a flag, other users of the machine may read it.',
        'x-must':
          'be 32 to 512 letters, digits and signs of ASCII without blanks (whoever guesses it may do everything; ' +
          '`openssl rand -hex 32` makes one that nobody guesses)',
      }),
    ),
    maxConnections: wholeNumber({
      minimum: 1,
      maximum: 100_000,
      default: 1024,
      description:
        'Most connections at a time. For another one, the connection that has been idle for longest is closed; if none is idle, requests are refused but for `/health`, `/livez`, `/readyz` and `/metrics`.',
    }),
    maxConnectionsPerAddress: wholeNumber({
      minimum: 0,
      maximum: 100_000,
      default: 512,
      description: 'Most of these connections from one address; 0 is any number.',
    }),
    maxEventStreams: engineNumber('maxEventStreams', 'Most streams of `GET /events` that are open at a time.'),
    maxEventStreamsPerNamespace: engineNumber(
      'maxEventStreamsPerNamespace',
      'Most streams of `GET /events` of one namespace that are open at a time.',
    ),
    // One agent that asks one thing after the other does not come near it.
    rateLimit: wholeNumber({
      minimum: 0,
      maximum: 10_000_000,
      default: 60_000,
      description: 'Most requests a minute with one API key; 0 is any number. Requests without a key are not limited.',
    }),
    embedder: Type.String({
      pattern: '^(minilm|none|(openai|transformers):\\S(.*\\S)?)$',
      default: ENGINE_DEFAULTS.embedder,
      'x-value': 'minilm|none|openai:MODEL|transformers:MODEL',
      description:
        '`minilm`: recall by words and by meaning, with the bundled model. `none`: by words alone. `openai:MODEL`: a ' +
        'model behind the OpenAI embeddings protocol. `transformers:MODEL`: a folder of ONNX weights or a model of the ' +
        'Hugging Face hub, run by the package `@huggingface/transformers`.',
      'x-must': 'be minilm, none, openai:MODEL or transformers:MODEL',
    }),
    tokenStates: Type.Enum(['on', 'off'], {
      default: 'on',
      description:
        '`off`: of each memory the bundled model keeps the vectors alone and not the states of its tokens, 32 bytes each. ' +
        'Recall then ranks without them. To switch has everything embedded anew.',
      'x-must': 'be on or off',
    }),
    embeddingUrl: Type.Refine(
      Type.String({
        default: ENGINE_DEFAULTS.embeddingUrl,
        description: 'Where `openai:MODEL` asks: what comes before `/embeddings`.',
        'x-must': 'be an http or https address such as http://127.0.0.1:11434/v1, without a user name',
      }),
      isPlainHttpUrl,
    ),
    embeddingApiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        'x-default-text': 'none',
        description: 'Key that the server of `openai:MODEL` wants. As a flag, other users of the machine may read it.',
        'x-must': 'be letters, digits and signs of ASCII without blanks',
      }),
    ),
    embeddingQueryPrefix: embeddingPrefix('query', 'query: '),
    embeddingPassagePrefix: embeddingPrefix('memory', 'passage: '),
    embeddingPooling: Type.Optional(
      Type.Enum([...POOLINGS], {
        'x-default-text': "the model's own",
        description:
          'How `transformers:MODEL` makes one vector of the tokens of a text: `mean` of all, first token (`cls`) or `last` ' +
          'token. By default, the folder of a model says which, and other models get `mean`.',
        'x-must': `be ${POOLINGS.join(', ')}`,
      }),
    ),
    llmUrl: Type.Refine(
      Type.String({
        default: '',
        'x-default-text': 'none',
        description:
          'Where a language model with the OpenAI chat protocol distils semantic memories: what comes before ' +
          '`/chat/completions`. It is sent the texts of memories. Without one, or where it fails, sentences are quoted.',
        'x-must': 'be an http or https address such as http://127.0.0.1:11434/v1, without a user name',
      }),
      (text) => text === '' || isPlainHttpUrl(text),
    ),
    llmModel: Type.String({
      pattern: '^(\\S(.*\\S)?)?$',
      maxLength: 256,
      default: '',
      'x-default-text': 'none',
      description: 'Name of the language model; given together with its address.',
      'x-must': 'be the name of a model, of at most 256 characters',
    }),
    llmApiKey: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        'x-default-text': 'none',
        description: "Key that the language model's server wants. As a flag, other users of the machine may read it.",
        'x-must': 'be letters, digits and signs of ASCII without blanks',
      }),
    ),
    redact: Type.Enum(['on', 'off'], {
      default: 'off',
      description:
        '`on`: keys, tokens, passwords and numbers of payment cards are replaced by `[redacted:KIND]` in what is stored, ' +
        'before anything is written, embedded or logged, and in queries; answers to writes say so in `redacted`.',
      'x-must': 'be on or off',
    }),
    timezone: Type.Refine(
      Type.String({
        default: ENGINE_DEFAULTS.timezone,
        description:
          'Time zone (IANA name) of dates in queries, such as "yesterday", that name no `timezone` themselves.',
        'x-must': TIME_ZONE_MUST,
      }),
      isTimeZone,
    ),
    consolidationIntervalSeconds: engineNumber(
      'consolidationIntervalSeconds',
      'Seconds between consolidations that run by themselves; 0 turns them off.',
      'seconds',
    ),
    workingAgeSeconds: engineNumber(
      'workingAgeSeconds',
      'Seconds since storing after which a consolidation that runs by itself promotes a working memory.',
      'seconds',
    ),
    archiveDays: engineNumber(
      'archiveDays',
      'Days for which evicted memories and records of consolidations are kept, and consolidations can be undone.',
      'days',
    ),
    workingMax: engineNumber(
      'workingMax',
      'Most working memories of a namespace; past three quarters of it the oldest promote at once.',
    ),
    episodicMax: tierMax('episodic'),
    semanticMax: tierMax('semantic'),
    namespaceMaxMemories: engineNumber(
      'namespaceMaxMemories',
      'Most memories of a namespace that has no quota of its own, those included that are hidden until they are ' +
        'erased; 0 is any number. Semantic memories are not counted.',
    ),
    namespaceMaxBytes: engineNumber(
      'namespaceMaxBytes',
      'Most bytes of text, in UTF-8, of the same memories, with their earlier texts; 0 is any number. Tags and metadata ' +
        'are not counted.',
      'bytes',
    ),
    userMaxMemories: engineNumber(
      'userMaxMemories',
      'Most memories of a user of a namespace who has no quota of their own, counted in the same way; 0 is any number.',
    ),
    userMaxBytes: engineNumber(
      'userMaxBytes',
      'Most bytes of text, in UTF-8, of the same memories, with their earlier texts; 0 is any number.',
      'bytes',
    ),
    maxBodyBytes: wholeNumber({
      unit: 'bytes',
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      default: 1024 * 1024,
      description: 'Largest request body, in bytes.',
    }),
    maxBatchBodyBytes: wholeNumber({
      unit: 'bytes',
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      default: 16 * 1024 * 1024,
      description: 'Largest body of a batch of stores, in bytes; no text in it may be larger than the body of a store.',
    }),
    maxAnswerBytes: engineNumber('maxAnswerBytes', 'Most bytes of memory content that one answer holds.', 'bytes'),
    slowClientSeconds: wholeNumber({
      unit: 'seconds',
      minimum: 1,
      maximum: 600,
      default: 30,
      description:
        'Seconds in which a request has to arrive whole, and after which a reader who takes nothing of an answer is cut off.',
    }),
    memoryLimitMb: wholeNumber({
      unit: 'megabytes',
      minimum: 0,
      maximum: 100_000_000,
      default: 0,
      'x-default-text': 'nine tenths of what the machine or the container has',
      description:
        'Resident memory, in megabytes, beyond which requests are refused with 503 until it falls; 0 is the default.',
    }),
    dbSizeAlertMb: wholeNumber({
      unit: 'megabytes',
      minimum: 1,
      maximum: 1_000_000_000,
      default: 5000,
      description: 'Size of the database beyond which the alert `DatabaseLarge` fires.',
    }),
    logLevel: Type.Enum(['debug', 'info', 'warn', 'error'], {
      default: 'info',
      description: 'Least level that is logged: `debug`, `info`, `warn` or `error`.',
      'x-must': 'be one of debug, info, warn, error',
    }),
    accessLog: Type.Boolean({
      default: false,
      description: 'Whether each request is logged: method, path, status, time, namespace, key id and address.',
      'x-must': 'be true or false',
    }),
    logQueries: Type.Boolean({
      default: true,
      description: 'Whether log records of recalls carry the text of the query.',
      'x-must': 'be true or false',
    }),
  },
  { additionalProperties: false },
);

// Built by hand, a pattern would let through what only a parser refuses, such as a port that is too large.
function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

/** As browsers write it, without what they leave out; those of extensions have schemes of their own. */
function isOrigin(text: string): boolean {
  if (text.includes('*')) return text === '*';
  if (/^https?:/.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/.test(text);
}

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** Values of all settings, as they are written. */
export type SettingValues = Type.Static<typeof SettingsSchema>;

export type SettingKey = keyof typeof SettingsSchema.properties;
