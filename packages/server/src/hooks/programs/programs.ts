import { claudeCode } from './claude-code.ts';
import type { Program } from './program.ts';

/** The agent programs whose hooks the service answers, by their name in the URL. */
export const PROGRAMS = {
  'claude-code': claudeCode,
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;

export const PROGRAM_NAMES = Object.keys(PROGRAMS) as ProgramName[];
