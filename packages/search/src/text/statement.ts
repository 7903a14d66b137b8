/** Words and phrases by language (ISO 639-1), as parts of regular expressions. */
type ByLanguage = Readonly<Record<string, string>>;

/** The beginnings of questions, also of those without a question mark. */
const ASKING: ByLanguage = {
  en: `(?:what|where|who|whose|whom|why|how|which)\\b(?=.*\\b(?:is|are|was|were|am|do|does|did|can|could|will|would|should|has|have|had|may|much|many|to)\\b)|
    (?:what|where|who|when|how)['’]s\\b|when (?:is|are|was|were|do|does|did|can|will|should|has|have)\\b|
    (?:do|does|did|is|are|was|were|can|could|will|would|have|has) (?:i|you|we|they|he|she|it|the|my|our|there)\\b|
    (?:please )?(?:can you |could you )?(?:tell|remind|show) me (?:again )?(?:what|where|who|when|why|how|which|if|whether)\\b|
    (?:do|any(?:one|body)) (?:you )?knows? (?:what|where|who|when|why|how|which|if)\\b|
    i(?: need| want| would like|['’]d like) to know\\b|(?:i )?(?:need|looking for|trying to find) (?:the|our|my) (?:name|date|time|number|address|password|link|code)\\b|
    any idea\\b|wondering (?:what|where|who|when|why|how|which|if|whether)\\b`,
  de: `(?:wer|was|wann|wo|woher|wohin|wie|warum|wieso|weshalb|welche[rsmn]?|wem|wen|wessen) |sag mir|wei(?:ß|ss)t du|kannst du mir sagen`,
  fr: `(?:qui|quand|où|comment|pourquoi|quel|quelle|quels|quelles|combien) |qu['’]est-ce|est-ce qu|(?:tu sais|sais-tu|dis-moi|c['’]est quoi|je cherche) |.{0,40}(?:à quelle heure|quel jour|c['’]est quand)(?![\\p{L}])`,
  es: `(?:qué|quién|quiénes|cuándo|dónde|adónde|cómo|cuál|cuáles|cuánto|cuánta|cuántos|por qué) |sabes |dime |necesito (?:saber|la|el) `,
  it: `(?:chi|cosa|quando|dove|come|perché|quale|quali|quanto|quanta) |sai |dimmi `,
  pt: `(?:quem|quando|onde|como|qual|quais|quanto|por que|o que) |você sabe |sabes |diz-me |me diga `,
  nl: `(?:wie|wat|wanneer|waar|hoe|waarom|welke?) |weet (?:je|jij) |zeg me `,
  sv: `(?:vem|vad|när|var|hur|varför|vilken|vilket|vilka) |vet du `,
  ru: `(?:кто|что|когда|где|куда|как|почему|зачем|какой|какая|какие|сколько) |скажи|подскажи`,
  ja: `.{0,30}(?:どこ|いつ|誰|だれ|何時|いくら|なぜ|どうやって)|.{0,40}教えて(?:ください|くれ)?$`,
  zh: `.{0,20}(?:哪里|哪裡|哪儿|什么时候|什麼時候|谁|誰|多少|怎么|怎麼|为什么|為什麼)|.{0,40}[吗嗎]$`,
  ko: `.{0,20}(?:어디|언제|누구|누가|무엇|몇 시|어떻게|왜 )`,
  pl: `(?:kto|co|kiedy|gdzie|jak|dlaczego|który|która|które|ile) |powiedz mi`,
};

/** Whole sentences of somebody who does not know the answer. The end of the sentence may repeat the question. */
const NO_ANSWER: ByLanguage = {
  en: `(?:i['’]?m |i am )?(?:sorry|afraid|unfortunately)?[, ]*(?:but )?(?:that )?(?:i|we)(?:['’]m afraid i)? (?:really |still )?(?:(?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t|did not|didn['’]t) (?:actually |currently )?(?:know|recall|remember|say|tell|find|see|have (?:any|that|this|enough|a record|the answer|information|details|anything))|have (?:no (?:idea|information|record|records|note|notes|data|date|memory|way|details|clue)|nothing (?:about|on|stored|noted)))\\b.*|
    (?:i have )?no (?:idea|information|record|records|notes?|memory|data)\\b.*|(?:i['’]?m |i am )?not sure\\b.*|nothing (?:about|on|found|stored|in)\\b.*|(?:that|this|it) (?:was|is) (?:not|never) (?:mentioned|recorded|stored|noted)`,
  de: `(?:leider )?(?:das )?(?:wei(?:ß|ss) ich|ich wei(?:ß|ss)) (?:das |es |leider )?nicht\\b.*|(?:darüber|dazu) (?:habe|finde) ich (?:leider )?(?:keine|nichts)\\b.*|ich (?:habe|finde) (?:leider )?(?:dazu |darüber )?(?:keine (?:information|angabe|notiz)|nichts)\\p{L}*.*|keine ahnung\\b.*`,
  fr: `(?:désolée?,? )?je (?:ne )?(?:le )?sais pas\\b.*|je n['’]en sais rien.*|(?:désolée?,? )?je n['’]ai (?:aucune|pas d|rien)\\b.*|aucune idée.*`,
  es: `(?:lo siento,? )?(?:no lo sé|no sé|no tengo (?:información|ni idea|datos|nada)|no encuentro)(?![\\p{L}]).*`,
  it: `(?:mi dispiace,? )?(?:non lo so|non so|non ho (?:informazioni|idea|dati|trovato))(?![\\p{L}]).*`,
  pt: `(?:desculp\\p{L}*,? )?(?:não sei|não tenho (?:informaç|ideia|dados)|não encontrei).*`,
  nl: `(?:sorry,? )?(?:dat weet ik niet|ik weet het niet|ik heb (?:geen|daar niets)|geen idee).*`,
  ru: `(?:извини\\p{L}*,? )?(?:я )?(?:этого )?не знаю.*|у меня нет (?:информации|данных).*`,
  ja: `(?:すみません、?)?(?:.{0,20}は)?(?:.{0,20})?(?:わかりません|分かりません|わからない|分からない|知りません|情報(?:が|は)ありません|記録(?:が|は)ありません).*`,
  zh: `.{0,20}(?:我不知道|我不清楚|没有(?:相关|这方面的)?(?:信息|記錄|记录)|不知道).{0,20}`,
  ko: `.{0,20}(?:모르겠|모릅니다|정보가 없|기록이 없).*`,
};

