import { canAsk, confirm } from '../commands/ask.ts';
import { note, write } from '../commands/output.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { prepareAccess, readKey, removeAccess } from './access.ts';
import { removeBundle, writeBundle } from './bundle.ts';
import { choosePrograms } from './choose.ts';
import { withLock } from './lock.ts';
import { getMachine } from './machine.ts';
import { type ConnectFlags, getProject, toAccount, toConnection, toPrograms } from './options.ts';
import { removeOwnFiles, writeHook } from './own-files.ts';
import { applyPlan, type ConnectionId, isChange, type Plan, planConnections, type SkippedFile } from './plan.ts';
import { AGENT_PROGRAMS } from './programs/index.ts';
import { type ConnectRecord, isSameConnection, type RecordedConnection, readRecord } from './record.ts';
import { recoverConnections } from './recover.ts';
import { formatConnection, formatNextSteps, formatPlan, formatSkipped } from './report.ts';
import { ensureService, removeService } from './service/service.ts';
import { isHealthy } from './service/user-service.ts';
import { changePause, getStatusLines } from './status.ts';
import { describeStored } from './stored.ts';
import { type Account, type Connection, type Machine, PROGRAMS, type ProgramName } from './types.ts';

/** The command line, and the machine that it is for. */
interface Call {
  flags: ConnectFlags;
  env: Environment;
  machine: Machine;
}

/**
 * Runs `memoryd connect`.
 *
 * @param names of programs
 * @throws UsageError, and changes nothing, for an unknown program or an invalid option
 */
export async function runConnect(names: readonly string[], flags: ConnectFlags, env: Environment): Promise<void> {
  const call: Call = { flags, env, machine: getMachine() };
  const programs = toPrograms(names);
  if (programs.length > 0 && (flags.status || flags.pause || flags.resume)) {
    throw new UsageError('--status, --pause and --resume are for all programs; leave out the names of programs');
  }
  if (flags.status)
    return printLines(await getStatusLines({ machine: call.machine, url: flags.url, json: flags.json }));
  if (flags.pause || flags.resume) return pause(call);
  const change = () => (flags.remove ? remove(call, programs) : connect(call, programs));
  return flags.dryRun ? change() : withLock(call.machine, change);
}

/** Reads the record, with connections that it has lost: of the named programs, or of all if the whole record is lost. */
function readConnections({ flags, machine }: Call, named: readonly ProgramName[]): ConnectRecord {
  const record = readRecord(machine);
  const project = getProject(flags, machine);
  const programs = record.connections.length === 0 ? PROGRAMS : named;
  const toId = (program: ProgramName) => ({ program, ...(project !== undefined && { project }) });
  recoverConnections(machine, record, programs.map(toId));
  return record;
}

async function printLines(lines: readonly string[]): Promise<void> {
  for (const line of lines) await write(`${line}\n`);
}

