import type { Redactor } from '@memoryd/core/models';

/** Maximum characters of the name of a value, including the separator between name and value. */
const MAX_NAME_CHARS = 64;

/**
 * Maximum passes over a text. Replacing a secret by a marker can reveal a second secret that contains the first. For
 * example, a password that contains a card number with blanks only matches after a marker without blanks has replaced
 * the card number.
 */
const MAX_ROUNDS = 8;

/** Position of a secret or a marker in a text. */
interface Span {
  kind: string;
  start: number;
  end: number;
}

/** A text whose secrets are replaced by markers. The markers are in text order. */
interface Redacted {
  text: string;
  markers: Span[];
}

/**
 * Redacts secrets with known formats. Tokens are detected by the formats of their issuers, passwords and keys by the
 * name before the value, and card numbers by their checksums.
 */
export const knownFormats: Redactor = {
  redact(text, name) {
    let result: Redacted = { text, markers: [] };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const secrets = findSecrets(result.text, name);
      if (secrets.length === 0) break;
      result = replaceByMarkers(result.text, joinSpans([...result.markers, ...secrets]));
    }
    return { text: result.text, kinds: result.markers.map(({ kind }) => kind) };
  },
};

function findSecrets(text: string, name: string | undefined): Span[] {
  const spans = FORMATS.flatMap((format) => [...findMatches(text, format)]);
  return spans.length > 0 || name === undefined ? spans : findByName(text, name);
}

function findByName(text: string, name: string): Span[] {
  const named = NAMED_SECRETS.filter((one) => one.name.test(name) && one.accepts(text));
  return named.slice(0, 1).map(({ kind }) => ({ kind, start: 0, end: text.length }));
}

/** Sorts spans and joins overlapping spans. The first span determines the kind. */
function joinSpans(spans: Span[]): Span[] {
  // The sort is stable, so of spans with the same start, the span of the earlier format stays first.
  spans.sort((a, b) => a.start - b.start);
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push(span);
  }
  return joined;
}

function* findMatches(text: string, { kind, pattern, accepts, isWhole }: Format): Iterable<Span> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [start, end] = getSecretRange(match);
    if (accepts?.(text.slice(start, end)) ?? true) {
      yield { kind, start, end };
      pattern.lastIndex = end;
    } else pattern.lastIndex = Math.max(match.index + 1, isWhole ? end - MAX_NAME_CHARS : 0);
  }
}

function getSecretRange({ indices }: RegExpExecArray): [number, number] {
  const { secret, escaped, quoted, bare } = indices?.groups ?? {};
  return secret ?? escaped ?? quoted ?? bare ?? (indices?.[0] as [number, number]);
}

function replaceByMarkers(text: string, spans: readonly Span[]): Redacted {
  const markers: Span[] = [];
  let result = '';
  let at = 0;
  for (const { kind, start, end } of spans) {
    result += text.slice(at, start);
    const marker = `[redacted:${kind}]`;
    markers.push({ kind, start: result.length, end: result.length + marker.length });
    result += marker;
    at = end;
  }
  return { text: result + text.slice(at), markers };
}

/** A pattern for one kind of secret. */
interface Format {
  kind: string;
  /**
   * Matches a secret. The group `secret`, `escaped`, `quoted` or `bare` is the secret; without such a group, the whole
   * match is the secret. Must match in linear time, for example by bounded repetitions.
   */
  pattern: RegExp;
  /** Returns true if a match is a secret, and false if the match only resembles a secret. True if absent. */
  accepts?: (secret: string) => boolean;
  /** True if no other match can start inside a rejected match, except in the last `MAX_NAME_CHARS` characters. */
  isWhole?: true;
}

/**
 * Returns a format for tokens with a known prefix. The characters before and after a token must not be letters or
 * digits.
 */
function createTokenFormat(kind: string, ...forms: RegExp[]): Format {
  const sources = forms.map(({ source }) => source).join('|');
  return { kind, pattern: new RegExp(`(?<![A-Za-z0-9])(?:${sources})(?![A-Za-z0-9])`, 'dg') };
}

