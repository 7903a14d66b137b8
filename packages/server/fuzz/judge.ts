import type { Answer } from '../conformance/http.ts';
import { expectRefusal, STATUS } from '../conformance/refusal.ts';
import type { Operation } from './open-api.ts';
import type { Plan } from './requests.ts';

type Code = keyof typeof STATUS;

/** Statuses that a request may get which is as the document says: what it names may be gone, or have been written. */
const FOR_VALID = [200, 404, 409, 412];

/** Sentences about what is wrong with an answer; none where it is as the document and the table of errors say. */
export function complaintsAbout(plan: Plan, sent: { body?: Uint8Array }, answer: Answer): string[] {
  const complaints = [...complaintsAboutHeaders(answer)];
  if (plan.method === 'HEAD') {
    if (answer.text !== '') complaints.push('an answer to HEAD has a body');
  } else if (answer.status < 400) {
    complaints.push(...complaintsAboutSuccess(plan, answer));
  } else {
    complaints.push(...complaintsAboutError(plan, answer));
  }
  const isMeant = plan.method === plan.operation.method;
  const mustRefuse = plan.expects === 'refusal' || (isMeant && !isBodyAllowed(plan.operation, plan.headers, sent.body));
  if (mustRefuse && answer.status < 400) complaints.push('it was not refused');
  if (plan.expects === 'success' && !isFineForValid(plan, answer)) complaints.push('it was refused');
  return complaints;
}

function complaintsAboutHeaders({ headers }: Answer): string[] {
  const complaints: string[] = [];
  if (!/^[\x21-\x7e]+$/.test(headers['x-request-id'] as string)) complaints.push('no X-Request-Id');
  if (headers['x-content-type-options'] !== 'nosniff') complaints.push('no X-Content-Type-Options');
  return complaints;
}

function complaintsAboutSuccess({ operation, method }: Plan, answer: Answer): string[] {
  // A preflight or a plain question for methods has no body to be described.
  if (method === 'OPTIONS') return [];
  if (method !== operation.method) return [`${method} was served`];
  const declared = operation.answers.get(answer.status);
  if (!declared) return [`status ${answer.status} is not declared`];
  if (answer.status === 304) return answer.text === '' ? [] : ['a response of status 304 has a body'];
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
  if (!declared.has(type)) return [`content type ${type} is not declared`];
  const validate = declared.get(type);
  if (!validate) return [];
  return valuesIn(type, answer).every((value) => validate(value))
    ? []
    : [`the answer is not as declared: ${JSON.stringify(validate.errors?.slice(0, 2))}`];
}

/** What the schema of an answer speaks about: the answer, or each event or line of one that goes on and on. */
function valuesIn(type: string, { text, body }: Answer): unknown[] {
  if (type === 'application/json') return [body];
  if (type === 'text/event-stream') {
    // Not by a pattern: to one, U+2028 in a text would end a line too.
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    return lines.map((line) => JSON.parse(line.slice('data: '.length)));
  }
  if (/ndjson|jsonl/.test(type)) return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return [];
}

function complaintsAboutError({ operation, method }: Plan, answer: Answer): string[] {
  const declared = operation.answers.get(answer.status);
  if (!declared && method === operation.method && answer.status !== 404) {
    return [`status ${answer.status} is not declared`];
  }
  const code = (Object.keys(STATUS) as Code[]).find((one) => STATUS[one] === answer.status);
  if (code === undefined) return [`status ${answer.status} is not in the table`];
  if (code === 'INTERNAL_ERROR') return ['a server error'];
  try {
    expectRefusal(answer, { code });
    return [];
  } catch (error) {
    return [`the error is misshapen: ${(error as Error).message.slice(0, 400)}`];
  }
}

function isFineForValid({ operation, path }: Plan, answer: Answer): boolean {
  if (FOR_VALID.includes(answer.status)) return true;
  // That one of several parameters must be there is what no description of parameters can say.
  if (answer.status === 400 && operation.name === 'DELETE /memories' && !path.includes('?')) return true;
  // A cursor or a corrected memory of an earlier answer may be unknown by now.
  return answer.status === 400 && /"path":"\/(cursor|supersedes)"/.test(answer.text);
}

/** Whether the schemas of an operation allow what was sent as its body. */
function isBodyAllowed(operation: Operation, headers: Plan['headers'], body: Uint8Array | undefined): boolean {
  if (operation.bodies.size === 0) return true;
  const type = headers['content-type'];
  const schema = operation.bodies.get(typeof type === 'string' ? type : '');
  // Whatever else the content type says, a body is read as JSON, and a list is judged item by item.
  if (!schema || /ndjson|jsonl/.test(String(type))) return true;
  const value = parse(body);
  return schema.schema.type === 'array' ? Array.isArray(value) : schema.validate(value);
}

function parse(body: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
