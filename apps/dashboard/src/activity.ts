import type { MemoryEvent } from '@memoryd/client';
import { capitalize, formatCount, formatMemories, formatNumber } from './format.ts';

/** The names of agent programs, by the source of the memories that their hooks store. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  'gemini-cli': 'Gemini CLI',
  antigravity: 'Antigravity',
  cursor: 'Cursor',
  vscode: 'VS Code',
  'copilot-cli': 'Copilot CLI',
  opencode: 'OpenCode',
};

/** The states of consolidation runs and imports. */
const RUN_STATES: Readonly<Record<Extract<MemoryEvent, { type: 'consolidation' | 'import' }>['state'], string>> = {
  started: 'started',
  progress: 'in progress',
  completed: 'completed',
  failed: 'failed',
  undone: 'undone',
  reverted: 'rolled back',
};

/** Characters of a program's session id that identify it in a list of activities. */
const SESSION_CHARS = 4;

type ImportEvent = Extract<MemoryEvent, { type: 'import' }>;

/** Describes an event in one phrase: `Codex · garden · session ab12… was given 3 memories`. */
export function describeEvent(event: MemoryEvent): string {
  if (event.type === 'gap') return 'Some events were missed';
  if (event.type === 'consolidation') return `Consolidation ${RUN_STATES[event.state]}`;
  if (event.type === 'import') return `Import ${RUN_STATES[event.state]}${describeProgress(event)}`;
  const actor = describeActor(event);
  const memories = formatMemories(event.count);
  if (event.context) return `${actor ?? 'An agent'} was given ${event.count === 0 ? 'nothing' : memories}`;
  return actor === undefined ? `${capitalize(event.type)} ${memories}` : `${actor} ${event.type} ${memories}`;
}

function describeProgress({ state, processed_count: count, expected_count: total }: ImportEvent): string {
  if (state === 'undone') return `: ${formatMemories(count)} forgotten`;
  if (count === 0) return '';
  return state === 'progress' && total !== undefined
    ? `: ${formatNumber(count)} of ${formatCount(total, 'text')}`
    : `: ${formatCount(count, 'text')}`;
}

/** Describes the secrets that were removed from stored memories; undefined if there were none. */
export function describeRedaction(event: MemoryEvent): string | undefined {
  if (!('redacted' in event) || !event.redacted?.length) return undefined;
  const count = event.redacted.reduce((sum, { count: ofKind }) => sum + ofKind, 0);
  const kinds = event.redacted.map(({ kind }) => kind).join(', ');
  return `${formatCount(count, 'secret')} removed before storing (${kinds})`;
}

/** Returns the session of an agent program that an event names; undefined for any other event. */
export function getProgramSession(event: MemoryEvent): string | undefined {
  return 'memory_ids' in event && findProgram(event) !== undefined ? event.session_id : undefined;
}

/** Names of the agent program of an event or a recall. */
interface Acted {
  source?: string;
  session_id?: string;
  project?: string;
}

/** Names an agent program, with its project and session. Returns undefined without a known program. */
export function describeActor(acted: Acted): string | undefined {
  const program = findProgram(acted);
  if (program === undefined) return undefined;
  const { project, session_id: session } = acted;
  return [
    PROGRAMS[program],
    ...(project === undefined ? [] : [getProjectName(project)]),
    ...(session === undefined ? [] : [`session ${shortenSession(session, program)}`]),
  ].join(' · ');
}

/** Returns the name of an agent program; undefined without a known program. */
export function getProgramName(acted: Acted): string | undefined {
  const program = findProgram(acted);
  return program === undefined ? undefined : PROGRAMS[program];
}

/** Returns the program of an event: the source of stored memories, or the first part of the id of its session. */
function findProgram({ source, session_id: session }: Acted): string | undefined {
  return [source, session?.split(':', 1)[0]].find((name) => name !== undefined && Object.hasOwn(PROGRAMS, name));
}

/** Returns the name of a project: the last part of a git remote, or the name of a folder without the digest of its path. */
function getProjectName(project: string): string {
  const name = project.split('/').findLast((part) => part !== '') ?? project;
  return name === project ? project.replace(/-[0-9a-f]{8}$/, '') : name;
}

function shortenSession(session: string, program: string): string {
  const id = session.startsWith(`${program}:`) ? session.slice(program.length + 1) : session;
  const chars = [...id];
  return chars.length > 2 * SESSION_CHARS ? `${chars.slice(0, SESSION_CHARS).join('')}…` : id;
}
