/**
 * English words that say how a sentence is built and not what it is about, and what an apostrophe leaves of them. Two
 * groups that such lists often hold are left out. The words of the first and second person in the singular (i, my, me,
 * you, your): a memory is often about one of the two who speak. And before, after, during, about, up, down and their
 * like: they carry time and place, and many verbs mean nothing without them.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  words(`
  a an the this that these those such
  he him his himself she her hers herself it its itself we us our ours ourselves they them their theirs themselves
  myself mine yours yourself yourselves
  who whom whose which what when where why how
  am is are was were be been being do does did doing done have has had having
  can could may might must shall should will would ought
  and but or nor if then than so because as until while although though unless whether
  of at by for with in on to from into
  here there all any both each few more most other some no not only own same too very just also ever
  s t d m re ve ll nt
  isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt wont wouldnt shouldnt mustnt mightnt
  neednt shant aint cannot
  `),
);

/**
 * Words that do not tell another language from English: its own function words, and words and names of English that
 * are spelled like function words of other languages.
 */
export const ENGLISH_EVIDENCE: ReadonlySet<string> = new Set([
  ...STOP_WORDS,
  ...words(`
me my you your about up down out off over under before after during through again one yes yeah yep nope ok okay oh
  um uh hey hi hello bye ya em thanks thank please wow sure cool great good nice
  ad ai ale alla alt ant apa ate aura bag bar ben bent bet bin biz bus ca cad car care cat chi com come comment con
  cos dan day die dig dim dir don door end era et far fur go gore ha ham han hans hat hon im jam jo jus ma man mar
  men met mid min mint mis mit mo mon once pa par pas pendant per perch plus pour pre quest red sale san sans sara
  sedan see sin sit size som son soy state sub sur take tale tan tau ten tie till ton tue van var vi want war wo ye
  yo
  `),
]);

function words(list: string): string[] {
  return list.trim().split(/\s+/);
}
