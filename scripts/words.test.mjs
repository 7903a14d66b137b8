import { describe, expect, it } from 'vitest';
import { findRefusedWords, findRefusedWordsOfJson, findRefusedWordsOfPython } from './words.mjs';

describe('the word check', () => {
  it.each([
    ['function idOf() {}', 'the name idOf must begin with a verb, such as getX for xOf'],
    ['class Row { #sizeOf = 1; }', 'the name sizeOf must begin with a verb, such as getX for xOf'],
    ['const MOST_ROWS = 1;', 'the name MOST_ROWS must begin with MAX_'],
    ['const LONGEST_MS = 1;', 'the name LONGEST_MS must begin with MAX_'],
    ['const LEAST_BYTES = 1;', 'the name LEAST_BYTES must begin with MIN_'],
    ['// What is asked for.', 'a comment must not begin a sentence with "What": What is asked for.'],
    [
      '/** Rows. Who has gone says no more. */',
      'a comment must not begin a sentence with "Who": Who has gone says no more.',
    ],
    ['/**\n * Those that are there.\n */', 'a comment must not begin a sentence with "Those": Those that are there.'],
    [
      '// Rows go:\n// That which is old goes.',
      'a comment must not begin a sentence with "That which": That which is old goes.',
    ],
    ['const neighbourCount = 1;', 'the name neighbourCount must use the spelling neighbor'],
    ['// Rows beside a neighbour.', 'a comment must use the spelling neighbor: Rows beside a neighbour.'],
    [
      'sql`-- Rows that\n-- stay. What is old goes.\nSELECT 1`;',
      'a comment in SQL must not begin a sentence with "What": What is old goes.',
    ],
    [
      'run(`SELECT /* Those of a user. */ 1`);',
      'a comment in SQL must not begin a sentence with "Those": Those of a user.',
    ],
  ])('rejects %j', (code, message) => {
    expect(findRefusedWords('a.ts', `let x;\n${code}`)).toEqual([`a.ts:2 ${message}`]);
  });

  it.each([
    'rows.indexOf(id);',
    'const text = "What is asked for.";',
    '// What does a caller see? Nothing.',
    '// Returns what is asked for.',
    '/** Tells who\n * asked. */',
    'run(`SELECT 1 -- 2`);',
  ])('accepts %j', (code) => {
    expect(findRefusedWords('a.ts', code)).toEqual([]);
  });

  it.each([
    ['size_of = 1', 'the name size_of must begin with a verb, such as get_x for x_of'],
    ['MOST_ROWS = 1', 'the name MOST_ROWS must begin with MAX_'],
    ['# Rows go.\n# What is old goes.', 'a comment must not begin a sentence with "What": What is old goes.'],
    ['"""Rows.\n\nThose of a user.\n"""', 'a docstring must not begin a sentence with "Those": Those of a user.'],
    [
      'def test_is_rejected(): pass',
      'the title of a test must begin with its subject, or with a verb such as returns: is rejected',
    ],
    ['neighbours: int', 'the name neighbours must use the spelling neighbor'],
  ])('rejects %j in Python', (code, message) => {
    expect(findRefusedWordsOfPython('a.py', `x = "#'"\n${code}`)).toEqual([`a.py:2 ${message}`]);
  });

  it.each([
    'text = "What is asked for."',
    "text = '# What is asked for.'",
    'text = """\nWhat is asked for.\n"""',
    '"""Tells who\nasked."""',
    '# It\'s late.\nsizes = 1  # "Rows"',
    'def test_returns_404_for_an_unknown_id(): pass',
  ])('accepts %j in Python', (code) => {
    expect(findRefusedWordsOfPython('a.py', code)).toEqual([]);
  });

  it('rejects a message in a JSON file', () => {
    const text = '{\n  "name": "What",\n  "message": "Rows go. What is old goes."\n}';
    const message = 'a.json:3 a text must not begin a sentence with "What": What is old goes.';
    expect(findRefusedWordsOfJson('a.json', text)).toEqual([message]);
  });

  it.each([
    ['nor after a restart', 'not continue another title'],
    ['it returns a memory', 'have a noun instead of a pronoun'],
    ['is rejected without a key', 'begin with its subject, or with a verb such as returns'],
    ['of a user is counted', 'begin with its subject, or with a verb such as returns'],
    ['$row: %s', 'have words beside its parameters'],
    ['returns a session as well', 'name the case instead of referring to another test'],
  ])('rejects the test title "%s"', (title, rule) => {
    const message = `a.ts:1 the title of a test must ${rule}: ${title}`;
    for (const call of ['it', 'test', 'it.each(rows)', 'it.runIf(ON_FILE).each(rows)', 'it.each`rows`']) {
      expect(findRefusedWords('a.ts', `${call}('${title}', () => {});`), call).toEqual([message]);
    }
    expect(findRefusedWords('a.ts', `describe('${title}', () => {}); it('${title}'); filter('${title}', 1);`)).toEqual(
      [],
    );
  });

  it.each([
    'returns 404 for an unknown id',
    'a user is counted: %s',
    'isolates users',
    'notes are kept',
    '$path has a title',
  ])('accepts the test title "%s"', (title) => {
    expect(findRefusedWords('a.ts', `it('${title}', () => {});`)).toEqual([]);
  });
});
