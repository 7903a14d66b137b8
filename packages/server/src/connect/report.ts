import { existsSync } from 'node:fs';
import { styleText } from 'node:util';
import { createTwoFilesPatch } from 'diff';
import { toPrintable } from '../commands/printable.ts';
import { toShellWord } from '../commands/shell-word.ts';
import type { Plan, PlannedFile, SkippedFile } from './plan.ts';
import { isChange } from './plan.ts';
import { AGENT_PROGRAMS } from './programs/index.ts';
import { type Connection, type Machine, OWNED_MARK } from './types.ts';

/** Unchanged lines that a diff shows before and after a change. */
const CONTEXT_LINES = 2;

/** Returns the changes of a plan as unified diffs, with the files that are left alone. */
export function formatPlan({ files, skipped }: Plan): string[] {
  return [
    ...files.filter(({ plan }) => isChange(plan)).map(formatChange),
    ...files.flatMap(formatNotes),
    ...skipped.map(formatSkipped),
  ];
}

function formatChange({ path, plan: { before, after } }: PlannedFile): string {
  const [from, to] = [before, after].map((bytes) => bytes?.toString('utf8'));
  if (isOwned(from) || isOwned(to)) {
    const verb = to === undefined ? 'deleted' : from === undefined ? 'new' : 'updated';
    return `${verb} file ${toPrintable(path)}, which memoryd owns`;
  }
  const patch = createTwoFilesPatch('', '', from ?? '', to ?? '', '', '', { context: CONTEXT_LINES });
  // Without the names that the library writes, because it escapes letters beyond ASCII.
  const hunks = patch.slice(patch.indexOf('@@ ')).trimEnd().split('\n');
  const names = [`--- ${from === undefined ? '/dev/null' : path}`, `+++ ${to === undefined ? '/dev/null' : path}`];
  return [...names, ...hunks].map((line) => toColored(toPrintable(line.replace(/\r$/, '')))).join('\n');
}

function isOwned(text: string | undefined): boolean {
  return text?.includes(OWNED_MARK) === true;
}

function toColored(line: string): string {
  if (line.startsWith('+') && !line.startsWith('+++')) return styleText('green', line);
  return line.startsWith('-') && !line.startsWith('---') ? styleText('red', line) : line;
}

function formatNotes({ path, plan: { notes } }: PlannedFile): string[] {
  return notes.map((text) => `${toPrintable(path)}: ${text}`);
}

/** Returns the sentence about a file that is left alone. */
export function formatSkipped({ path, reason }: SkippedFile): string {
  return `${toPrintable(path)} is left as it is: ${reason}`;
}

/** Returns what a connection means for the person: who stores what, and what to do next. */
export function formatConnection(connection: Connection, machine: Machine): string[] {
  const { program, project, user, url } = connection;
  const { title, getAdvice } = AGENT_PROGRAMS[program];
  const place = project === undefined ? '' : ` in ${toPrintable(project)}`;
  const ownership =
    project === undefined
      ? []
      : [
          'The files name this user and paths of this machine. Git ignores new ones in this clone; keep changes of tracked ones out of commits.',
        ];
  const lines = [
    ...getEffects(connection),
    ...getAdvice(connection, machine),
    ...getImportAdvice(connection, machine),
    ...ownership,
  ];
  return [`${title} is connected${place} as ${toPrintable(user)} at ${url}.`, ...lines.map((line) => `  ${line}`)];
}

function getEffects({ program, capture, recall }: Connection): string[] {
  if (program === 'claude-desktop') return [];
  const stored = {
    prompts: 'From now on, memoryd stores the prompts that you type there.',
    turns: 'From now on, memoryd stores the prompts that you type there, and the last answer of each turn.',
    off: 'Hooks store nothing there; the model can still store memories by its tools.',
  };
  const given = recall
    ? 'It gives the program memories that fit.'
    : 'Hooks give no memories; the model can still recall them by its tools.';
  return [stored[capture], given];
}

/** Returns how to import the conversations that the program has kept before, if there are any. */
function getImportAdvice({ program, user, url }: Connection, machine: Machine): string[] {
  const folder = AGENT_PROGRAMS[program].getConversationFolder?.(machine);
  if (folder === undefined || !existsSync(folder)) return [];
  const [userWord, urlWord] = [user, url].map((word) => toShellWord(word, machine.platform));
  return [`Bring earlier conversations: memoryd import --from ${program} --user ${userWord} --url ${urlWord}`];
}

/** Returns how to look, pause and take back, for the connections of one command. */
export function formatNextSteps(connections: readonly Connection[]): string[] {
  const isProject = connections.some(({ project }) => project !== undefined);
  const names = connections.map(({ program }) => program).join(' ');
  const inProject = isProject ? ' --project' : '';
  return [
    `See what is stored: memoryd connect --status. Pause: memoryd connect${inProject} --pause. ` +
      `Take it back: memoryd connect ${names}${inProject} --remove.`,
  ];
}
