import { ask, canAsk } from '../commands/ask.ts';
import { UsageError } from '../usage-error.ts';
import { toPrograms } from './options.ts';
import { AGENT_PROGRAMS } from './programs/index.ts';
import { type ConnectRecord, isSameConnection } from './record.ts';
import { type Machine, PROGRAMS, type ProgramName } from './types.ts';

/** Returns the programs that are installed on a machine. */
function getInstalled(machine: Machine): ProgramName[] {
  return PROGRAMS.filter((name) => AGENT_PROGRAMS[name].isInstalled(machine));
}

/**
 * Lists the installed programs, and asks which of them to connect.
 *
 * @throws UsageError without a terminal, or if no program is installed
 */
export async function choosePrograms(
  machine: Machine,
  record: ConnectRecord,
  project: string | undefined,
  write: (text: string) => Promise<void>,
): Promise<ProgramName[]> {
  const installed = getInstalled(machine);
  if (installed.length === 0) {
    throw new UsageError(`no known program is installed; name one of ${PROGRAMS.join(', ')}`);
  }
  if (!canAsk()) {
    throw new UsageError(`memoryd connect needs the name of a program; installed are ${installed.join(', ')}`);
  }
  const rows = installed.map((program, index) => {
    const id = { program, ...(project !== undefined && { project }) };
    const isConnected = record.connections.some((connection) => isSameConnection(connection, id));
    return `  ${index + 1}  ${AGENT_PROGRAMS[program].title} (${program})${isConnected ? ', connected' : ''}\n`;
  });
  await write(`Installed programs:\n${rows.join('')}`);
  const answer = await ask('Which of them? Numbers or names, all, or none [all]: ');
  if (/^(all)?$/i.test(answer)) return installed;
  if (/^none$/i.test(answer)) return [];
  return toPrograms(answer.split(/[\s,]+/).map((word) => installed[Number(word) - 1] ?? word));
}
