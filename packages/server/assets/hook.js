// The build makes one minified CommonJS file of this. It always exits with 0, and prints nothing if the service does not
// respond in time.
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { getProjectHeaders, read } from './project-headers.js';

const LOG = '__LOG__';
/** Longest text that is sent of an input that is too large as a whole, in characters. */
const MAX_TEXT_LENGTH = 9999;
/** Largest input that is sent unchanged, in characters; the service takes 64 KiB. */
const MAX_INPUT_LENGTH = 20_000;
/** Time after which the process ends in any case, in ms. */
const MAX_TIME_MS = 4000;

const [program, address, event] = process.argv.slice(2);

const end = () => process.exit(0);

/** Ends the process. Logs the error, unless the log has a line of today. */
function fail({ message }) {
  try {
    const now = new Date().toISOString();
    const log = read(LOG) ?? '';
    if (!log.includes(now.slice(0, 10))) {
      mkdirSync(dirname(LOG), { recursive: true });
      writeFileSync(LOG, `${log.slice(-MAX_TEXT_LENGTH)}${now} ${program} ${message}\n`);
    }
  } catch {}
  end();
}

/** Adds the prompt, or the answer to it, from the end of a transcript of Antigravity. */
function addLastMessage(body) {
  for (const line of (read(body.transcriptPath ?? '') ?? '').split('\n').reverse()) {
    if (!/"(USER_INPUT|PLANNER_RESPONSE)"/.test(line)) continue;
    const { type, content } = JSON.parse(line);
    if (!content) continue;
    const isPrompt = type === 'USER_INPUT';
    if (isPrompt !== (event === 'Stop')) body[isPrompt ? 'prompt' : 'answer'] = content;
    return;
  }
}

/** Replaces the memories in the rules of a project for Cursor, if connect has made the file. */
function writeRules(root, context) {
  const rules = join(root, '.cursor/rules/memoryd.mdc');
  const head = /^(?:.*\n)*?.*memoryd owns this file.*\n/.exec(read(rules) ?? '')?.[0];
  if (head) writeFileSync(rules, `${head}${context}\n`);
}

function send(input) {
  const body = JSON.parse(input);
  if (event) {
    body.hook_event_name = event;
    addLastMessage(body);
  }
  const cut = (_, value) => (typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH) : value);
  const text = JSON.stringify(body, input.length > MAX_INPUT_LENGTH ? cut : undefined);
  // VS Code runs the hooks of Copilot CLI too.
  const isVsCode = program === 'copilot-cli' && body.hookEventName;
  const url = new URL(isVsCode ? address.replace(program, 'vscode') : address);
  const root = (body.workspace_roots ?? body.workspacePaths)?.[0];
  const key = url.hash && (process.env.MEMORYD_API_KEY || read(__dirname, 'key')?.trim());
  const headers = {
    'Content-Type': 'application/json',
    ...(key && { Authorization: `Bearer ${key}` }),
    ...getProjectHeaders(body.cwd || root || '.'),
  };
  const isTls = url.protocol === 'https:';
  const limit = Number(url.searchParams.get('deadline_ms') ?? 300) + (isTls ? 1500 : 300);
  setTimeout(() => fail({ message: `no response in ${limit} ms` }), limit);
  const post = isTls ? require('node:https').request : request;
  post(url, { method: 'POST', headers, agent: false }, async (response) => {
    let answer = '';
    for await (const piece of response.setEncoding('utf8')) answer += piece;
    if (response.statusCode !== 200) return fail({ message: `status ${response.statusCode}` });
    if (program === 'cursor' && root && body.hook_event_name === 'sessionStart') {
      writeRules(root, JSON.parse(answer).additional_context ?? '');
    }
    process.stdout.write(answer === '{}' ? '' : answer, end);
  })
    .on('error', fail)
    .end(text);
}

process.on('uncaughtException', fail).on('unhandledRejection', fail);
setTimeout(end, MAX_TIME_MS);
let input = '';
process.stdin
  .setEncoding('utf8')
  .on('data', (piece) => {
    input += piece;
  })
  .on('end', () => send(input));
