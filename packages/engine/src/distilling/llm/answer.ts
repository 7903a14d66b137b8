import { checkOf } from '@memoryd/contract';
import { type Static, type TSchema, Type } from '@memoryd/contract/typebox';
import {
  type Correction,
  DISTILLED_LIMITS,
  type DistilGroup,
  type Distilled,
  type DistilledFact,
  DistillerUnavailable,
} from '../../ports/distiller.ts';

/** The part of an answer that matters; https://platform.openai.com/docs/api-reference/chat/object */
const ChatCompletion = Type.Object({
  choices: Type.Array(
    Type.Object({
      message: Type.Object({
        content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        refusal: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      }),
      finish_reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    }),
    { minItems: 1 },
  ),
});
type ChatCompletion = Static<typeof ChatCompletion>;

/** What the model is asked for, as the prompt says it. */
const Answer = Type.Object({
  facts: Type.Array(Type.Object({ text: Type.String(), sources: Type.Array(Type.String()) })),
  corrections: Type.Optional(
    Type.Array(
      Type.Object({
        corrected: Type.String(),
        by: Type.String(),
        corrected_quote: Type.String(),
        by_quote: Type.String(),
      }),
    ),
  ),
});
type Answer = Static<typeof Answer>;

const isChatCompletion = guardOf<ChatCompletion>(ChatCompletion);
const isAnswer = guardOf<Answer>(Answer);

// What the check finds may quote the answer, and with it memories: it is not passed on.
function guardOf<T>(schema: TSchema): (value: unknown) => value is T {
  const check = checkOf(schema, 'answer');
  return (value): value is T => check(value).length === 0;
}

/** What some models say to themselves before they answer. */
const THOUGHT = /^\s*<think>[\s\S]*?<\/think>/;

/**
 * What a chat completion says of a group, of which only that is kept that the group bears out: facts with a source in
 * it, and corrections of an earlier memory by a later one whose quotes stand there to the letter.
 *
 * @param text the body of the answer
 * @param by the model's name
 * @throws DistillerUnavailable for an answer that is no chat completion, no JSON of the shape asked for, a refusal, cut
 * short, longer than a distilled text may be, or without a fact that has a source
 */
export function distilledOf(text: string, group: DistilGroup, by: string): Distilled {
  const answer = answerOf(contentOf(text));
  const facts = factsOf(answer, group);
  if (facts.length === 0) throw unusable('no fact with a source in the group');
  const content = facts.map((fact) => fact.text).join('\n');
  if (facts.length > DISTILLED_LIMITS.facts || content.length > DISTILLED_LIMITS.chars) {
    throw unusable('more than it was asked for');
  }
  const corrections = correctionsOf(answer, group);
  return { content, facts, by, ...(corrections.length > 0 && { corrections }) };
}

function contentOf(text: string): string {
  const completion = parse(text);
  if (!isChatCompletion(completion)) throw unusable('something other than a chat completion', true);
  const [{ message, finish_reason }] = completion.choices as [ChatCompletion['choices'][number]];
  if (message.refusal || finish_reason === 'content_filter') throw unusable('with a refusal');
  if (finish_reason === 'length') throw unusable('with a text that is cut short');
  return message.content ?? '';
}

/** The object in a text that may be fenced or come with remarks, as models write it whatever they are told. */
function answerOf(content: string): Answer {
  const said = content.replace(THOUGHT, '');
  const answer = parse(said.slice(said.indexOf('{'), said.lastIndexOf('}') + 1));
  if (answer === undefined) throw unusable('no JSON object');
  if (!isAnswer(answer)) throw unusable('JSON of another shape than it was asked for');
  return answer;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function factsOf({ facts }: Answer, { sources }: DistilGroup): DistilledFact[] {
  const byText = new Map<string, Set<string>>();
  for (const fact of facts) {
    const text = fact.text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
    if (text === '' || !sources.some(({ id }) => fact.sources.includes(id))) continue;
    byText.set(text, new Set([...(byText.get(text) ?? []), ...fact.sources]));
  }
  const ids = sources.map(({ id }) => id);
  return [...byText].map(([text, claimed]) => ({ text, sources: ids.filter((id) => claimed.has(id)) }));
}

function correctionsOf({ corrections = [] }: Answer, { sources }: DistilGroup): Correction[] {
  const places = new Map(sources.map(({ id }, place) => [id, place]));
  const byCorrected = new Map<string, Correction>();
  for (const { corrected, by, corrected_quote: correctedQuote, by_quote: byQuote } of corrections) {
    const [earlier, later] = [places.get(corrected), places.get(by)];
    if (earlier === undefined || later === undefined || earlier >= later || correctedQuote === byQuote) continue;
    const borneOut = quotes(sources[earlier]?.content, correctedQuote) && quotes(sources[later]?.content, byQuote);
    if (borneOut && !byCorrected.has(corrected)) byCorrected.set(corrected, { corrected, by, correctedQuote, byQuote });
  }
  return [...byCorrected.values()];
}

/** A letter or two stand in any text and show nothing. */
const SHORTEST_QUOTE = 4;

function quotes(text: string | undefined, quote: string): boolean {
  return quote.trim().length >= SHORTEST_QUOTE && text?.includes(quote) === true;
}

function unusable(what: string, elsewhere = false): DistillerUnavailable {
  return new DistillerUnavailable(`the language model answers ${what}`, elsewhere ? { option: 'llmUrl' } : {});
}
