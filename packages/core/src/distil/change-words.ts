/**
 * Words and phrases that show the relation of a memory to earlier ones, in English, German, French, Spanish, Italian,
 * Portuguese and Dutch. They are matched as whole words, in any case. `\S*` stands for any ending.
 */

/** The text says that something is no longer as it was. */
export const CHANGE =
  toPattern(String.raw`no longer|any ?more|no more|not \S+ any longer|(?:is|are|it's|we're|i'm|has|have|lives?|works?|goes|now) now|now(?! that)|nowadays|
  these days|from now on|instead|switch(?:es|ed|ing)?|changed?|moved|moving|relocated|replac\S+|rais\S+|lowered|increased|decreased|
  cut (?:to|from)|reduced|extended|shortened|postponed|rescheduled|rebooked|brought forward|slipped|pushed (?:back|to)|delayed|
  renamed|upgraded|downgraded|migrated|converted|swapped|stopped|quit|gave up|given up|cancell?ed|called off|is off|
  took over|taken over|takes over|handed over|misread|was wrong|were wrong|correction|turns out|up again|
  nicht mehr|keine? .{0,40}mehr|kein\S* mehr|jetzt|nun|nunmehr|inzwischen|mittlerweile|statt|stattdessen|anstelle|ab sofort|künftig|
  umgezogen|umgestellt|umgestiegen|gewechselt|geändert|verschoben|verlegt|ersetzt|abgelöst|erhöht|gesenkt|verlängert|verkürzt|
  abgesagt|aufgehört|umbenannt|doch nicht|seit (?:dem|der|den|heute|gestern|montag|letzte\S*)|
  ne .{1,30} plus|n'\S+ plus|désormais|dorénavant|maintenant|à présent|au lieu d\S*|remplac\S+|chang(?:é|ée|és|ées|e|ent|eons)|déménag\S+|
  déplac\S+|décal\S+|report(?:é|ée|és|ées)|repouss\S+|avanc(?:é|ée|és|ées)|annul\S+|passée?s? (?:à|de)|augment\S+|baiss\S+|arrêt(?:é|ée|és)|
  ya no|ahora|actualmente|en vez de|en lugar de|cambi(?:o|ó|ado|amos|aron)|muda(?:do|mos|ron)|traslad\S+|aplaz\S+|pospuest\S+|adelant\S+|
  sustitu\S+|reemplaz\S+|a partir de|cancel\S+|subid\S+|subió|bajad\S+|bajó|pasa a|pasó a|dej(?:ó|ado) de|
  non .{1,30} più|non più|adesso|ora|invece|cambiat\S+|spostat\S+|trasferit\S+|sostituit\S+|rimandat\S+|rinviat\S+|d'ora in poi|
  já não|não .{1,30} mais|agora|em vez de|mud(?:ou|ei|aram|ado)|adiad\S+|substitu\S+|a partir d\S+|
  niet meer|geen .{1,30} meer|voortaan|in plaats van|verhuisd|gewijzigd|veranderd|vervangen|verplaatst|verzet|uitgesteld|overgestapt`);

/** The text says that somebody or something is no longer there: the former value of a fact, beside a new one. */
export const END =
  toPattern(String.raw`retired|closed|shut|sold|gone|left|powered down|switched off|shut down|archived?|decommissioned|died|broke|bankrupt|expired|ended|
  over|finished|busy|im ruhestand|in rente|geschlossen|zugemacht|verkauft|abgeschaltet|aufgelöst|gekündigt|weg|
  à la retraite|fermé\S*|vendu\S*|parti\S*|quitté|arrêté|en travaux|se jubiló|jubilad\S+|cerró|cerrad\S+|vendi\S+|
  in pensione|chiuso|chiusa|venduto|aposentou\S*|fechou|vendeu|met pensioen|gesloten|verkocht`);

/** The text is about an event of its day, or about one of several such events, which do not correct one another. */
export const EVENT =
  toPattern(String.raw`today|yesterday|tonight|this (?:morning|afternoon|evening|week|time)|last (?:night|week|month)|
  heute|gestern|diesmal|letzte\S* (?:woche|monat)|aujourd'hui|hier|ce (?:matin|soir|midi)|cette (?:semaine|fois)|
  hoy|ayer|anoche|esta (?:mañana|tarde|noche|semana|vez)|oggi|ieri|stamattina|stasera|hoje|ontem|vandaag|gisteren|vanmorgen`);

/** The text tells something of an earlier time. */
export const ANECDOTE =
  toPattern(String.raw`once(?! more)|back then|years ago|at first|originally|in the (?:very )?(?:first|beginning)|student days|as a (?:child|student|kid)|
  damals|früher|einst|im studium|als kind|ursprünglich|anfangs|autrefois|à l'époque|jadis|toute première|étant (?:enfant|étudiant\S*)|
  al principio|en aquel entonces|de (?:niño|niña|joven|estudiante)|su primera?|mi primera?|una volta|da bambin\S+|antigamente|vroeger|destijds`);

function toPattern(words: string): RegExp {
  const alternatives = words.replaceAll(/\s*\n\s*/g, '');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${alternatives})(?![\\p{L}\\p{N}])`, 'iu');
}
