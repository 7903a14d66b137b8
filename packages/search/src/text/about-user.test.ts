import { expect, it } from 'vitest';
import { asksAboutUser } from './about-user.ts';
import { MARKS, readTraits } from './traits.ts';

const getSubject = (text: string) => readTraits(text, []).marks & (MARKS.aboutUser | MARKS.aboutPerson);

it.each([
  'I live in Porto.',
  "I'm based in Porto",
  'Usually I run on Sundays.',
  'Since spring I take cello lessons.',
  'User: outside, I was born on 3 August',
  'The user teaches chemistry.',
  'User gave up running because of the knee.',
  'My blood type is A positive.',
  "The user's bike is a Brompton.",
])('the text %j is about the user', (text) => expect(getSubject(text)).toBe(MARKS.aboutUser));

it.each([
  'My sister lives in Faro.',
  'My younger brother drives a Skoda.',
  "The user's dog is allergic to chicken.",
  'Dario, our neighbour, repairs lifts.',
])('the text %j is about a person or an animal of the user', (text) =>
  expect(getSubject(text)).toBe(MARKS.aboutPerson),
);

it.each([
  'Nora is allergic to penicillin.',
  'She lives in Faro.',
  "The user's name is Mira Hollander.",
  'World War I ended in 1918.',
  'Passport number: R2086TW3',
  'Sold the Fabia to a student.',
  'Assistant: I have booked the hall.',
  'Melanie: I have been running.',
  'Logins go through Keycloak with OIDC.',
])('the text %j may be about anybody', (text) => expect(getSubject(text)).toBe(0));

it.each([
  'where do I live?',
  'where does the user live?',
  'tell me what car I drive',
  "what's my blood type",
  "when is the user's birthday?",
  'What am I allergic to?',
])('the query %j asks about the user', (query) => expect(asksAboutUser(query)).toBe(true));

it.each([
  'where does my sister live?',
  "what is the user's dog allergic to?",
  'which car does Ilse drive?',
  'how do users sign in',
  'What did Henry VIII do?',
])('the query %j does not ask about the user', (query) => expect(asksAboutUser(query)).toBe(false));
