import { expectCleanEnd, startClient, WORDS_ONLY } from './under-test.ts';

/** Fills a database file with a memory that has a history, and closes it. */
export async function fillFile(dbPath: string): Promise<void> {
  const client = await startClient({ dbPath, env: WORDS_ONLY });
  const id = await client.store({ content: 'Mimi sleeps on the sofa.', tags: ['cat'] });
  await client.update(id, { content: 'Mimi sleeps on the bed.' });
  await client.consolidate();
  await expectCleanEnd(client.server);
}
