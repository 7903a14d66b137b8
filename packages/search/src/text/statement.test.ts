import { expect, it } from 'vitest';
import { MARKS, readTraits } from './traits.ts';

const statesNothing = (text: string, tags: string[] = []) => (readTraits(text, tags).marks & MARKS.noStatement) !== 0;

it.each([
  'Where is the spare key?',
  'User: which database do we use for billing?',
  'User: which database do we use for billing',
  'User: tell me when the lease runs out',
  'User: lease on the workshop, when does it end',
  "User: I'd like to know when our lease expires",
  'User: Hi! Do you know where the key is? Thanks',
  "Assistant: I don't know.",
  'Assistant: Sorry, I have no information about that.',
  "Assistant: I couldn't find anything about a billing database.",
  'User: wer holt freitags die Kinder von der Schule',
  'Assistant: Das weiß ich nicht.',
  'User: ¿Qué contraseña tiene el wifi?',
  'Assistant: No tengo información sobre eso.',
  'User: la piscine ouvre à quelle heure le dimanche',
  "Assistant: Je n'ai aucune information à ce sujet.",
  'Assistant: I see.',
  'User: OK, thanks a lot!',
  'User: 祖母の薬はどこですか',
  'Assistant: わかりません。',
  'User: 我们的猫吃什么？',
  'Assistant: 모르겠습니다.',
])('the text %j states nothing', (text) => expect(statesNothing(text)).toBe(true));

it('a turn whose speaker is a tag can be a question without a question mark', () => {
  expect(statesNothing('which database do we use', ['role:user'])).toBe(true);
  expect(statesNothing('which database do we use')).toBe(false);
});

it.each([
  'The spare key is under the mat.',
  'Which car park is the cheapest near the court? The one under the market.',
  'How to reset the router',
  'What I ordered has arrived',
  'User: my sister moved to Faro, can you remember that?',
  'User: I lost the key. Where is the spare one?',
  "I don't know how to swim.",
  'I have no interest in historical museums or monuments.',
  "Melanie: I've been running farther to de-stress, which has been great for my headspace.",
  'User: thanks, make it five minutes please',
  'User: remind me to ask Lucinda for the photos',
  'When I was young I lived in Bergen.',
  'User: I am planning a trip with my two sons and my wife next July to the Azores, flying from Lisbon; which island suits us?',
  '',
])('the text %j states something', (text) => expect(statesNothing(text)).toBe(false));