/** Pauses the hooks of every connected user. Pauses the others too if a service does not respond, and then rejects. */
async function pause({ flags, env, machine }: Call): Promise<void> {
  const project = getProject(flags, machine);
  const paused = flags.pause === true;
  const { connections } = readRecord(machine);
  const accounts = (connections.length === 0 ? [{}] : connections).map((each) => toAccount(flags, env, each));
  const isFirst = ({ url, user }: Account, index: number) =>
    accounts.findIndex((each) => each.url === url && each.user === user) === index;
  const errors: unknown[] = [];
  for (const account of accounts.filter(isFirst)) {
    const change = changePause({ ...account, paused, machine, ...(project !== undefined && { project }) });
    await change.then(printLines, (error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw errors[0];
}

async function connect(call: Call, named: readonly ProgramName[]): Promise<void> {
  const { flags, env, machine } = call;
  const before = readConnections(call, named);
  const isNamed = named.length > 0;
  const programs = isNamed ? named : await choosePrograms(machine, before, getProject(flags, machine), write);
  const wanted = programs.map((program) => toConnection(program, flags, env, machine, before));
  if (wanted.length === 0) return;
  if (flags.dryRun) return showPlan(planConnections(machine, before, { add: await withKey(call, wanted) }));
  const connections = await prepare(call, wanted);
  const record = readConnections(call, programs);
  const plan = planConnections(machine, record, { add: connections });
  for (const program of programs) {
    const { title, isInstalled } = AGENT_PROGRAMS[program];
    if (!isInstalled(machine)) note(`${title} was not found on this machine; its files are written all the same.`);
  }
  await printLines(formatPlan(plan));
  // A name is consent; after a question, the person has not yet seen the changes.
  if (!isNamed && plan.files.some((file) => isChange(file.plan)) && !(await confirm('Write these changes?'))) return;
  await writeHook(machine);
  const skipped = await writePlan(call, record, plan);
  await printLines(await describeConnections(call, before, connections, plan, skipped));
}

/** Makes sure that a service runs, and that the programs get access to it. */
async function prepare({ flags, env, machine }: Call, wanted: readonly Connection[]): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (const connection of wanted) {
    const { url, user } = connection;
    const others = connections.filter((each) => each.url === url && each.user === user);
    if (others[0]) {
      connections.push({ ...connection, hasKey: others[0].hasKey });
      continue;
    }
    const request = { url, machine, install: flags.service, confirm: canAsk() ? confirm : undefined };
    await printLines(await ensureService(request));
    connections.push({ ...connection, ...(await prepareAccess({ url, user, machine, env })) });
  }
  return connections;
}

/** Returns connections with the access that they would have, without asking the service. */
async function withKey({ machine }: Call, wanted: readonly Connection[]): Promise<Connection[]> {
  return wanted.map((connection) => ({ ...connection, hasKey: readKey(machine, connection.url) !== undefined }));
}

async function showPlan(plan: Plan): Promise<void> {
  const lines = formatPlan(plan);
  await printLines(lines.length === 0 ? ['Nothing would change.'] : lines);
  note('Nothing was written, because of --dry-run.');
}

/** Carries out a plan. Returns all files that were left alone. */
async function writePlan({ machine }: Call, record: ConnectRecord, plan: Plan): Promise<readonly SkippedFile[]> {
  const { skipped } = await applyPlan(machine, record, plan);
  await printLines(skipped.map(formatSkipped));
  const all = [...plan.skipped, ...skipped];
  if (all.length > 0) process.exitCode = EXIT_CODES.failed.code;
  return all;
}

async function describeConnections(
  { machine }: Call,
  before: ConnectRecord,
  connections: readonly Connection[],
  plan: Plan,
  skipped: readonly SkippedFile[],
): Promise<string[]> {
  const lines: string[] = [];
  for (const connection of connections) {
    const present = findConnection(before, connection);
    if (skipped.some(({ wanted }) => wanted.some((entries) => isSameConnection(entries, connection)))) {
      lines.push(
        `${connection.program} is connected in part. Correct the file named above, and run the command again.`,
      );
      continue;
    }
    const isUnchanged =
      present && plan.connections.some((each) => isSame(each, present)) && !hasChange(plan, connection);
    if (isUnchanged) lines.push(`${connection.program} is already connected; nothing changed.`);
    else lines.push(...formatConnection(connection, machine), ...(await describeBundle(connection, machine)));
    if (connection.project !== undefined && findConnection(before, { program: connection.program })) {
      lines.push(
        `  The hooks of ${AGENT_PROGRAMS[connection.program].title} for the user run in this folder too, with their own options. To store nothing ` +
          'here: memoryd connect --project --pause.',
      );
    }
    if (present && present.capture !== 'off' && connection.capture === 'off') {
      lines.push(...(await describeStored(connection, machine, readKey(machine, connection.url))));
    }
  }
  return [...lines, ...formatNextSteps(connections), ...(await describeAbsentServices(connections))];
}

/** Returns a warning for each address at which no service runs, because the lines before it say what is stored. */
async function describeAbsentServices(connections: readonly Connection[]): Promise<string[]> {
  const lines = [...new Set(connections.map(({ url }) => url))].map(async (url) =>
    (await isHealthy(url)) ? [] : [`No service runs at ${url}: nothing is stored or given until one does.`],
  );
  return (await Promise.all(lines)).flat();
}

function findConnection({ connections }: ConnectRecord, id: ConnectionId): RecordedConnection | undefined {
  return connections.find((connection) => isSameConnection(connection, id));
}

/** Returns whether a connection is recorded as before: the time of its connect is kept only then. */
function isSame(a: RecordedConnection, b: RecordedConnection): boolean {
  return isSameConnection(a, b) && a.connectedAt === b.connectedAt;
}

function hasChange({ files }: Plan, id: ConnectionId): boolean {
  return files.some(({ plan, wanted }) => isChange(plan) && wanted.some((entries) => isSameConnection(entries, id)));
}

async function describeBundle(connection: Connection, machine: Machine): Promise<string[]> {
  if (connection.program !== 'claude-desktop') return [];
  const { path } = await writeBundle(connection, machine);
  return [`  Open ${path} with Claude Desktop, and press Install.`];
}

async function remove(call: Call, named: readonly ProgramName[]): Promise<void> {
  const { flags, machine } = call;
  const record = readConnections(call, named);
  const removed = await chooseRemoved(call, record, named);
  const plan = planConnections(machine, record, { remove: removed });
  if (flags.dryRun) return showPlan(plan);
  await printLines(formatPlan(plan));
  await writePlan(call, record, plan);
  for (const connection of removed) {
    if (findConnection(record, connection)) {
      await printLines([
        `${connection.program} stays connected in part. Correct the file named above, and run the command again.`,
      ]);
      continue;
    }
    if (connection.program === 'claude-desktop') removeBundle(machine);
    await printLines([`${connection.program} is no longer connected.`]);
    await printLines(await describeStored(connection, machine, readKey(machine, connection.url)));
  }
  if (record.connections.length > 0) return;
  // Before the service stops, because it revokes the key.
  await printLines(await removeAccess(machine));
  await printLines(await removeService(machine));
  removeOwnFiles(machine);
}

/** Returns the connections to remove: those that are named, or all of the user, or all of the project. */
async function chooseRemoved(
  { flags, machine }: Call,
  record: ConnectRecord,
  named: readonly ProgramName[],
): Promise<RecordedConnection[]> {
  const project = getProject(flags, machine);
  const place = project === undefined ? '' : ` in ${project}`;
  if (named.length === 0) {
    // Without --project, the service and the key go too, which connections of projects need.
    const all = record.connections.filter((each) => project === undefined || each.project === project);
    if (all.length === 0) throw new UsageError(`no program is connected${place}`);
    const names = all.map((each) => (each.project === undefined ? each.program : `${each.program} in ${each.project}`));
    const isSure = flags.dryRun || !canAsk() || (await confirm(`Disconnect ${names.join(', ')}?`));
    return isSure ? all : [];
  }
  return named.map((program) => {
    const found = findConnection(record, { program, ...(project !== undefined && { project }) });
    if (found) return found;
    throw new UsageError(`${program} is not connected${place}; memoryd connect --status lists what is connected`);
  });
}
