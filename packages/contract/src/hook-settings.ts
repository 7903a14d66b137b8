import { timestamp, UserId } from './field.ts';
import { LIMITS } from './limits.ts';
import Type from './typebox.ts';

/** Names the user whose hooks are read or changed. */
export const HooksRequest = Type.Object(
  {
    user_id: Type.Optional(
      Type.String({ ...UserId, description: 'The user whose agent programs call the hooks. Absent: no user.' }),
    ),
  },
  { additionalProperties: false },
);
export type HooksRequest = Type.Static<typeof HooksRequest>;

const Paused = Type.Boolean({
  description: 'If true, hooks store nothing and give nothing.',
  'x-must': 'be true or false',
});

/** An absolute path of Linux, macOS or Windows, with `/` or `\`. It is compared as text and never opened. */
const IgnoredFolder = Type.String({ pattern: '^(?:/|\\\\\\\\|[A-Za-z]:[/\\\\])', maxLength: LIMITS.folderChars });

const IgnoredFolders = Type.Array(IgnoredFolder, {
  maxItems: LIMITS.ignoredFolders,
  description:
    'Absolute paths of folders. In these folders and below them, hooks store nothing and give nothing. Duplicates are removed.',
  'x-must':
    `be an array of at most ${LIMITS.ignoredFolders} absolute paths of at most ${LIMITS.folderChars} characters, ` +
    'such as /home/ada/private or C:\\Users\\Ada\\private',
});

/** The settings of one user for the hooks of agent programs. */
export const HookSettings = Type.Object({ paused: Paused, ignored_folders: IgnoredFolders });
export type HookSettings = Type.Static<typeof HookSettings>;

/** Settings to change. Absent settings stay as they are. */
export const HookSettingsChange = Type.Object(
  { paused: Type.Optional(Paused), ignored_folders: Type.Optional(IgnoredFolders) },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ ignored_folders: ['/home/ada/private'] }],
    'x-must': 'contain at least one of paused, ignored_folders',
  },
);
export type HookSettingsChange = Type.Static<typeof HookSettingsChange>;

const ofToday = (counted: string) => Type.Integer({ minimum: 0, description: `${counted} since 0:00 UTC.` });
const milliseconds = (description: string) => Type.Number({ minimum: 0, description });

/** The last error of the hooks of an agent program. */
export const HookError = Type.Object({
  at: timestamp('Time of the error.'),
  message: Type.String({ description: 'What failed. Contains no text of a prompt or a memory.' }),
});
export type HookError = Type.Static<typeof HookError>;

/**
 * The activity of the hooks of one agent program for one user, as far as this process of the service remembers: it starts
 * empty, and other processes on the same database count separately.
 */
export const HookProgramActivity = Type.Object({
  program: Type.String({ description: 'The agent program, such as `claude-code`.' }),
  last_call_at: timestamp('Time of the last call of a hook.'),
  calls_today: ofToday('Calls of hooks'),
  stored_today: ofToday('Calls that stored a memory'),
  redacted_today: ofToday('Secrets that were removed before storing'),
  given_today: ofToday('Memories that were given to the program'),
  p50_ms: milliseconds('Median time of the last calls, at most 200, in milliseconds.'),
  p99_ms: milliseconds('99th percentile of the time of the last calls, at most 200, in milliseconds.'),
  last_error: Type.Union([HookError, Type.Null()], { description: 'Null if no call failed.' }),
});
export type HookProgramActivity = Type.Static<typeof HookProgramActivity>;

export const HooksResponse = Type.Object({
  ...HookSettings.properties,
  programs: Type.Array(HookProgramActivity, {
    description: 'The programs that have called a hook since the service started, ordered by name.',
  }),
});
export type HooksResponse = Type.Static<typeof HooksResponse>;