/** Sentences that add nothing: greetings, thanks and agreement. */
const FILLER =
  /^(?:hi|hey|hello|hallo|hola|bonjour|salut|ciao|ok(?:ay)?|thanks?(?: you)?|thx|merci|danke|gracias|sorry|please|quick (?:one|question)|by the way|btw|hmm+|so|well|and|also|again|maybe|no worries|sure|right|i see|got it|understood|great|cool|nice|alright|noted|will do|you['’]re welcome|my pleasure|yes|no|si|oui|ja|nein|verstanden|d['’]accord|entendido)(?: (?:again|there|a lot|so much|everyone|all|then))?$/iu;

/** A request to store what the text says, even if it ends with a question mark. */
const TO_REMEMBER =
  /\b(?:remember|note|write|keep|save|store|jot|put|add|merk|notier|retiens|note[zr]?|recuerda|anota|ricorda|lembra)\b.{0,40}\b(?:that|this|it|down|das|ça|esto|eso|questo|isso|in|to|for)\b/iu;

const toExpression = (words: ByLanguage, end: string) =>
  new RegExp(
    `^(?:${Object.values(words)
      .join('|')
      .replace(/\s*\n\s*/g, '')})${end}`,
    'iu',
  );

const ASKS = toExpression(ASKING, '');
const KNOWS_NOTHING = toExpression(NO_ANSWER, '$');
const QUESTION_MARK = /[?\uff1f\u061f\u2e2e\u037e\u055e\u1367\u203d\u2047-\u2049]["'”’»)\]\s]*$/u;
const SENTENCE = /[^.!?\uff1f\u061f。！\n]+(?:[.!?\uff1f\u061f。！]+["'”’»)\]]*|\n|$)/gu;
/** The name of a speaker at the beginning of a line, in a text made of several turns. */
const SPEAKER = /^\s*(?:user|assistant|human|ai):\s/iu;
const OPENING = /^[\s\p{P}]*(?:(?:ok(?:ay)?|so|hey|hi|and|but|also|well|um+|please)[,\s]+(?=\S))?/iu;

/**
 * Maximum words of a text without a statement. A longer question tells something too: what the asker has, or plans.
 */
const MAX_TEXT_WORDS = 14;

/** Maximum UTF-16 units of a text without a statement, for languages without blanks between words. */
const MAX_CHARS = 120;

/** Maximum words with which anybody says that the answer is unknown. */
const MAX_ANSWER_WORDS = 4;

const ASSISTANT = /^(?:assistant|ai|bot|model)$/iu;

/** Maximum words of a question without a question mark. */
const MAX_WORDS = 20;

/**
 * Returns true if a text states nothing: it only asks, thanks or agrees, or says that the answer is unknown. A question without a question
 * mark is recognized in a turn of a conversation only, since notes have headings such as "How to reset the router".
 *
 * @param text without the name of the speaker
 * @param speaker name of the speaker; empty for a note
 */
export function hasNoStatement(text: string, speaker: string): boolean {
  if (text.length > MAX_CHARS || text.trim().split(/\s+/).length > MAX_TEXT_WORDS) return false;
  if (TO_REMEMBER.test(text)) return false;
  let hasWords = false;
  for (const [sentence] of text.matchAll(SENTENCE)) {
    const plain = sentence
      .replace(SPEAKER, '')
      .replace(OPENING, '')
      .replace(/[\s\p{P}]+$/u, '');
    if (plain === '') continue;
    hasWords = true;
    if (FILLER.test(plain)) continue;
    if (!isQuestion(sentence, plain, speaker !== '') && !isUnknown(plain, speaker)) return false;
  }
  return hasWords;
}

/** Returns true for "I don't know". With more words, it is the answer of an assistant, or tells something of a person. */
function isUnknown(plain: string, speaker: string): boolean {
  const isAnswer = ASSISTANT.test(speaker) || plain.split(/\s+/).length <= MAX_ANSWER_WORDS;
  return isAnswer && KNOWS_NOTHING.test(plain);
}

function isQuestion(sentence: string, plain: string, isTurn: boolean): boolean {
  if (QUESTION_MARK.test(sentence)) return true;
  return (
    isTurn && plain.split(/\s+/).length <= MAX_WORDS && plain.split(/,\s*(?!which\b)/).some((part) => ASKS.test(part))
  );
}