const BEGIN_KEY = '-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----';
const END_KEY = BEGIN_KEY.replace('BEGIN', 'END');

/** Pattern between a name and its value: an assignment operator or a verb such as "is". */
const ASSIGNS = String.raw`\\?["'\x60]?(?:\s{0,4}(?:=>|:=|={1,3}|[:：]|是|は|이)\s{0,4}|\s{1,4}(?:is|was|ist|lautet|est|es|è|é)\s{1,4})`;
/**
 * Pattern of a value of 8 to 512 characters. In quotes: any characters except white space and the quote; the quotes may
 * be escaped, as in JSON in a string. Otherwise: ASCII up to the end of the sentence or a delimiter of the surrounding code or URL.
 */
const VALUE = String.raw`(?:\\"(?<escaped>[^"\\\s]{8,512})\\"|"(?<secret>[^"\s]{8,512})"|'(?<quoted>[^'\s]{8,512})'|(?<bare>(?:[!#-%*+\-./0-:=?-Z\\^_a-z|~]|&(?![\w.-]{1,64}=)){8,512})(?<![.!?:])(?![\w(]))`;

const PASSWORD_NAME = `(?:pass(?:word|wd|phrase|code|wort)s?|(?<=[_-])pass|pwd|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło|парол[ья]|密码|密碼|パスワード|비밀번호)`;
const KEY_NAME = `(?:(?:api|access|account|auth|signing|encryption|private|master|storage|shared)[ _-]?keys?|secrets?(?:[ _-]?(?:access[ _-]?)?key)?|tokens?|credentials?)`;

function createAssignedFormat(kind: string, name: string, accepts: (secret: string) => boolean): Format {
  return { kind, pattern: new RegExp(name + ASSIGNS + VALUE, 'dgi'), accepts, isWhole: true };
}

/** Returns a format for the value of an option of a command line, such as `--password VALUE`. */
function createOptionFormat(kind: string, name: string, accepts: (secret: string) => boolean): Format {
  const option = String.raw`(?<![\w-])--(?:[\w-]{1,32}[_-])?${name}\s{1,4}`;
  return { kind, pattern: new RegExp(option + VALUE, 'dgi'), accepts, isWhole: true };
}

/** Names of values, such as names of metadata fields, whose whole value is a secret. */
const NAMED_SECRETS: readonly { kind: string; name: RegExp; accepts: (value: string) => boolean }[] = [
  { kind: 'password', name: new RegExp(`${PASSWORD_NAME}$`, 'i'), accepts: looksLikePassword },
  { kind: 'credential', name: new RegExp(`${KEY_NAME}$`, 'i'), accepts: looksLikeKey },
];

