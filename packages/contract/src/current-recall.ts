import type { RecallRequest } from './recall.ts';

/** Words and phrases of English questions about what was before, separated by `|`. */
const ENGLISH_BEFORE = `used to|did (?:[a-z'’-]+ ){1,6}use to|before|previous|previously|originally|initially|formerly|former|at first|back then|back when|
  in the past|in those days|until recently|last year|last month|last week|last spring|last summer|last autumn|last fall|
  last winter`;

/** Words that tell that a question is English, so that no word of another language is looked for. */
const ENGLISH = /(?<!\p{L})(?:the|what|which|where|when|who|whose|how|does|did|is|are|my)(?!\p{L})/u;

/**
 * The same for other languages, by their codes (ISO 639-1): those whose word forms the ranking knows, and some more. A
 * word in capitals matches any ending.
 */
const BEFORE: Readonly<Record<string, string>> = {
  de: `früher|zuvor|vorher|VORHERIG|EHEMALIG|ehemals|ursprünglich|anfangs|damals|einst|letztes jahr|letzten monat|
    letzte woche`,
  fr: `avant|auparavant|autrefois|précédemment|PRÉCÉDENT|ancien|ancienne|anciens|anciennes|anciennement|au début|
    initialement|jadis|à l'époque|à l’origine|à l'origine|l'an dernier|l’an dernier|l'année dernière`,
  es: `antes|anteriormente|anterior|anteriores|previamente|originalmente|al principio|inicialmente|antaño|antiguo|
    antigua|solía|solías|solían|el año pasado`,
  pt: `antes|anteriormente|anterior|anteriores|originalmente|no início|a princípio|inicialmente|antigamente|antigo|
    antiga|costumava|costumavam|no ano passado`,
  it: `prima|precedentemente|in precedenza|precedente|precedenti|originariamente|all'inizio|all’inizio|inizialmente|
    un tempo|l'anno scorso|l’anno scorso`,
  nl: 'vroeger|eerder|voorheen|voordien|oorspronkelijk|aanvankelijk|vorige|destijds|toen|vorig jaar',
  sv: 'förut|tidigare|förr|ursprungligen|från början|dåvarande|förra året',
  da: 'før|tidligere|førhen|oprindelig|oprindeligt|dengang|sidste år',
  no: 'før|tidligere|opprinnelig|den gang|i fjor',
  fi: 'aiemmin|ennen|aikaisemmin|alun perin|aluksi|entinen|edellinen|viime vuonna',
  hu: 'korábban|azelőtt|régen|régebben|eredetileg|kezdetben|előző|egykor|tavaly',
  ro: 'înainte|anterior|inițial|iniţial|la început|odinioară|pe vremuri|anul trecut',
  lt: 'anksčiau|seniau|iš pradžių|pradžioje|buvęs|buvusi|ankstesnis|pernai',
  tr: 'önce|önceden|eskiden|önceki|başlangıçta|ilk başta|eski|geçen yıl',
  id: 'dulu|dahulu|sebelumnya|semula|awalnya|mantan|tahun lalu',
  ga: 'roimhe|ar dtús|tráth|anuraidh',
  ru: 'раньше|прежде|ранее|ПРЕЖН|первоначально|изначально|сначала|когда-то|БЫВШ|в прошлом году',
  uk: 'раніше|колись|спочатку|КОЛИШН|первісно|торік',
  pl: 'wcześniej|przedtem|poprzednio|POPRZEDNI|dawniej|pierwotnie|początkowo|kiedyś|w zeszłym roku',
  cs: 'dříve|předtím|původně|zpočátku|bývalý|bývalá|loni',
  el: 'πριν|παλιά|προηγουμένως|αρχικά|στην αρχή|πρώην|κάποτε|πέρυσι',
  ar: 'سابقا|سابقًا|قبل|في البداية|أصلا|أصلًا',
  he: 'לפני|קודם|בעבר|בהתחלה|במקור|לשעבר',
  hi: 'पहले|पूर्व|शुरू में|मूल रूप से',
  ta: 'முன்பு|முன்னர்|முதலில்|முன்னால்',
  ko: '예전|예전에|예전에는|이전|이전에|이전에는|전에|전에는|원래|원래는|처음에|처음에는|과거|과거에|과거에는',
  vi: 'trước đây|trước kia|ban đầu|lúc đầu|hồi trước|năm ngoái',
};

/** The same for languages that are written without blanks between words. */
const UNSPACED_BEFORE =
  '以前|之前|原来|原來|原先|起初|最初|过去|過去|从前|從前|曾经|曾經|当初|當初|先前|去年|前は|前の|かつて|元々|もともと|昔|เมื่อก่อน|ก่อนหน้า|แต่ก่อน|ตอนแรก|เดิม|ปีที่แล้ว';

/** Returns the expression that matches any of the words, as whole words. */
function toExpression(words: readonly string[]): string {
  const patterns = words
    .flatMap((list) => list.split('|'))
    .map((word) => word.replace(/\s+/g, ' ').trim())
    .map((word) => (word === word.toLowerCase() ? word : `${word.toLowerCase()}\\p{L}*`));
  return `(?<![\\p{L}\\p{M}\\p{N}])(?:${patterns.join('|')})(?![\\p{L}\\p{M}\\p{N}])`;
}

const ASKS_IN_ENGLISH = new RegExp(toExpression([ENGLISH_BEFORE]), 'u');
const ASKS_OTHERWISE = new RegExp(`${toExpression(Object.values(BEFORE))}|${UNSPACED_BEFORE}`, 'u');
/** A year after a preposition, so that it is no number, title or address. */
const YEAR = /(?<!\p{L})(?:in|of|since|until|during|en|em|im jahr|nel|en l'an|w roku|в)\s+((?:19|20)\d\d)(?!\p{N})/gu;

/** Returns true if a question has a word for before, such as "used to" and "previously", or names an earlier year. */
export function asksForBefore(question: string): boolean {
  const text = question.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ');
  const years = Array.from(text.matchAll(YEAR), ([, year]) => Number(year));
  const thisYear = new Date().getUTCFullYear();
  if (ASKS_IN_ENGLISH.test(text) || years.some((year) => year < thisYear)) return true;
  return !ENGLISH.test(text) && ASKS_OTHERWISE.test(text);
}

/** The fields by which a request says which memories it asks for. */
interface Saying {
  current?: boolean;
  superseded?: boolean;
  as_of?: string;
  known_at?: string;
}

/** Returns a request for memories that hold, unless it says otherwise by one of the fields of `Saying`. */
export function toCurrent<Request extends Saying>(request: Request): Request {
  const { current, superseded, as_of, known_at } = request;
  const isSaid = [current, superseded, as_of, known_at].some((field) => field !== undefined);
  return isSaid ? request : { ...request, current: true };
}

/** Returns the recall request of a model, as `toCurrent` does; unchanged if the question asks for what was before. */
export function toCurrentRecall<Request extends RecallRequest>(request: Request): Request {
  return asksForBefore(request.query) ? request : toCurrent(request);
}
