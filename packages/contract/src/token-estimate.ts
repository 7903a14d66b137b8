/** Common short words of English and six other languages, whose words are mostly one or two tokens. */
const FAMILIAR = new Set(
  [
    'a about after all also am an and any are as at be been but by can do does for from has have he her his i if in is',
    'it its just like me my no not of on or our she so some that the their there they this to up was we were what when',
    'which who will with would you your auch auf bei das dass dem den der des die ein eine einen für hat ich im ist mit nach nicht sich sie und von',
    'wir zu au aux avec ce dans de du elle en est et il je la le les nous par pas pour que qui se sur un une con del el',
    'los las lo por su una y che di gli non per sono com da dos em na não o os um uma het een van niet op te zijn',
  ].flatMap((words) => words.split(' ')),
);

/** Minimum share of familiar words in a line whose other words are taken for words of these languages. */
const MIN_FAMILIAR_SHARE = 0.2;

/**
 * The pieces of a line, similar to the pieces into which o200k_base splits a text before it looks for tokens. Latin
 * words contain digits, as in hashes and base64. A blank belongs to the word or sign after it, but not to a number.
 */
const PIECE = new RegExp(
  [
    String.raw`(?<contraction>(?<=\p{L})['’](?:s|t|re|ve|m|ll|d)(?!\p{L}))`,
    String.raw`(?<latin>[\p{Script=Latin}\d]*\p{Script=Latin}[\p{Script=Latin}\p{M}\d]*)`,
    String.raw`(?<digits>\d+)`,
    String.raw`(?<common>[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}]+)`,
    String.raw`(?<seldom>[\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Gujarati}\p{Script=Thai}\p{Script=Georgian}\p{Script=Armenian}]+)`,
    String.raw`(?<kana>[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+)`,
    String.raw`(?<han>[\u4e00-\u9fff]+)`,
    String.raw`(?<joined> (?=[^\s\d]))`,
    String.raw`(?<blank>\s+)`,
    '(?<row>(?<sign>[!-/:-@[-`{-~])\\k<sign>{3,})',
    '(?<mark>[!-/:-@[-`{-~·–—‘’“”…•、。「」！，？：（）])',
    String.raw`(?<other>[\s\S])`,
  ].join('|'),
  'yu',
);

/**
 * A blank before a number, or a plain word, number or sign of ASCII: the same pieces as with `PIECE`, read in a fraction
 * of the time. It includes a blank that has no token of its own. It does not match before a character that may belong to
 * the piece.
 */
const ASCII_PIECE =
  / (?=\d)| ?(?:(?:([A-Z]?[a-z]{2,}|[A-Za-z])|(\d+))(?![A-Za-z\d\x80-\uffff])|([!-&(-/:-@[-`{-~])(?!\3))/y;
const ASCII = /^[\0-\x7f]*$/;

const encoder = new TextEncoder();

/** The tokens of a piece, by the name of its group. */
const COSTS = {
  contraction: () => 0.5,
  latin: getWordCost,
  digits: (piece: string) => Math.ceil(piece.length / 3),
  common: (piece: string) => piece.length * 0.55,
  seldom: (piece: string) => piece.length * 0.9,
  kana: (piece: string) => piece.length * 1.1,
  han: (piece: string) => piece.length * 1.4,
  joined: () => 0,
  blank: (piece: string) => Math.ceil(piece.length / 16),
  row: (piece: string) => 1 + piece.length / 16,
  mark: () => 1,
  other: (piece: string) => encoder.encode(piece).length,
};
const KINDS: readonly [string, (piece: string, isFamiliar: boolean) => number][] = Object.entries(COSTS);

/**
 * Estimates the tokens of a text in o200k_base without a tokenizer. The estimate errs upwards: for prose of 40 languages,
 * code, numbers, base64, hashes and emoji, it is 1 to 3 times the true number; for English and six similar languages, 1.1 to
 * 1.5 times. It is too low for random characters of other scripts.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const line of text.split('\n')) tokens += estimateLine(line) + 1;
  return text === '' ? 0 : Math.ceil(tokens - 1);
}

function estimateLine(line: string): number {
  const isFamiliar = hasFamiliarWords(line);
  let tokens = 0;
  for (let at = 0; at < line.length; ) {
    ASCII_PIECE.lastIndex = at;
    const plain = ASCII_PIECE.exec(line);
    if (plain) {
      tokens += getAsciiCost(plain, isFamiliar);
      at = ASCII_PIECE.lastIndex;
    } else {
      PIECE.lastIndex = at;
      tokens += getCost(PIECE.exec(line) as RegExpExecArray, isFamiliar);
      at = PIECE.lastIndex;
    }
  }
  return tokens;
}

function hasFamiliarWords(line: string): boolean {
  const words = line.toLowerCase().match(ASCII.test(line) ? /[a-z]+/g : /[\p{L}\p{M}]+/gu) ?? [];
  return words.filter((word) => FAMILIAR.has(word)).length >= words.length * MIN_FAMILIAR_SHARE;
}

function getAsciiCost([, word, digits]: RegExpExecArray, isFamiliar: boolean): number {
  if (word !== undefined) return getPartCost(word, isFamiliar);
  return digits === undefined ? 1 : COSTS.digits(digits);
}

function getCost({ groups = {} }: RegExpExecArray, isFamiliar: boolean): number {
  for (const [kind, getPieceCost] of KINDS) {
    const piece = groups[kind];
    if (piece !== undefined) return getPieceCost(piece, isFamiliar);
  }
  return 0;
}

/** A word as people write it, or several of them as in `userId`. */
const PLAIN = /^(?:\p{L}|\p{Lu}?[\p{Ll}\p{M}\p{Lo}\p{Lm}]{2,}(?:\p{Lu}[\p{Ll}\p{M}\p{Lo}\p{Lm}]{2,})*)$/u;
/** Four consonants in a row, as in random letters and seldom in words. */
const UNPRONOUNCEABLE = /[bcdfghjklmnpqrstvwxz]{4}/i;
const MAX_WORD_CHARS = 20;

function getWordCost(word: string, isFamiliar: boolean): number {
  const accents = (word.match(/[^\x20-\x7e]/g) ?? []).length / 2;
  if (!PLAIN.test(word)) return Math.max(1, word.length / 1.4) + accents;
  const parts = word.split(/(?<=\p{Ll})(?=\p{Lu})/u);
  return parts.reduce((sum, part) => sum + getPartCost(part, isFamiliar), accents);
}

function getPartCost(part: string, isFamiliar: boolean): number {
  const { length } = part;
  if (!isFamiliar || length > MAX_WORD_CHARS || UNPRONOUNCEABLE.test(part)) return Math.max(1, length / 1.8);
  return 1 + Math.max(0, length - 5) / 4;
}
