import { expect, it } from 'vitest';
import { asksForNow, hasChange } from './change-words.ts';

it.each([
  'We no longer use Jenkins.',
  'User: switched from black to ruff last night',
  'Stand-up moved to 10:15.',
  'Wir nutzen Jenkins nicht mehr.',
  'Desde mayo ya no como carne.',
  'Nous avons déménagé à Lyon.',
  '我们改成每周三开会。',
])('the text %j tells a change', (text) => expect(hasChange(text)).toBe(true));

it.each(['The stand-up is at 10:15.', 'Nu metal is his favourite music.', 'Wir nutzen Jenkins.'])(
  'the text %j tells no change',
  (text) => expect(hasChange(text)).toBe(false),
);

it.each([
  'Who is currently the product owner?',
  'what is the latest figure for the budget',
  'Where do we sit these days?',
  'Wo wohnt er jetzt?',
  '¿Dónde vive ahora?',
  'Где он сейчас живёт?',
  '他现在住在哪里？',
])('the question %j asks for what holds now', (question) => expect(asksForNow(question)).toBe(true));

it.each(['Where does he live?', 'What is the actual name of the noch brand?', 'Wo wohnt er?'])(
  'the question %j does not ask for what holds now',
  (question) => expect(asksForNow(question)).toBe(false),
);