/** The known formats. If two formats match the same text, the first format determines the kind. */
const FORMATS: readonly Format[] = [
  {
    kind: 'private-key',
    // The END line may be missing, because a text may quote only the beginning of a key. A BEGIN line without key data
    // is not a key.
    pattern: new RegExp(
      `${BEGIN_KEY}(?:(?:(?!-----BEGIN )[^]){1,20000}?${END_KEY}|(?:(?:\\s|\\\\n){0,4}[A-Za-z0-9+/=]{32,}){1,400})`,
      'dg',
    ),
  },
  createTokenFormat('aws-access-key', /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}/),
  createTokenFormat('github-token', /gh[pousr]_[A-Za-z0-9]{36,255}/, /github_pat_[A-Za-z0-9_]{22,255}/),
  createTokenFormat(
    'gitlab-token',
    /gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2}\.[a-z0-9]{7,9})?/,
  ),
  createTokenFormat('slack-token', /xox[a-z]-[A-Za-z0-9-]{10,250}/, /xapp-[0-9]-[A-Za-z0-9-]{20,250}/),
  {
    kind: 'slack-webhook',
    pattern: /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9+/]{20,200})/dg,
  },
  {
    kind: 'discord-webhook',
    pattern: /discord(?:app)?\.com\/api\/webhooks\/[0-9]{15,21}\/(?<secret>[A-Za-z0-9_-]{60,100})/dg,
  },
  createTokenFormat('stripe-key', /[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}/, /whsec_[A-Za-z0-9+/]{24,255}/),
  createTokenFormat('anthropic-key', /sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{20,200}/),
  {
    ...createTokenFormat(
      'openai-key',
      /sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,300}/,
      /sk-[A-Za-z0-9]{32,64}/,
    ),
    accepts: looksLikeToken,
  },
  createTokenFormat('google-key', /AIza[A-Za-z0-9_-]{35}/, /GOCSPX-[A-Za-z0-9_-]{28}/, /ya29\.[A-Za-z0-9_-]{20,2048}/),
  createTokenFormat('npm-token', /npm_[A-Za-z0-9]{36}/),
  createTokenFormat('pypi-token', /pypi-AgEI[A-Za-z0-9_-]{50,1000}/),
  createTokenFormat('huggingface-token', /hf_[A-Za-z0-9]{34,40}/),
  createTokenFormat('sendgrid-key', /SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/),
  createTokenFormat('telegram-token', /[0-9]{8,10}:AA[A-Za-z0-9_-]{33}/),
  createTokenFormat('memoryd-key', /mmd_[A-Za-z0-9]{8,64}_[A-Za-z0-9]{32,128}/),
  createTokenFormat(
    'api-key',
    /do[opr]_v1_[a-f0-9]{64}/,
    /shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}/,
    /dapi[a-f0-9]{32}/,
    /dckr_pat_[A-Za-z0-9_-]{27,64}/,
    /hv[sb]\.[A-Za-z0-9_-]{24,300}/,
    /lin_api_[A-Za-z0-9]{40}/,
    /gsk_[A-Za-z0-9]{52}/,
    /xai-[A-Za-z0-9]{80}/,
    /pplx-[A-Za-z0-9]{48}/,
    /ATATT3[A-Za-z0-9_=-]{150,300}/,
    /AGE-SECRET-KEY-1[A-Z0-9]{58}/,
  ),
  {
    kind: 'jwt',
    // RFC 7519: a token has three parts if signed, five if encrypted. The second of five may be empty.
    pattern: /(?<![\w-])eyJ[\w-]{8,16384}\.[\w-]{0,65536}(?:\.[\w-]{1,65536}){1,3}(?![\w-])/dg,
    accepts: hasJoseHeader,
  },
  {
    kind: 'bearer-token',
    pattern: /\bBearer[ \t]{1,4}(?<secret>[A-Za-z0-9][\w.~+/-]{14,4094}[\w~+/-]={0,2})/dgi,
    accepts: looksLikeToken,
  },
  {
    kind: 'basic-credentials',
    pattern:
      /\bAuthorization["'\x60]?[ \t]{0,4}[:=][ \t]{0,4}["'\x60]?Basic[ \t]{1,4}(?<secret>[A-Za-z0-9+/]{6,2048}={0,2})/dgi,
  },
  {
    kind: 'password',
    // A password may contain an @. The last @ before the host ends the password.
    pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/?#:@"'<>]{0,255}:(?<secret>[^\s/?#"'<>]{1,255})@/dgi,
    accepts: (secret) => !isPlaceholder(secret),
  },
  createAssignedFormat('password', PASSWORD_NAME, looksLikePassword),
  createAssignedFormat('credential', KEY_NAME, looksLikeKey),
  createOptionFormat('password', PASSWORD_NAME, looksLikePassword),
  createOptionFormat('credential', KEY_NAME, looksLikeKey),
  {
    kind: 'aws-secret-key',
    // Written in many ways, and without a prefix: 40 characters of Base64, at most 64 characters after what names them.
    pattern:
      /(?:aws|secret|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})[\s\S]{0,64}?(?<![A-Za-z0-9/+])(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/dgi,
    accepts: (secret) => /^(?=.*[0-9])(?=.*[a-z]).*[A-Z]/.test(secret),
  },
  {
    kind: 'payment-card',
    // Digits as printed on cards or without separators. Excludes digits in a longer number or in an account number (ISO
    // 13616: DE12 3456 ...).
    pattern:
      /(?<![\w.+-]|\b[A-Z]{2}[0-9]{2}[ -])(?:[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}|3[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5}|62[0-9]{14,17}|[0-9]{15,16})(?![\w-]|\.[0-9])/dg,
    accepts: isPaymentCard,
  },
];

