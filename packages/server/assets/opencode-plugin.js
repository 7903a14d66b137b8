// The build makes one file of this. The plugin runs inside OpenCode: it never throws, and adds nothing if the service does
// not respond in time.
import { logError } from './hook-log.js';
import { getProjectHeaders, read } from './project-headers.js';

const { url, keyFile, capture, log } = JSON.parse('__SETTINGS__');
/** Time that the plugin waits for the service, in ms; the service has a shorter deadline of its own. */
const DEADLINE_MS = url.startsWith('https:') ? 1800 : 600;
/** Longest text that is sent, in characters. */
const MAX_TEXT_LENGTH = 10_000;
/** Maximum sessions that the plugin remembers. */
const MAX_SESSIONS = 1000;

export const Memoryd = async ({ client, directory }) => {
  /** The parent of each session whose start was sent; undefined for a session of the person. */
  const parents = new Map();
  /** The last message of the person in each session. */
  const prompts = new Map();

  /** Sends an event. Returns the memories to add; undefined if there are none, or if anything fails. */
  async function send(event, sessionId, fields) {
    try {
      const key = url.endsWith('#key') && (process.env.MEMORYD_API_KEY || read(keyFile)?.trim());
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...(key && { Authorization: `Bearer ${key}` }),
          ...getProjectHeaders(directory),
        },
        body: JSON.stringify({ event, session_id: sessionId, parent_id: parents.get(sessionId), directory, ...fields }),
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      if (!response.ok) throw new Error(`status ${response.status}`);
      return (await response.json()).context;
    } catch (error) {
      logError(log, 'opencode', error.cause ?? error);
      return undefined;
    }
  }

  async function start(sessionId, parentId) {
    if (parents.has(sessionId)) return undefined;
    remember(parents, sessionId, parentId);
    return send('session.start', sessionId);
  }

  async function sendAnswer(sessionId) {
    try {
      const { data } = await client.session.messages({ path: { id: sessionId } });
      const last = data.findLast(({ info }) => info.role === 'assistant');
      const answer = getText(last?.parts ?? []);
      const messageId = last?.info.parentID ?? prompts.get(sessionId);
      if (answer !== '') await send('session.idle', sessionId, { message_id: messageId, answer });
    } catch {}
  }

  return {
    async event({ event: { type, properties } }) {
      // The memories of the start are added to the first prompt, because a session without a prompt has no place for them.
      if (type === 'session.created' && properties.info.parentID) {
        await start(properties.info.id, properties.info.parentID);
      }
      if (type === 'session.compacted') await send('session.compacted', properties.sessionID);
      if (type === 'session.idle' && capture === 'turns') await sendAnswer(properties.sessionID);
    },
    async 'chat.message'({ sessionID }, { message, parts }) {
      remember(prompts, sessionID, message.id);
      const text = getText(parts);
      const contexts = [
        await start(sessionID),
        text === '' ? undefined : await send('chat.message', sessionID, { message_id: message.id, text }),
      ].filter(Boolean);
      contexts.forEach((context, index) => {
        parts.push({
          id: `prt_memoryd${Date.now().toString(36)}${index}`,
          sessionID,
          messageID: message.id,
          type: 'text',
          text: context,
          synthetic: true,
        });
      });
    },
  };
};

/** Returns the text that the person typed, or that the model wrote. */
function getText(parts) {
  const texts = parts.filter(({ type, synthetic }) => type === 'text' && !synthetic).map(({ text }) => text);
  return texts.join('\n').slice(0, MAX_TEXT_LENGTH);
}

function remember(map, key, value) {
  if (map.size >= MAX_SESSIONS) map.delete(map.keys().next().value);
  map.set(key, value);
}
