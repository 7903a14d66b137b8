// The build makes one minified CommonJS file of this. It always exits with 0, and prints nothing if the service does not
// respond in time.
import { statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { logError } from './hook-log.js';
import { getProjectHeaders, read } from './project-headers.js';

const LOG = '__LOG__';
/** Maximum size of a body in bytes, which is the limit of the service. */
const MAX_BODY_BYTES = 65_536;
/** Time after which the process ends in any case, in ms. */
const MAX_TIME_MS = 4000;

/** The third argument is the event for Antigravity, and the folder of the project with rules for Cursor. */
const [program, address, argument] = process.argv.slice(2);

const end = () => process.exit(0);

function fail(error) {
  logError(LOG, program, error);
  end();
}

/** Adds the prompt, or the answer to it, from the end of a transcript of Antigravity. */
function addLastMessage(body) {
  // Reading a device or a pipe may never end.
  if (!statSync(body.transcriptPath ?? '', { throwIfNoEntry: false })?.isFile()) return;
  for (const line of (read(body.transcriptPath) ?? '').split('\n').reverse()) {
    if (!/"(USER_INPUT|PLANNER_RESPONSE)"/.test(line)) continue;
    const { type, content } = JSON.parse(line);
    if (!content) continue;
    const isPrompt = type === 'USER_INPUT';
    if (isPrompt !== (argument === 'Stop')) body[isPrompt ? 'prompt' : 'answer'] = content;
    return;
  }
}

/**
 * Replaces the memories in the rules of a project for Cursor, if connect has made the file. The folder is that of the
 * connection: a repository from elsewhere may have such a file to collect memories.
 */
function writeRules(context) {
  const rules = join(argument, '.cursor/rules/memoryd.mdc');
  const head = /^(?:.*\n)*?.*memoryd owns this file.*\n/.exec(read(rules) ?? '')?.[0];
  if (head) writeFileSync(rules, `${head}${context}\n`);
}

function send(input) {
  const body = JSON.parse(input);
  const hasRules = program === 'cursor' && argument;
  if (argument && !hasRules) {
    body.hook_event_name = argument;
    addLastMessage(body);
  }
  let text = JSON.stringify(body);
  // Without the last word of a long text, because the service does not recognize a part of a secret.
  for (let limit = MAX_BODY_BYTES; limit > 999 && Buffer.byteLength(text) > MAX_BODY_BYTES; limit *= 0.7) {
    const cut = (_, value) =>
      typeof value === 'string' && value.length > limit
        ? value.slice(0, limit - 500) + value.slice(limit - 500, limit).replace(/[!-~]+$/, '')
        : value;
    text = JSON.stringify(body, cut);
  }
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
    // Another program on the port may respond with a page.
    const { additional_context: context = '' } = JSON.parse(answer);
    if (hasRules && body.hook_event_name === 'sessionStart') writeRules(context);
    process.stdout.write(answer[0] === '{' && answer !== '{}' ? answer : '', end);
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
