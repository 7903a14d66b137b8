import { parseSync, Visitor } from 'oxc-parser';

/** Names from JavaScript, JSON Schema and Vitest that the rules would refuse. */
const ALLOWED_NAMES = new Set([
  ...['allOf', 'anyOf', 'expectTypeOf', 'getPrototypeOf', 'indexOf', 'isPrototypeOf', 'lastIndexOf', 'oneOf'],
  ...['setPrototypeOf', 'toBeInstanceOf', 'toBeTypeOf', 'toEqualTypeOf', 'valueOf'],
]);

const NAME_RULES = [
  { refused: /^[a-z]\w*Of$/, rule: 'begin with a verb, such as getX for xOf' },
  { refused: /^(?:MOST|LONGEST|LARGEST)_/, rule: 'begin with MAX_' },
  { refused: /^(?:LEAST|FEWEST|SHORTEST|SMALLEST)_/, rule: 'begin with MIN_' },
];

/** British spellings, in names and in prose. */
const SPELLING_RULES = [{ refused: /neighbour/i, rule: 'use the spelling neighbor' }];

/** Functions of Vitest whose first argument is the title of a test. */
const TEST_FUNCTIONS = new Set(['it', 'test']);

/** Beginnings of titles without the subject that an earlier title or the surrounding `describe` has. */
const TITLE_RULES = [
  {
    refused: /^(?:nor|and|but|also|then|so|even|too|likewise|or|otherwise|neither)\b/i,
    rule: 'not continue another title',
  },
  { refused: /^(?:it|its|they|their|them|this|these|those)\b/i, rule: 'have a noun instead of a pronoun' },
  {
    refused:
      /^(?:is|are|was|were|does|do|has|have|had|can|cannot|may|must|that|which|who|of|with|without|in|to|from|by|as|at|on|for|after|before|when|while|because|if)\b/,
    rule: 'begin with its subject, or with a verb such as returns',
  },
  { refused: /^(?:(?:%[sdijfo]|\$[\w.]+)[\s,:>]*)+$/, rule: 'have words beside its parameters' },
  { refused: /\b(?:too|likewise|as well)$/i, rule: 'name the case instead of referring to another test' },
];

/** A sentence that starts with a refused word. Questions match too, and the caller accepts them. */
const SENTENCE = /(?<=^|[.!?:]\s+)(What|Whatever|Who|Whoever|Those|That which)\b[^.!?]*([.!?]|$)/g;

/**
 * Returns the words of a TypeScript or JavaScript file that the rules for plain English refuse.
 *
 * @param {string} file name of the file; the extension determines the language
 * @param {string} text
 * @returns {string[]} one message per refused word, with file, line and rule
 */
export function findRefusedWords(file, text) {
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) return [`${file} cannot be parsed: ${errors[0].message}`];
  const found = [];
  const add = (at, message) => found.push({ at, message });
  const checkName = ({ name, start }) => {
    if (ALLOWED_NAMES.has(name)) return;
    for (const { refused, rule } of [...NAME_RULES, ...SPELLING_RULES]) {
      if (refused.test(name)) add(start, `the name ${name} must ${rule}`);
    }
  };
  const addProse = (at, kind, prose) => {
    for (const message of findRefusedSentences(prose)) add(at, `a ${kind} must ${message}`);
  };
  const checkTitle = ({ callee, arguments: [title, ...others] }) => {
    if (others.length === 0 || !TEST_FUNCTIONS.has(getCalledName(callee))) return;
    const words = getString(title);
    if (words === undefined) return;
    for (const { refused, rule } of [...TITLE_RULES, ...SPELLING_RULES]) {
      if (refused.test(words)) add(title.start, `the title of a test must ${rule}: ${words.slice(0, 60)}`);
    }
  };
  new Visitor({
    Identifier: checkName,
    PrivateIdentifier: checkName,
    JSXIdentifier: checkName,
    CallExpression: checkTitle,
    TemplateElement: ({ value, start }) => {
      for (const comment of getSqlComments(value.raw)) addProse(start, 'comment in SQL', comment);
    },
  }).visit(program);
  for (const { value, start } of joinLines(comments, text)) {
    const prose = value.replaceAll(/\s*\n\s*\*?[ \t]*/g, (blank) => (/\n\s*\*?[ \t]*\n/.test(blank) ? '. ' : ' '));
    addProse(start, 'comment', prose.replace(/^\*?\s*/, ''));
  }
  return format(file, text, found);
}

/**
 * Returns the words of a JSON file that the rules refuse. Checks the texts that contain a space, such as the messages of
 * lint rules. See `findRefusedWords`.
 *
 * @param {string} file
 * @param {string} text
 * @returns {string[]}
 */
export function findRefusedWordsOfJson(file, text) {
  const found = [];
  for (const { 0: string, index } of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    const words = JSON.parse(string);
    if (!words.includes(' ')) continue;
    for (const message of findRefusedSentences(words)) found.push({ at: index, message: `a text must ${message}` });
  }
  return format(file, text, found);
}

