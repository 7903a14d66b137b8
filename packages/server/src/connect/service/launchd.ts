import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from '../types.ts';
import { getUserId, type ProgramExit, runProgram } from './run-program.ts';
import { type ServiceCommand, toArguments } from './service-command.ts';
import type { ServiceManager } from './service-manager.ts';

const LABEL = 'memoryd';

/** Attempts to load the agent. launchd refuses to load it while an earlier process still stops. */
const MAX_ATTEMPTS = 40;
const ATTEMPT_INTERVAL_MS = 250;

/** Agents of the user, under launchd of macOS. */
export const launchd: ServiceManager = {
  name: 'launchd',
  async isAvailable(machine) {
    if (machine.platform !== 'darwin') return false;
    // The domain exists while the user is logged in at the screen.
    return (await launchctl(machine, 'print', getDomain())).code === 0;
  },
  getFile: ({ home }) => join(home, 'Library/LaunchAgents', `${LABEL}.plist`),
  formatFile: formatAgent,
  async start(machine, file) {
    await launchctl(machine, 'bootout', getTarget());
    await launchctl(machine, 'enable', getTarget());
    return bootstrap(machine, file);
  },
  async stop(machine) {
    const exit = await launchctl(machine, 'bootout', getTarget());
    return exit.code === 0 || (await isLoaded(machine)) ? exit : { ...exit, code: 0 };
  },
  async forget() {},
  async isRunning(machine) {
    const { code, output } = await launchctl(machine, 'print', getTarget());
    return code === 0 && /^\s*state = running$/m.test(output);
  },
  logCommand: (machine) => `tail '${getLogFile(machine)}'`,
  getAdvice: async () => undefined,
};

async function bootstrap(machine: Machine, file: string): Promise<ProgramExit> {
  for (let attempt = 1; ; attempt++) {
    const exit = await launchctl(machine, 'bootstrap', getDomain(), file);
    if (exit.code === 0 || attempt === MAX_ATTEMPTS) return exit;
    await delay(ATTEMPT_INTERVAL_MS);
  }
}

async function isLoaded(machine: Machine): Promise<boolean> {
  return (await launchctl(machine, 'print', getTarget())).code === 0;
}

const getDomain = (): string => `gui/${getUserId()}`;
const getTarget = (): string => `${getDomain()}/${LABEL}`;
const getLogFile = ({ home }: Machine): string => join(home, 'Library/Logs/memoryd.log');

function launchctl(machine: Machine, ...args: string[]): Promise<ProgramExit> {
  return runProgram(machine, 'launchctl', args);
}

/** Returns the property list. The log has warnings and errors only, because launchd does not limit its size. */
function formatAgent(command: ServiceCommand, machine: Machine): string {
  const args = [...toArguments(command), '--log-level', 'warn'];
  const log = escapeXml(getLogFile(machine));
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by memoryd connect, and removed by memoryd connect with the option remove. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${args.map((arg) => `    <string>${escapeXml(arg)}</string>`).join('\n')}
  </array>
  <key>WorkingDirectory</key>
  <string>${escapeXml(machine.home)}</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>Umask</key>
  <integer>63</integer>
  <key>ExitTimeOut</key>
  <integer>30</integer>
  <key>StandardOutPath</key>
  <string>${log}</string>
  <key>StandardErrorPath</key>
  <string>${log}</string>
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