/** Returns true if a token has a JOSE header, which is a JSON object with an algorithm (RFC 7515, section 4). */
function hasJoseHeader(token: string): boolean {
  const [header = ''] = token.split('.');
  try {
    return 'alg' in JSON.parse(atob(header.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return false;
  }
}

/**
 * Card numbers of issuers, by prefix and length. Maestro is omitted, because its prefixes are so common that a tenth of
 * all order numbers would be detected as cards.
 */
const CARD_NUMBER = new RegExp(
  [
    '4[0-9]{15}', // Visa
    '5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}', // Mastercard
    '3[47][0-9]{13}', // American Express
    '3(?:0[0-5]|[689][0-9])[0-9]{11}', // Diners Club
    '6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12}', // Discover
    '35(?:2[89]|[3-8][0-9])[0-9]{12}', // JCB
    '62[0-9]{14,17}', // UnionPay
    '220[0-4][0-9]{12}', // Mir
  ]
    .map((form) => `^(?:${form})$`)
    .join('|'),
);

/**
 * Returns true if a number, without blanks and hyphens, is a card number: an issuer's prefix and length (ISO 7812-1)
 * and a valid checksum.
 */
function isPaymentCard(number: string): boolean {
  const digits = number.replace(/[ -]/g, '');
  return CARD_NUMBER.test(digits) && getLuhnSum(digits) % 10 === 0;
}

/**
 * Returns the Luhn sum (ISO 7812-1, annex B). Every second digit from the right, starting with the second, is doubled,
 * and the digits of the result are added.
 */
function getLuhnSum(digits: string): number {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const counted = i % 2 === 1 ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum;
}

/** Minimum length of a value that is redacted as a password. */
const MIN_PASSWORD_CHARS = 8;

/** Matches placeholders: a variable, a gap to fill in, or the marker of an earlier redaction. */
const PLACEHOLDER = /^(?:\$|%|<|\{|\[redacted:|\*+$|[xX]+$|\.+$)/;

function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/**
 * Returns a pattern that matches at least `minLength` adjacent letters and digits, with at least one letter and one
 * digit. Such a pattern matches keys, but not words, dates, versions or numbers.
 */
const createMixedPattern = (minLength: number) =>
  new RegExp(`(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{${minLength}}`);

const MIXED_6 = createMixedPattern(6);
const MIXED_8 = createMixedPattern(8);
const MIXED_12 = createMixedPattern(12);

/** Matches a key in Base64, whose slashes and plus signs may leave only short runs of letters and digits. */
const BASE64_KEY = /^(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9][A-Za-z0-9+/]{31,}={0,2}$/;

/** Returns true if a value with the prefix of a token is a token. Rejects hyphenated words. */
function looksLikeToken(value: string): boolean {
  return MIXED_8.test(value);
}

/** Returns true if a value after a password name is a password. Rejects the next word of a sentence. */
function looksLikePassword(value: string): boolean {
  if (value.length < MIN_PASSWORD_CHARS || isPlaceholder(value)) return false;
  return MIXED_6.test(value) || (/[0-9]/.test(value) && /[A-Za-z]/.test(value) && /[!@#$%^&*+~?|=]/.test(value));
}

/** Returns true if a value after a name such as "key" or "token" is a secret. Rejects placeholders and words. */
function looksLikeKey(value: string): boolean {
  return !isPlaceholder(value) && (MIXED_12.test(value) || BASE64_KEY.test(value));
}
