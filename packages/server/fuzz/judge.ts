import type { Answer } from '../conformance/http.ts';
import { expectError, STATUS } from '../conformance/refusal.ts';
import type { Plan } from './requests.ts';

type Code = keyof typeof STATUS;

/** Statuses of a valid request: the memory that it names may have been deleted or changed by another request. */
const VALID_STATUSES = [200, 404, 409, 412];

/** Compares a response with the OpenAPI document and the table of errors. Returns a sentence for each problem. */
export function findProblems(plan: Plan, sent: { body?: Uint8Array }, answer: Answer): string[] {
  const problems = [...findHeaderProblems(answer)];
  if (plan.method === 'HEAD') {
    if (answer.text !== '') problems.push('the response to HEAD has a body');
  } else if (answer.status < 400) {
    problems.push(...findSuccessProblems(plan, answer));
  } else {
    problems.push(...findErrorProblems(plan, answer));
  }
  const isOwnMethod = plan.method === plan.operation.method;
  const mustBeRefused = plan.expects === 'refusal' || (isOwnMethod && !isBodyAllowed(plan, sent.body));
  if (mustBeRefused && answer.status < 400) problems.push('the request was not refused');
  if (plan.expects === 'success' && !isAcceptable(plan, answer)) problems.push('the valid request was refused');
  return problems;
}

function findHeaderProblems({ headers }: Answer): string[] {
  const problems: string[] = [];
  if (!/^[\x21-\x7e]+$/.test(headers['x-request-id'] as string)) problems.push('no X-Request-Id');
  if (headers['x-content-type-options'] !== 'nosniff') problems.push('no X-Content-Type-Options');
  return problems;
}

function findSuccessProblems({ operation, method }: Plan, answer: Answer): string[] {
  // Responses to OPTIONS have no documented body.
  if (method === 'OPTIONS') return [];
  if (method !== operation.method) return [`${method} was served`];
  const declared = operation.responses.get(answer.status);
  if (!declared) return [`status ${answer.status} is not declared`];
  if (answer.status > 299) return answer.text === '' ? [] : [`a response of status ${answer.status} has a body`];
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
  if (!declared.has(type)) return [`content type ${type} is not declared`];
  const validate = declared.get(type);
  if (!validate) return [];
  return getValues(type, answer).every((value) => validate(value))
    ? []
    : [`the response does not match its schema: ${JSON.stringify(validate.errors?.slice(0, 2))}`];
}

/** Returns the values that a response's schema describes: the body, or each event or line of a stream. */
function getValues(type: string, { text, body }: Answer): unknown[] {
  if (type === 'application/json') return [body];
  if (type === 'text/event-stream') {
    // Not with a regular expression, in which U+2028 would also end a line.
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    return lines.map((line) => JSON.parse(line.slice('data: '.length)));
  }
  if (/ndjson|jsonl/.test(type)) return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return [];
}

function findErrorProblems({ operation, method }: Plan, answer: Answer): string[] {
  const declared = operation.responses.get(answer.status);
  if (!declared && method === operation.method && answer.status !== 404) {
    return [`status ${answer.status} is not declared`];
  }
  const code = (Object.keys(STATUS) as Code[]).find((one) => STATUS[one] === answer.status);
  if (code === undefined) return [`status ${answer.status} is not in the table`];
  if (code === 'INTERNAL_ERROR') return ['a server error'];
  try {
    expectError(answer, { code });
    return [];
  } catch (error) {
    return [`the error has the wrong shape: ${(error as Error).message.slice(0, 400)}`];
  }
}

function isAcceptable({ operation, path }: Plan, answer: Answer): boolean {
  if (VALID_STATUSES.includes(answer.status)) return true;
  // The document cannot express that at least one of several parameters is required.
  if (answer.status === 400 && operation.name === 'DELETE /memories' && !path.includes('?')) return true;
  // The document cannot express that at least one field must not be null.
  if (answer.status === 400 && /"message":"body must contain at least one of /.test(answer.text)) return true;
  // The document cannot express that a text must not be empty in the query of this operation only.
  if (answer.status === 400 && / must not be empty; /.test(answer.text)) return true;
  // Other requests set quotas of users and namespaces.
  if (answer.status === 403 && /"message":"the quota of the (user|namespace) /.test(answer.text)) return true;
  // A cursor or a superseded memory of an earlier response may no longer exist.
  return answer.status === 400 && /"path":"\/(cursor|supersedes)"/.test(answer.text);
}

/** Returns whether the schemas of an operation allow the body of a request. */
function isBodyAllowed({ operation, headers, path }: Plan, body: Uint8Array | undefined): boolean {
  if (operation.bodies.size === 0) return true;
  // A file of another program may have any content type.
  if (operation.bodies.has('*/*') && /[?&]from=/.test(path)) return true;
  const type = headers['content-type'];
  const schema = operation.bodies.get(typeof type === 'string' ? type : '');
  // With any other content type, a body is read as JSON. The items of a list are accepted or refused individually.
  if (!schema || /ndjson|jsonl/.test(String(type))) return true;
  const value = parse(body);
  // An item of an import that is not JSON is refused individually, too.
  if (value === undefined && /^POST \/imports?$/.test(operation.name)) return true;
  return schema.schema.type === 'array' ? Array.isArray(value) : schema.validate(value);
}

function parse(body: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
