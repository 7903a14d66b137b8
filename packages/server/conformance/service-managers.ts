import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../src/connect/types.ts';
import { createTemporaryFolder } from './folders.ts';

/** Starts a command line in the background, without a model, and writes its process id to a file beside the log of calls. */
const START = '(SERVICE_EMBEDDER=none "$@" >>"$here/service.log" 2>&1 & echo $! >"$here/pid")';

const STOP = `[ -f "$here/pid" ] && kill "$(cat "$here/pid")" && while kill -0 "$(cat "$here/pid")" 2>/dev/null; do sleep 0.05; done; rm -f "$here/pid"`;

const IS_RUNNING = '[ -f "$here/pid" ] && kill -0 "$(cat "$here/pid")" 2>/dev/null';

const PROGRAMS = {
  // Reads the command of the unit as systemd does: words in quotes, with escapes.
  systemctl: `
shift
unit="\${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/memoryd.service"
case "$1" in
  is-system-running) [ -e "$here/offline" ] && { echo offline; exit 1; }; echo running;;
  restart)
    [ -e "$here/refuses" ] && { echo 'Job for memoryd.service failed' >&2; exit 1; }
    ${STOP}
    python3 - "$unit" >"$here/words" <<'END'
import re, sys
[line] = [line[len('ExecStart=:'):] for line in open(sys.argv[1]).read().splitlines() if line.startswith('ExecStart=')]
for word in re.findall(r'"((?:[^"\\\\]|\\\\.)*)"', line): print(re.sub(r'\\\\(.)', r'\\1', word).replace('%%', '%'))
END
    mapfile -t words <"$here/words"
    set -- "\${words[@]}"
    ${START};;
  disable) [ -e "$here/stays" ] && { echo 'Failed to disable unit' >&2; exit 1; }; ${STOP};;
  is-active) if ${IS_RUNNING}; then echo active; else echo inactive; exit 3; fi;;
esac
exit 0`,
  loginctl: 'echo no',
  launchctl: `
case "$1" in
  bootstrap)
    python3 -c 'import plistlib, sys; print("\\n".join(plistlib.load(open(sys.argv[1], "rb"))["ProgramArguments"]))' "$3" >"$here/words"
    mapfile -t words <"$here/words"
    set -- "\${words[@]}"
    ${START};;
  bootout) ${IS_RUNNING} || exit 3; ${STOP};;
  print) case "$2" in
    gui/*/memoryd) ${IS_RUNNING} || exit 113; printf '\\tstate = running\\n';;
    *) [ -e "$here/offline" ] && exit 112;;
    esac;;
esac
exit 0`,
};

type Behavior = 'offline' | 'refuses' | 'stays';

/** A machine whose service managers are programs that start and stop the real service, and log how they are called. */
export interface MachineUnderTest extends Machine {
  /** Returns the arguments of the calls of a program so far. */
  getCalls(program: keyof typeof PROGRAMS): string[];
  /** Makes the managers behave in a special way: see `PROGRAMS`. */
  set(behavior: Behavior): void;
  unset(behavior: Behavior): void;
}

/** Creates a machine with a home folder whose path has a space, a percent sign, a quote and an ampersand. */
export function createMachine(platform: NodeJS.Platform): MachineUnderTest {
  const folder = createTemporaryFolder();
  const home = join(folder, `Ada's 100% "home" & <garden> $HOME`);
  mkdirSync(home);
  for (const [name, script] of Object.entries(PROGRAMS)) {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/bash\nhere='${folder}'\nprintf '%s\\n' "$*" >>"$here/${name}.calls"\n${script}\n`);
    chmodSync(path, 0o755);
  }
  const env = { HOME: home, PATH: `${folder}:${process.env.PATH}` };
  return {
    ...{ platform, home, env, node: process.execPath },
    folders: { config: join(home, '.memoryd/config'), log: join(home, '.memoryd/log') },
    getCalls(program) {
      try {
        return readFileSync(join(folder, `${program}.calls`), 'utf8')
          .trim()
          .split('\n');
      } catch {
        return [];
      }
    },
    set: (behavior) => writeFileSync(join(folder, behavior), ''),
    unset: (behavior) => rmSync(join(folder, behavior)),
  };
}
