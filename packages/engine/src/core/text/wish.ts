/** UTF-16 units of a text that are looked at: what it is about comes first, and a long one says "never" somewhere. */
const LOOKED_AT = 400;

/** What "always" and "never" begin besides an instruction: news, thanks and cheers. */
const NO_INSTRUCTION =
  'an?|the|been|had|saw|was|were|here|there|up|mind|again|too|so|in|at|on|happy|glad|good|great|nice|say|give';
const INSTRUCTS = new RegExp(
  `(?:^|[.!?:\\n])["'”’)*\\s-]{0,8}(?:please,? )?(?:always|never)\\s(?!(?:${NO_INSTRUCTION})\\b)\\w`,
  'i',
);
const INSISTS = /\b(?:from now on|when(?:ever)? I ask)\b/i;
const PREFERS = /\b(?:I(?: \w+)? prefer|prefers|(?:I['’]d|(?<!you )would) rather|(?:always|never) wants?)\b/i;

/** Whether a text says what is to be done from now on. In English alone. */
export function instructs(text: string): boolean {
  const beginning = text.slice(0, LOOKED_AT);
  return INSTRUCTS.test(beginning) || INSISTS.test(beginning);
}

/** Whether a text says what somebody likes better. In English alone. */
export function prefers(text: string): boolean {
  return PREFERS.test(text.slice(0, LOOKED_AT));
}
