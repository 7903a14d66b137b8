import { join } from 'node:path';
import type { Machine } from '../types.ts';
import { getUserId, type ProgramExit, runProgram } from './run-program.ts';
import { type ServiceCommand, toArguments } from './service-command.ts';
import type { ServiceManager } from './service-manager.ts';

const UNIT = 'memoryd.service';

/** States of `systemctl --user is-system-running` in which units can be started. */
const AVAILABLE = ['initializing', 'starting', 'running', 'degraded'];

/** Units of the user, under systemd. */
export const systemd: ServiceManager = {
  name: 'systemd',
  async isAvailable(machine) {
    if (machine.platform !== 'linux') return false;
    // The exit code is 1 for a manager with a failed unit, which is usable.
    const { output } = await systemctl(machine, 'is-system-running');
    return AVAILABLE.includes(output);
  },
  getFile({ home, env }) {
    return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'systemd/user', UNIT);
  },
  formatFile: formatUnit,
  async start(machine) {
    const reloaded = await systemctl(machine, 'daemon-reload');
    if (reloaded.code !== 0) return reloaded;
    const enabled = await systemctl(machine, 'enable', UNIT);
    return enabled.code === 0 ? systemctl(machine, 'restart', UNIT) : enabled;
  },
  stop: (machine) => systemctl(machine, 'disable', '--now', UNIT),
  async forget(machine) {
    await systemctl(machine, 'daemon-reload');
    await systemctl(machine, 'reset-failed', UNIT);
  },
  isRunning: async (machine) => (await systemctl(machine, 'is-active', UNIT)).output === 'active',
  logCommand: () => `journalctl --user -u ${UNIT}`,
  async getAdvice(machine) {
    const { output } = await runProgram(machine, 'loginctl', [
      'show-user',
      '--property=Linger',
      '--value',
      getUserId(),
    ]);
    if (output === 'yes') return undefined;
    return 'The service runs while you are logged in. To keep it running after you log out: loginctl enable-linger';
  },
};

function systemctl(machine: Machine, ...args: string[]): Promise<ProgramExit> {
  return runProgram(machine, 'systemctl', ['--user', ...args]);
}

/**
 * Returns the unit. Its protection is the part of `deploy/systemd/memoryd.service` that needs no privileges: the
 * manager of a user may install filters of system calls, and may not create namespaces on every system.
 */
function formatUnit(command: ServiceCommand): string {
  return `# Written by memoryd connect, and removed by memoryd connect --remove.
[Unit]
Description=memoryd, a memory service for AI agents
# Removes systemd's limit on the number of restarts.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=:${toArguments(command).map(quote).join(' ')}
Restart=on-failure
RestartSec=1
TimeoutStopSec=30
UMask=0077

LockPersonality=yes
NoNewPrivileges=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
`;
}

/**
 * Quotes a word of `ExecStart` (`man 5 systemd.service`, "Command lines"). A dollar sign needs no escape after the
 * prefix `:` of the command.
 */
function quote(word: string): string {
  return `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;
}
