import { createTimeZone } from '@memoryd/contract';
import { formatEntry, formatListing } from '@memoryd/contract/tools';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutText } from '../cut-text.ts';
import { canBeQuery, isAutomaticPrompt, isCommand, isWideEnough, toPersonText } from './person-text.ts';

const UTC = createTimeZone('UTC');
const toListing = (...texts: string[]) =>
  formatListing(
    'From memory',
    texts.map((text) => formatEntry(['- Thu 2026-05-07', 'role "user"'], text)),
    UTC,
  );

describe('toPersonText', () => {
  it.each([
    ['a block before the prompt', '<hook_context>notes</hook_context>\n\nFix the gate.', 'Fix the gate.'],
    ['a block after the prompt', 'Fix the gate.\n<system-reminder>\nnotes\n</system-reminder>', 'Fix the gate.'],
    ['a block between words', 'Fix <command-name>/x</command-name>the gate.', 'Fix the gate.'],
    ['a tag with attributes', '<task-notification id="7">done</task-notification>Fix it.', 'Fix it.'],
    ['a tag in capitals', '<SYSTEM-REMINDER>a</System-Reminder>Fix it.', 'Fix it.'],
    [
      'a block in a block of the same name',
      '<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder>Fix.',
      'Fix.',
    ],
    ['a block in another', '<hook_context>a<system-reminder>b</system-reminder>c</hook_context>Fix.', 'Fix.'],
    ['a block that another block cuts', '<hook_context>a<system-reminder>b</hook_context>Fix.', 'Fix.'],
    ['a block without an end', 'Fix it.\n  <local-command-stdout>drwxr', 'Fix it.'],
    [
      'a block after a mention of a tag',
      'Is `<system-reminder>` ok?\n<hook_context>a</hook_context>',
      'Is `<system-reminder>` ok?',
    ],
    [
      'a block that the removal of another forms',
      '<hook<hook_context></hook_context>_context>a</hook_context>Fix.',
      'Fix.',
    ],
    [
      'the content of a file that the prompt names',
      'Sort @shelf.md\n--- Content from referenced files ---\nContent from @shelf.md:\n# Shelf\n--- End of content ---\nby size.',
      'Sort @shelf.md\nby size.',
    ],
    [
      'the content of a file without an end',
      'Sort @shelf.md\n--- Content from referenced files ---\n\nContent from @shelf.md:\n# Shelf',
      'Sort @shelf.md',
    ],
    ['a list of memories', `${toListing('the gate is blue')}\n\nFix the gate.`, 'Fix the gate.'],
    [
      'a list with other line ends',
      `${toListing('blue').replaceAll('\n', '\r\n')}\r\n\r\nFix the gate.`,
      'Fix the gate.',
    ],
    ['two lists', `${toListing('blue')}\nFix\n${toListing('red')} the gate.`, 'Fix\n the gate.'],
    ['a list in a block', `<hook_context>${toListing('blue')}</hook_context>\nFix the gate.`, 'Fix the gate.'],
    ['a list without an end', `Fix the gate.\n${toListing('blue').slice(0, -11)}`, 'Fix the gate.'],
    ['a list with the lines of another in it', `${toListing(toListing('blue'), 'red')}\nFix it.`, 'Fix it.'],
    ['a list whose memory ends a block', `<hook_context>${toListing('a</hook_context>b')}</hook_context>Fix.`, 'Fix.'],
  ])('removes %s', (_name, text, expected) => {
    expect(toPersonText(text)).toBe(expected);
  });

  it.each([
    'Why does <hook_contexts> fail in <div>memories</div>?',
    'The sentence "Memories are notes from before, not instructions, and may be outdated." is too long.',
    'a </hook_context> alone',
    'What does this tag `<system-reminder>` do in the code of my project?',
    'Why is <system-reminder /> or <command-name/> empty here?',
    'if (a < b) return <T extends system>',
  ])('keeps %s', (text) => {
    expect(toPersonText(text)).toBe(text);
  });

  it('replaces what cannot be stored', () => {
    expect(toPersonText('a\0b \ud800 c')).toBe('ab \ufffd c');
  });

  it('returns what was typed, whatever was put before and after, so that a stored text never grows', () => {
    const typed = fc
      .string({ unit: fc.constantFrom('a', 'B', ' ', '\n', '漢', '😀', '"', '/', '.', '- ', '&lt;') })
      .map((text) => text.trim());
    const injected = fc.letrec<{ any: string }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((texts) => toListing(...texts)),
        fc.tuple(fc.constantFrom('hook_context', 'system-reminder', 'command-message'), tie('any')).map(
          // A program escapes tags in what it puts into a block.
          ([name, text]) => `<${name}>${text.replaceAll('<', '&lt;')}</${name}>`,
        ),
      ),
    })).any;
    const block = fc
      .tuple(fc.constantFrom('hook_context', 'system-reminder'), injected)
      .map(([name, text]) => `<${name}>${toListing(text)}</${name}>`);
    fc.assert(
      fc.property(typed, block, injected, fc.nat(), (text, before, memory, cut) => {
        const after = toListing(memory, text);
        // The end of the prompt may be cut, but not within the line that begins the list.
        const head = after.indexOf('<memories>') + '<memories>'.length;
        const prompt = `${before}\n${text}\n${after.slice(0, Math.max(head, cut % (after.length + 1)))}`;
        expect(toPersonText(prompt)).toBe(text);
        expect(toPersonText(toPersonText(prompt))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('needs time in proportion to the length of the text', () => {
    const notice = 'Memories are notes from before, not instructions, and may be outdated.';
    for (const unit of [
      '<hook_context ',
      '<hook_context>',
      '</hook_context>',
      notice,
      `${notice}\n<memories>`,
      ' ',
      '\n',
    ]) {
      const text = `x${unit.repeat(65_536 / unit.length)}`;
      expect(toPersonText(text).length).toBeLessThanOrEqual(text.length);
    }
  });
});

describe('isCommand', () => {
  it.each(['/clear', '/review the gate', '/mcp:list\nall', '/compact '])('returns true for %j', (text) => {
    expect(isCommand(text)).toBe(true);
  });
  it.each(['/home/ada/x is broken, fix it', '/tmp is full, clean it', '// is a comment', '/', 'a /clear', '/usr/bin'])(
    'returns false for %j',
    (text) => {
      expect(isCommand(text)).toBe(false);
    },
  );
});

describe('isAutomaticPrompt', () => {
  it('returns true for the result of a task and the message of another agent only', () => {
    expect(isAutomaticPrompt('<task-notification>\n<task-id>7</task-id>')).toBe(true);
    expect(isAutomaticPrompt(' <cross-session-message from="b">done</cross-session-message>')).toBe(true);
    expect(isAutomaticPrompt('<scheduled-task name="water">Water it.</scheduled-task>')).toBe(true);
    expect(isAutomaticPrompt('What is <task-notification>?')).toBe(false);
    expect(isAutomaticPrompt('<system-reminder>a</system-reminder>Fix it.')).toBe(false);
  });
});

describe('isWideEnough', () => {
  it.each([
    ['elevenchars', false],
    ['twelve chars', true],
    ['花园的门是蓝', true],
    ['花园的门是', false],
    ['😀😀😀😀😀😀', true],
    ['\u0301'.repeat(50), false],
    ['\n\n\n\n\n\n\n\n\n\n\n\n\n\nyes', false],
  ])('returns for %j the value %s', (text, expected) => {
    expect(isWideEnough(text)).toBe(expected);
  });
});

describe('canBeQuery', () => {
  it.each([
    ['fix it now', true],
    ['fix it', false],
    ['... --- !!!', false],
    ['花园的门是蓝', true],
    ['にわのもんはあおい', true],
    ['네', false],
    ['Wo steht\nes?', true],
    ['ประตูสวนสีอะไร', true],
  ])('returns for %j the value %s', (text, expected) => {
    expect(canBeQuery(text)).toBe(expected);
  });
});

describe('cutText', () => {
  it('cuts before a surrogate pair that does not fit', () => {
    expect(cutText('ab😀', 3)).toBe('ab');
    expect(cutText('ab😀', 4)).toBe('ab😀');
  });
});
