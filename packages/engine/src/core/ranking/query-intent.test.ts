import { describe, expect, it } from 'vitest';
import { queryIntentOf as queryIntentOfNow } from './query-intent.ts';

const queryIntentOf = (query: string) => queryIntentOfNow(query, Date.parse('2026-11-23T09:00:00Z'));

describe('a question', () => {
  it.each([
    'What did I buy?',
    'where were we',
    'the trains that I mentioned',
    'Which books have I read?',
    "Which of those I've read?",
    'HAS she moved',
  ])('looks back: %s', async (query) => expect((await queryIntentOf(query)).looksBack).toBe(true));

  it.each(['What should I buy?', 'Which seat do I take?', 'how do I behave', 'wash cycle', ''])(
    'does not look back: %j',
    async (query) => expect((await queryIntentOf(query)).looksBack).toBe(false),
  );

  it.each(['What should I wear?', 'Would you take the train?', 'Can you recommend a book'])(
    'asks for advice: %s',
    async (query) => expect((await queryIntentOf(query)).asksAdvice).toBe(true),
  );

  it.each(['What does Ann drink in the morning?', 'Who is my dentist?'])('asks for a fact: %s', async (query) =>
    expect((await queryIntentOf(query)).asksAdvice).toBe(false),
  );

  it('may name a date', async () => {
    expect((await queryIntentOf('What did we do on 3 May 2025?')).date).toMatchObject({ text: 'on 3 May 2025' });
    expect((await queryIntentOf('What did we do?')).date).toBeUndefined();
  });
});
