import type { Redactor } from '../ports/redactor.ts';

/** The longest name of a value with what stands between the two, in characters. */
const MAX_NAME_CHARS = 64;

/**
 * How often a text is looked through. A marker can make a secret of what surrounds it: it has no blanks, and the number of
 * a card that stood in its place within a password had.
 */
const MAX_ROUNDS = 8;

/** Where a secret, or the marker in its place, stands in a text. */
interface Span {
  kind: string;
  start: number;
  end: number;
}

/** A text with markers in the places of secrets, in their order. */
interface Redacted {
  text: string;
  markers: Span[];
}

/** Knows secrets by the forms that issuers give them, by what stands before them, and by the sums in numbers of cards. */
export const knownFormats: Redactor = {
  redact(text, name) {
    let result: Redacted = { text, markers: [] };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const secrets = secretsIn(result.text, name);
      if (secrets.length === 0) break;
      result = withMarkers(result.text, apart([...result.markers, ...secrets]));
    }
    return { text: result.text, kinds: result.markers.map(({ kind }) => kind) };
  },
};

function secretsIn(text: string, name: string | undefined): Span[] {
  const spans = FORMATS.flatMap((format) => [...matches(text, format)]);
  return spans.length > 0 || name === undefined ? spans : wholeByName(text, name);
}

function wholeByName(text: string, name: string): Span[] {
  const named = NAMED.filter((one) => one.name.test(name) && one.accepts(text));
  return named.slice(0, 1).map(({ kind }) => ({ kind, start: 0, end: text.length }));
}

/** In the order of the text, those that touch joined: the first gives the kind. */
function apart(spans: Span[]): Span[] {
  // Of those that begin together, the format that comes first stays first.
  spans.sort((a, b) => a.start - b.start);
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push(span);
  }
  return joined;
}

function* matches(text: string, { kind, pattern, accepts, isWhole }: Format): Iterable<Span> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [start, end] = secretIn(match);
    if (accepts?.(text.slice(start, end)) ?? true) {
      yield { kind, start, end };
      pattern.lastIndex = end;
    } else pattern.lastIndex = Math.max(match.index + 1, isWhole ? end - MAX_NAME_CHARS : 0);
  }
}

function secretIn({ indices }: RegExpExecArray): [number, number] {
  const { secret, quoted, bare } = indices?.groups ?? {};
  return secret ?? quoted ?? bare ?? (indices?.[0] as [number, number]);
}

