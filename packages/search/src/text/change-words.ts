import { isEnglish } from './analyze.ts';

/** Words and phrases by language (ISO 639-1), as parts of regular expressions. A word in capitals has any ending. */
type ByLanguage = Readonly<Record<string, string>>;

/** Words of a text that says that something has changed. */
const CHANGE: ByLanguage = {
  en: `no longer|not any ?more|any ?more|now|moved|moving to|switched|swapped|changed|changes to|instead|replaced|replaces|dropped|
    got rid of|gave up|given up|quit|as of|from now on|updated|update|correction|stopped|became|went back|back to|after all|
    migrated|renamed|took over|takes over|taken over|cancelled|canceled|rescheduled|postponed|brought forward|pushed back`,
  de: `nicht mehr|kein MEHR|jetzt|nun|inzwischen|mittlerweile|umgezogen|GEWECHSELT|umgestellt|stattdessen|ersetzt|ab sofort|
    geändert|verschoben|neuerdings`,
  fr: `ne plus|n['’]est plus|maintenant|désormais|DÉMÉNAG|à la place|REMPLAC|CHANGÉ|à partir de|dorénavant`,
  es: `ya no|ahora|se mudó|me mudé|nos mudamos|en vez de|en lugar de|CAMBI|REEMPLAZ|SUSTITU|a partir de|a partir de ahora`,
  it: `non più|adesso|ora|TRASFERIT|invece|CAMBIAT|SOSTITUIT|da ora`,
  pt: `já não|não mais|agora|MUDOU|em vez de|SUBSTITU|a partir de`,
  nl: `niet meer|geen MEER|nu|verhuisd|overgestapt|in plaats van|vervangen|voortaan|gewijzigd`,
  sv: `inte längre|numera|flyttat|bytt|istället|ersatt|ändrat`,
  ru: `больше не|теперь|ПЕРЕЕХАЛ|вместо|ЗАМЕНИЛ|перешли на|перешёл на|с сегодняшнего дня`,
  pl: `już nie|teraz|PRZEPROWADZI|zamiast|ZMIENI|ZASTĄPI`,
};
const UNSPACED_CHANGE =
  '不再|改成|改为|改為|换成|換成|现在|現在|搬到|引っ越|変更|今は|もう.{1,8}ない|代わりに|이제|더 이상|바꿨|이사';

/** Words of a question for what holds now. */
const NOW: ByLanguage = {
  en: `now|nowadays|current|currently|latest|newest|most recent|still|these days|at the moment|at present|presently|today|
    up to date|any ?more`,
  de: `jetzt|derzeit|momentan|aktuell|AKTUELL|im moment|zurzeit|noch|heute|heutzutage|NEUEST|inzwischen|mittlerweile`,
  fr: `maintenant|actuellement|ACTUEL|en ce moment|encore|toujours|aujourd['’]hui|dernière version|ces jours-ci|désormais`,
  es: `ahora|actualmente|ACTUAL|en este momento|todavía|aún|hoy|hoy en día|último|última|más reciente`,
  it: `adesso|ora|attualmente|attuale|in questo momento|ancora|oggi|ultimo|ultima|più recente`,
  pt: `agora|atualmente|ATUAL|neste momento|ainda|hoje|hoje em dia|último|última|mais recente`,
  nl: `nu|momenteel|huidige?|op dit moment|nog|vandaag|tegenwoordig|nieuwste|laatste`,
  sv: `nu|nuvarande|för närvarande|fortfarande|idag|numera|senaste`,
  da: 'nu|nuværende|for tiden|stadig|i dag|seneste',
  no: 'nå|nåværende|for tiden|fortsatt|fremdeles|i dag|siste|nyeste',
  fi: 'nyt|nykyinen|nykyään|tällä hetkellä|edelleen|vielä|uusin|viimeisin',
  hu: 'most|jelenleg|jelenlegi|még|ma|legújabb|legutóbbi|mostanában',
  ro: 'acum|în prezent|ACTUAL|încă|azi|astăzi|ultimul|ultima|cel mai recent',
  lt: 'dabar|šiuo metu|dabartinis|dabartinė|vis dar|šiandien|naujausias',
  tr: 'şimdi|şu anda|şu an|güncel|hâlâ|hala|bugün|en son|artık',
  id: 'sekarang|saat ini|masih|hari ini|terbaru|terkini',
  ga: 'anois|faoi láthair|fós|inniu|is déanaí',
  ru: 'сейчас|теперь|НЫНЕШН|ТЕКУЩ|всё ещё|все еще|ещё|сегодня|ПОСЛЕДН|НОВЕЙШ|в данный момент',
  uk: 'зараз|тепер|ПОТОЧН|НИНІШН|досі|ще|сьогодні|ОСТАНН',
  pl: 'teraz|obecnie|OBECN|AKTUALN|nadal|wciąż|jeszcze|dziś|dzisiaj|NAJNOWSZ|ostatni|ostatnia',
  cs: 'teď|nyní|momentálně|AKTUÁLN|SOUČASN|stále|ještě|dnes|NEJNOVĚJŠ|POSLEDN',
  el: 'τώρα|αυτή τη στιγμή|τρέχων|τρέχουσα|ακόμα|σήμερα|τελευταία|ΤΕΛΕΥΤΑΙ',
  ar: 'الآن|حاليا|حاليًا|الحالي|الحالية|ما زال|لا يزال|اليوم|أحدث',
  he: 'עכשיו|כרגע|הנוכחי|הנוכחית|עדיין|היום|האחרון|האחרונה',
  hi: 'अब|अभी|वर्तमान|फिलहाल|आज|नवीनतम|अब भी',
  ta: 'இப்போது|தற்போது|தற்போதைய|இன்னும்|இன்று|சமீபத்திய',
  ko: '지금|지금은|현재|요즘|아직|아직도|오늘|최신',
  vi: 'bây giờ|hiện nay|hiện tại|hiện giờ|vẫn|hôm nay|mới nhất',
};
const UNSPACED_NOW = '现在|現在|目前|如今|仍然|还|今天|最新|今は|今の|いま|まだ|最近|ตอนนี้|ปัจจุบัน|ยัง|ล่าสุด';

/** Maximum UTF-16 units of a text that are examined. */
const MAX_EXAMINED_CHARS = 400;

/** Returns an expression that matches any of the words, as whole words. */
function toExpression(lists: readonly string[]): string {
  const patterns = lists
    .flatMap((list) => list.split('|'))
    .map((word) => word.replace(/\s+/g, ' ').trim())
    .map((word) => (word === word.toLowerCase() ? word : `${word.toLowerCase()}\\p{L}*`));
  return `(?<![\\p{L}\\p{M}\\p{N}])(?:${patterns.join('|')})(?![\\p{L}\\p{M}\\p{N}])`;
}

/** Returns a test for words. The words of another language than English count only in a text that is not English. */
function createTest({ en = '', ...others }: ByLanguage, unspaced: string): (text: string) => boolean {
  const english = new RegExp(toExpression([en]), 'iu');
  const foreign = new RegExp(`${toExpression(Object.values(others))}|${unspaced}`, 'iu');
  return (text) => {
    const beginning = text.slice(0, MAX_EXAMINED_CHARS).normalize('NFC');
    return english.test(beginning) || (foreign.test(beginning) && !isEnglish(beginning));
  };
}

/** Returns true if the beginning of a text has a word for a change, such as "no longer" or "moved". */
export const hasChange = createTest(CHANGE, UNSPACED_CHANGE);

/** Returns true if a question has a word for what holds now, such as "currently" or "latest". */
export const asksForNow = createTest(NOW, UNSPACED_NOW);
