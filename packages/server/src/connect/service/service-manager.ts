import type { Machine } from '../types.ts';
import type { ProgramExit } from './run-program.ts';
import type { ServiceCommand } from './service-command.ts';

/** A service manager of an operating system, for the services of one user. */
export interface ServiceManager {
  name: 'systemd' | 'launchd';
  /** Returns whether the manager runs for this user. */
  isAvailable(machine: Machine): Promise<boolean>;
  /** Returns the absolute path of the file that describes the service. */
  getFile(machine: Machine): string;
  /** Returns the content of the file. */
  formatFile(command: ServiceCommand, machine: Machine): string;
  /** Starts the service of the file now and at each login. Starts it again if it runs with an earlier file. */
  start(machine: Machine, file: string): Promise<ProgramExit>;
  /** Stops the service, and starts it at no later login. The file is still there. */
  stop(machine: Machine, file: string): Promise<ProgramExit>;
  /** Called after the file has been removed. */
  forget(machine: Machine): Promise<void>;
  isRunning(machine: Machine): Promise<boolean>;
  /** The command that prints the log of the service. */
  logCommand(machine: Machine): string;
  /** Returns advice for after the installation, or undefined. */
  getAdvice(machine: Machine): Promise<string | undefined>;
}