function withMarkers(text: string, spans: readonly Span[]): Redacted {
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

/** A form that secrets of a kind have. */
interface Format {
  kind: string;
  /**
   * What to look for. Its group `secret`, `quoted` or `bare` is the secret, or all of it where it has none of them. Every
   * repetition is bounded, so that the time for a text grows as its length does.
   */
  pattern: RegExp;
  /** Tells a secret from what only looks like one. */
  accepts?: (secret: string) => boolean;
  /** Whether a match that is not accepted holds no other within, save across its end. */
  isWhole?: true;
}

/** A token that its issuer made to be known by its beginning, between characters that are in none. */
function token(kind: string, ...forms: RegExp[]): Format {
  const sources = forms.map(({ source }) => source).join('|');
  return { kind, pattern: new RegExp(`(?<![A-Za-z0-9])(?:${sources})(?![A-Za-z0-9])`, 'dg') };
}

const BEGIN_KEY = '-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----';
const END_KEY = BEGIN_KEY.replace('BEGIN', 'END');

/** Between a name and its value: a sign, or a word that says "is". */
const ASSIGNS = String.raw`["'\x60]?(?:\s{0,4}(?:=>|:=|={1,3}|[:：]|是|は|이)\s{0,4}|\s{1,4}(?:is|was|ist|lautet|est|es|è|é)\s{1,4})`;
/** In quotes anything but blanks; else ASCII, up to what ends a sentence or belongs to the code or address around it. */
const VALUE = String.raw`(?:"(?<secret>[^"\s]{8,512})"|'(?<quoted>[^'\s]{8,512})'|(?<bare>(?:[!#-%*+\-./0-:=?-Z\\^_a-z|~]|&(?![\w.-]{1,64}=)){8,512})(?<![.!?:])(?![\w(]))`;

const PASSWORD_NAME = `(?:pass(?:word|wd|phrase|code|wort)s?|(?<=[_-])pass|pwd|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło|парол[ья]|密码|密碼|パスワード|비밀번호)`;
const KEY_NAME = `(?:(?:api|access|account|auth|signing|encryption|private|master|storage|shared)[ _-]?keys?|secrets?(?:[ _-]?(?:access[ _-]?)?key)?|tokens?|credentials?)`;

function assigned(kind: string, name: string, accepts: (secret: string) => boolean): Format {
  return { kind, pattern: new RegExp(name + ASSIGNS + VALUE, 'dgi'), accepts, isWhole: true };
}

/** Names of values, such as those of metadata, and the secrets that they are. */
const NAMED: readonly { kind: string; name: RegExp; accepts: (value: string) => boolean }[] = [
  { kind: 'password', name: new RegExp(`${PASSWORD_NAME}$`, 'i'), accepts: looksLikePassword },
  { kind: 'credential', name: new RegExp(`${KEY_NAME}$`, 'i'), accepts: looksLikeKey },
];

/** The forms that are known. Where two find the same, the first gives the kind. */
const FORMATS: readonly Format[] = [
  {
    kind: 'private-key',
    // The end may be missing, where only the beginning was quoted; a beginning alone is no key.
    pattern: new RegExp(
      `${BEGIN_KEY}(?:(?:(?!-----BEGIN )[^]){1,20000}?${END_KEY}|(?:(?:\\s|\\\\n){0,4}[A-Za-z0-9+/=]{32,}){1,400})`,
      'dg',
    ),
  },
  token('aws-access-key', /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}/),
  token('github-token', /gh[pousr]_[A-Za-z0-9]{36,255}/, /github_pat_[A-Za-z0-9_]{22,255}/),
  token(
    'gitlab-token',
    /gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2}\.[a-z0-9]{7,9})?/,
  ),
  token('slack-token', /xox[a-z]-[A-Za-z0-9-]{10,250}/, /xapp-[0-9]-[A-Za-z0-9-]{20,250}/),
  {
    kind: 'slack-webhook',
    pattern: /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9+/]{20,200})/dg,
  },
  {
    kind: 'discord-webhook',
    pattern: /discord(?:app)?\.com\/api\/webhooks\/[0-9]{15,21}\/(?<secret>[A-Za-z0-9_-]{60,100})/dg,
  },
  token('stripe-key', /[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}/, /whsec_[A-Za-z0-9+/]{24,255}/),
  token('anthropic-key', /sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{20,200}/),
  {
    ...token('openai-key', /sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,300}/, /sk-[A-Za-z0-9]{32,64}/),
    accepts: looksLikeToken,
  },
  token('google-key', /AIza[A-Za-z0-9_-]{35}/, /GOCSPX-[A-Za-z0-9_-]{28}/, /ya29\.[A-Za-z0-9_-]{20,2048}/),
  token('npm-token', /npm_[A-Za-z0-9]{36}/),
  token('pypi-token', /pypi-AgEI[A-Za-z0-9_-]{50,1000}/),
  token('huggingface-token', /hf_[A-Za-z0-9]{34,40}/),
  token('sendgrid-key', /SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/),
  token('telegram-token', /[0-9]{8,10}:AA[A-Za-z0-9_-]{33}/),
  token('memoryd-key', /mmd_[A-Za-z0-9]{8,64}_[A-Za-z0-9]{32,128}/),
  token(
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
    // RFC 7519: three parts when signed, five when encrypted, of which the second may be empty.
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
    // A password may hold an @ itself: the last one before the host ends it.
    pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/?#:@"'<>]{0,255}:(?<secret>[^\s/?#"'<>]{1,255})@/dgi,
    accepts: (secret) => !isPlaceholder(secret),
  },
  assigned('password', PASSWORD_NAME, looksLikePassword),
  assigned('credential', KEY_NAME, looksLikeKey),
  {
    kind: 'payment-card',
    // As printed on cards, or in one; not as a part of a longer number or of an account's (ISO 13616: DE12 3456 ...).
    pattern:
      /(?<![\w.+-]|\b[A-Z]{2}[0-9]{2}[ -])(?:[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}|3[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5}|62[0-9]{14,17}|[0-9]{15,16})(?![\w-]|\.[0-9])/dg,
    accepts: isPaymentCard,
  },
];

/** RFC 7515, section 4: a header is a JSON object that names its algorithm. */
function hasJoseHeader(token: string): boolean {
  const [header = ''] = token.split('.');
  try {
    return 'alg' in JSON.parse(atob(header.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return false;
  }
}

/** Prefixes and lengths that say enough: those of Maestro begin so many numbers that a tenth of all orders would be cards. */
const ISSUED = new RegExp(
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

/** Whether digits, apart from blanks and hyphens, are the number of a card: an issuer's (ISO 7812-1), with the right sum. */
function isPaymentCard(number: string): boolean {
  const digits = number.replace(/[ -]/g, '');
  return ISSUED.test(digits) && luhnSum(digits) % 10 === 0;
}

/** ISO 7812-1, annex B: every second digit from the right but the last counts twice, by the sum of its own digits. */
function luhnSum(digits: string): number {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const counted = i % 2 === 1 ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum;
}

/** Shortest password that is taken for one, in characters. */
const SHORTEST = 8;

/** What stands where a secret would: a variable, a blank to fill in, or what an earlier redaction left. */
const PLACEHOLDER = /^(?:\$|%|<|\{|\[redacted:|\*+$|[xX]+$|\.+$)/;

function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** Letters and digits in one piece, at least so many, as they are in keys and not in words, dates, versions or numbers. */
const mixed = (least: number) =>
  new RegExp(`(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{${least}}`);

const MIXED_6 = mixed(6);
const MIXED_8 = mixed(8);
const MIXED_12 = mixed(12);

/** Whether what has the beginning of a token is one, rather than words with hyphens. */
function looksLikeToken(value: string): boolean {
  return MIXED_8.test(value);
}

/** Whether a value that is called a password is one, rather than the next word of a sentence. */
function looksLikePassword(value: string): boolean {
  if (value.length < SHORTEST || isPlaceholder(value)) return false;
  return MIXED_6.test(value) || (/[0-9]/.test(value) && /[A-Za-z]/.test(value) && /[!@#$%^&*+~?|=]/.test(value));
}

/** Whether a value that is called a key, a secret or a token is one. */
function looksLikeKey(value: string): boolean {
  return !isPlaceholder(value) && MIXED_12.test(value);
}
