// A chat agent that remembers all earlier conversations. Run: node examples/chat/agent.mjs (Ctrl-D ends it)
// Set OPENAI_BASE_URL (such as http://127.0.0.1:11434/v1), OPENAI_MODEL and OPENAI_API_KEY. Without OPENAI_BASE_URL,
// the model is mocked.
import { createInterface } from 'node:readline';
import { session } from '@memoryd/client/session';
import { openMemory } from '@memoryd/engine';

const { OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_API_KEY, MEMORY_FILE = 'chat.db' } = process.env;

async function askModel(notes, messages) {
  if (!OPENAI_BASE_URL) return notes === '' ? 'I will remember that.' : `I remember:\n${notes}`;
  const system = notes === '' ? [] : [{ role: 'system', content: notes }];
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: OPENAI_MODEL, messages: [...system, ...messages] }),
  });
  if (!response.ok) throw new Error(`the model returned ${response.status}: ${await response.text()}`);
  return (await response.json()).choices[0].message.content;
}

const memory = await openMemory(MEMORY_FILE);
// This agent has one user. An application with several users passes the id of the user: { userId: 'ada' }.
const talk = session(memory, `chat of ${new Date().toISOString()}`, { userId: null });
for await (const said of createInterface({ input: process.stdin })) {
  if (said.trim() === '') continue;
  // The memories, as a fenced text of dated notes, and the newest turns of this conversation.
  const { text, turns } = await talk.context(said, { tokens: 2000 });
  const messages = turns.map(({ role, content }) => ({ role, content }));
  const answer = await askModel(text, [...messages, { role: 'user', content: said }]);
  console.log(answer);
  talk.add([said, answer].map((content, n) => ({ role: n === 0 ? 'user' : 'assistant', content })));
}
await talk.flush();
await memory.close();
