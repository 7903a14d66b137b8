import { expect } from 'vitest';
import { runCommand } from './command.ts';

interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  found: string;
  advice?: string;
}

/** Runs `memoryd doctor --json` and returns its findings. Unless flags override it: any free port, no embedder. */
export async function examine(flags: string[], env: Record<string, string> = {}) {
  const args = ['doctor', '--json', '--port', '0', '--embedder', 'none', ...flags];
  const { code, stdout, stderr } = await runCommand(args, { env });
  expect(stderr.replace(/^memoryd: .*\n/gm, '')).toBe('');
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  return { ok, findings, of: (check: string) => findings.filter((finding) => finding.check === check) };
}