/** Strings and comments of Python, so that a quote in a comment starts no string, and # in a string no comment. */
const PYTHON_TEXT =
  /[rbfu]{0,2}(?:"""([\s\S]*?)"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|#.*(?:\n[ \t]*#.*)*/gi;

/** Names of Python that end with a preposition. `as_of` is a name of the REST interface. */
const PYTHON_NAME_RULES = [{ refused: /^(?!as_of$)[a-z]\w*_of$/, rule: 'begin with a verb, such as get_x for x_of' }];

/**
 * Returns the words of a Python file that the rules refuse, in names, comments, docstrings, and the names of tests, which
 * are their titles. See `findRefusedWords`.
 *
 * @param {string} file
 * @param {string} text
 * @returns {string[]}
 */
export function findRefusedWordsOfPython(file, text) {
  const found = [];
  const addProse = (at, kind, prose) => {
    for (const message of findRefusedSentences(prose)) found.push({ at, message: `a ${kind} must ${message}` });
  };
  // Blanks of the same length keep the positions of the names.
  const code = text.replaceAll(PYTHON_TEXT, (match, docstring, at) => {
    const isStatement = text.slice(text.lastIndexOf('\n', at) + 1, at).trim() === '';
    if (match.startsWith('#')) addProse(at, 'comment', match.replaceAll(/\n?[ \t]*#+[ \t]?/g, ' ').trim());
    else if (docstring !== undefined && isStatement) addProse(at, 'docstring', joinParagraphs(docstring));
    return ' '.repeat(match.length);
  });
  for (const { 0: name, index } of code.matchAll(/\b[A-Za-z_]\w*/g)) {
    for (const { refused, rule } of [...NAME_RULES, ...PYTHON_NAME_RULES, ...SPELLING_RULES]) {
      if (refused.test(name)) found.push({ at: index, message: `the name ${name} must ${rule}` });
    }
  }
  for (const { 1: name, index } of code.matchAll(/\bdef test_(\w+)/g)) {
    const title = name.replaceAll('_', ' ');
    for (const { refused, rule } of [...TITLE_RULES, ...SPELLING_RULES]) {
      if (refused.test(title)) found.push({ at: index, message: `the title of a test must ${rule}: ${title}` });
    }
  }
  return format(file, text, found);
}

/** Returns a docstring on one line, where a blank line ends a sentence. */
function joinParagraphs(docstring) {
  return docstring.trim().replaceAll(/\s*\n\s*/g, (blank) => (/\n[ \t]*\n/.test(blank) ? '. ' : ' '));
}

function format(file, text, found) {
  return found.map(({ at, message }) => `${file}:${text.slice(0, at).split('\n').length} ${message}`);
}

/** Returns the broken rules of a text of several sentences. */
function findRefusedSentences(prose) {
  const found = [];
  for (const [sentence, subject, end] of prose.matchAll(SENTENCE)) {
    if (end !== '?') found.push(`not begin a sentence with "${subject}": ${sentence.slice(0, 60)}`);
  }
  for (const { refused, rule } of SPELLING_RULES) if (refused.test(prose)) found.push(`${rule}: ${prose.slice(0, 60)}`);
  return found;
}

/** Returns the comments of SQL as prose. Consecutive lines are one comment. */
function getSqlComments(sql) {
  const lines = sql.matchAll(/^[ \t]*--[ \t]+.*(?:\n[ \t]*--[ \t]+.*)*/gm);
  const blocks = sql.matchAll(/\/\*([\s\S]*?)\*\//g);
  return [
    ...Array.from(lines, ([text]) => text.replaceAll(/\s*(?:^|\n)[ \t]*--[ \t]+/g, ' ').trim()),
    ...Array.from(blocks, ([, text]) => text.replaceAll(/\s+/g, ' ').trim()),
  ];
}

/** Returns `it` for `it(…)`, `it.each(…)(…)` and `it.runIf(…)(…)`; undefined for a call of another expression. */
function getCalledName(callee) {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return getCalledName(callee.object);
  if (callee.type === 'TaggedTemplateExpression') return getCalledName(callee.tag);
  return callee.type === 'CallExpression' ? getCalledName(callee.callee) : undefined;
}

/** Returns the text of a string, with `…` for the expressions of a template; undefined for another expression. */
function getString(node) {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  return node.type === 'TemplateLiteral' ? node.quasis.map(({ value }) => value.cooked).join('…') : undefined;
}

/** Joins consecutive line comments into one comment. */
function joinLines(comments, text) {
  const joined = [];
  let end = -1;
  for (const comment of comments) {
    const last = joined.at(-1);
    const isNext = comment.type === 'Line' && last?.type === 'Line' && text.slice(end, comment.start).trim() === '';
    if (isNext) last.value += `\n${comment.value}`;
    else joined.push({ ...comment });
    end = comment.end;
  }
  return joined;
}
