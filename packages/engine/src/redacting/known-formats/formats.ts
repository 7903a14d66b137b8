import { isPaymentCard } from './payment-card.ts';
import { isPlaceholder, looksLikeKey, looksLikePassword, looksLikeToken } from './secret-looks.ts';

/** A form that secrets of a kind have. */
export interface Format {
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
export const NAMED: readonly { kind: string; name: RegExp; accepts: (value: string) => boolean }[] = [
  { kind: 'password', name: new RegExp(`${PASSWORD_NAME}$`, 'i'), accepts: looksLikePassword },
  { kind: 'credential', name: new RegExp(`${KEY_NAME}$`, 'i'), accepts: looksLikeKey },
];

/** The forms that are known. Where two find the same, the first gives the kind. */
export const FORMATS: readonly Format[] = [
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
