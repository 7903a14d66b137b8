import type { RecallRequest } from './recall.ts';

/**
 * Words and phrases of questions about what was before, by language (ISO 639-1). The languages whose word forms the
 * ranking knows, and some others. Endings that change are left out: a word in capitals in this list matches any ending.
 */
const BEFORE: Readonly<Record<string, string>> = {
  en: `used to|before|previous|previously|prior|originally|initially|formerly|former|at first|earlier|ago|back then|
    back when|in the past|in those days|until recently|my old|your old|his old|her old|its old|our old|their old|the old|
    last year|last month|last week|last spring|last summer|last autumn|last fall|last winter|yesterday`,
  de: `früher|zuvor|vorher|VORHERIG|EHEMALIG|ehemals|ursprünglich|anfangs|zuerst|damals|einst|BISHERIG|gestern|
    letztes jahr|letzten monat|letzte woche|vor einem jahr`,
  fr: `avant|auparavant|autrefois|précédemment|PRÉCÉDENT|ancien|ancienne|anciens|anciennes|anciennement|au début|
    initialement|jadis|à l'époque|à l’origine|à l'origine|hier|l'an dernier|l’an dernier|l'année dernière`,
  es: `antes|anteriormente|anterior|anteriores|previamente|originalmente|al principio|inicialmente|antaño|antiguo|
    antigua|solía|solías|solían|ayer|el año pasado`,
  pt: `antes|anteriormente|anterior|anteriores|originalmente|no início|a princípio|inicialmente|antigamente|antigo|
    antiga|costumava|costumavam|ontem|no ano passado`,
  it: `prima|precedentemente|in precedenza|precedente|precedenti|originariamente|all'inizio|all’inizio|inizialmente|
    una volta|un tempo|ieri|l'anno scorso|l’anno scorso`,
  nl: 'vroeger|eerder|voorheen|voordien|oorspronkelijk|aanvankelijk|eerst|vorige|destijds|toen|gisteren|vorig jaar',
  sv: 'förut|tidigare|förr|ursprungligen|först|från början|dåvarande|igår|förra året',
  da: 'før|tidligere|førhen|oprindelig|oprindeligt|først|dengang|i går|sidste år',
  no: 'før|tidligere|opprinnelig|først|den gang|i går|i fjor',
  fi: 'aiemmin|ennen|aikaisemmin|alun perin|aluksi|entinen|edellinen|eilen|viime vuonna',
  hu: 'korábban|azelőtt|régen|régebben|eredetileg|először|kezdetben|előző|egykor|tegnap|tavaly',
  ro: 'înainte|anterior|inițial|iniţial|la început|odinioară|pe vremuri|ieri|anul trecut',
  lt: 'anksčiau|seniau|iš pradžių|pradžioje|buvęs|buvusi|ankstesnis|vakar|pernai',
  tr: 'önce|önceden|eskiden|önceki|başlangıçta|ilk başta|eski|dün|geçen yıl',
  id: 'dulu|dahulu|sebelumnya|semula|awalnya|mantan|kemarin|tahun lalu',
  ga: 'roimhe|ar dtús|tráth|inné|anuraidh',
  ru: 'раньше|прежде|ранее|ПРЕЖН|первоначально|изначально|сначала|когда-то|БЫВШ|вчера|в прошлом году',
  uk: 'раніше|колись|спочатку|КОЛИШН|первісно|вчора|торік',
  pl: 'wcześniej|przedtem|poprzednio|POPRZEDNI|dawniej|pierwotnie|początkowo|kiedyś|wczoraj|w zeszłym roku',
  cs: 'dříve|předtím|původně|zpočátku|bývalý|bývalá|včera|loni',
  el: 'πριν|παλιά|προηγουμένως|αρχικά|στην αρχή|πρώην|κάποτε|χθες|πέρυσι',
  ar: 'سابقا|سابقًا|قبل|في البداية|أصلا|أصلًا|أمس',
  he: 'לפני|קודם|בעבר|בהתחלה|במקור|לשעבר|אתמול',
  hi: 'पहले|पूर्व|शुरू में|मूल रूप से',
  ta: 'முன்பு|முன்னர்|முதலில்|முன்னால்|நேற்று',
  ko: '예전|예전에|예전에는|이전|이전에|이전에는|전에|전에는|원래|원래는|처음에|처음에는|과거|과거에|과거에는|어제',
  vi: 'trước đây|trước kia|ban đầu|lúc đầu|hồi trước|hôm qua|năm ngoái',
};

/** The same for languages that are written without blanks between words. */
const UNSPACED_BEFORE =
  '以前|之前|原来|原來|原先|起初|最初|过去|過去|从前|從前|曾经|曾經|当初|當初|先前|昨天|去年|前は|前の|かつて|元々|もともと|昔|昨日|เมื่อก่อน|ก่อนหน้า|แต่ก่อน|ตอนแรก|เดิม|เมื่อวาน|ปีที่แล้ว';

const WORDS = Object.values(BEFORE)
  .flatMap((words) => words.split('|'))
  .map((word) => word.replace(/\s+/g, ' ').trim())
  .map((word) => (word === word.toLowerCase() ? word : `${word.toLowerCase()}\\p{L}*`));
const ASKS_FOR_BEFORE = new RegExp(
  `(?<![\\p{L}\\p{M}\\p{N}])(?:${WORDS.join('|')})(?![\\p{L}\\p{M}\\p{N}])|${UNSPACED_BEFORE}`,
  'u',
);
const YEAR = /(?<!\p{N})(?:19|20)\d\d(?!\p{N})/gu;

/** Returns true if a question has a word for before, such as "used to" and "previously", or names an earlier year. */
export function asksForBefore(question: string): boolean {
  const text = question.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ');
  const thisYear = new Date().getUTCFullYear();
  return (
    ASKS_FOR_BEFORE.test(text) ||
    Array.from(text.matchAll(YEAR), ([year]) => Number(year)).some((year) => year < thisYear)
  );
}

/**
 * Returns a recall request for a model: by default, only memories that hold. A request that says otherwise (`current`,
 * `superseded`, `as_of` or `known_at`), and a question about what was before, stay unchanged.
 */
export function toCurrentRecall<Request extends RecallRequest>(request: Request): Request {
  const { query, current, superseded, as_of } = request;
  const says = [current, superseded, as_of].some((field) => field !== undefined);
  return says || asksForBefore(query) ? request : { ...request, current: true };
}
