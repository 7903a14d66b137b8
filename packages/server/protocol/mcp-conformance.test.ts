import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from '../conformance/under-test.ts';

/** A check of the official conformance suite, as the suite writes it. */
interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
}

const TEST_TOOL = 'calls a tool that only a server for tests has';
const TEST_PROMPT = 'gets a prompt that only a server for tests has';
const TEST_RESOURCE = 'reads a resource that only a server for tests has';
const NO_COMPLETION = 'completes arguments, which is an optional capability that memoryd does not declare';
const NO_SUBSCRIPTION = 'subscribes to a resource, which is an optional capability that memoryd does not declare';
const NO_LOGGING = 'sets the level of log records, which memoryd sends over standard output only';

/** The checks that fail, each with the reason. A check that is not listed must pass, and a listed check must fail. */
const EXPECTED_FAILURES: Record<'2025-11-25' | '2026-07-28', Record<string, string>> = {
  '2025-11-25': {
    'completion-complete completion-complete': NO_COMPLETION,
    'elicitation-sep1034-defaults elicitation-sep1034-general': TEST_TOOL,
    'elicitation-sep1330-enums elicitation-sep1330-general': TEST_TOOL,
    'json-schema-2020-12 json-schema-2020-12-tool-found': TEST_TOOL,
    'logging-set-level logging-set-level': NO_LOGGING,
    'prompts-get-embedded-resource prompts-get-embedded-resource': TEST_PROMPT,
    'prompts-get-simple prompts-get-simple': TEST_PROMPT,
    'prompts-get-with-args prompts-get-with-args': TEST_PROMPT,
    'prompts-get-with-image prompts-get-with-image': TEST_PROMPT,
    'resources-read-binary resources-read-binary': TEST_RESOURCE,
    'resources-read-text resources-read-text': TEST_RESOURCE,
    'resources-subscribe resources-subscribe': NO_SUBSCRIPTION,
    'resources-templates-read resources-templates-read': TEST_RESOURCE,
    'resources-unsubscribe resources-unsubscribe': NO_SUBSCRIPTION,
    'tools-call-audio tools-call-audio': TEST_TOOL,
    'tools-call-elicitation tools-call-elicitation': TEST_TOOL,
    'tools-call-embedded-resource tools-call-embedded-resource': TEST_TOOL,
    'tools-call-error tools-call-error': TEST_TOOL,
    'tools-call-image tools-call-image': TEST_TOOL,
    'tools-call-mixed-content tools-call-mixed-content': TEST_TOOL,
    'tools-call-sampling tools-call-sampling': TEST_TOOL,
    'tools-call-simple-text tools-call-simple-text': TEST_TOOL,
    'tools-call-with-logging tools-call-with-logging': NO_LOGGING,
    'tools-call-with-progress tools-call-with-progress': TEST_TOOL,
  },
  '2026-07-28': {
    'completion-complete completion-complete': NO_COMPLETION,
    'http-custom-header-server-validation sep-2243-server-decode-base64': TEST_TOOL,
    'http-custom-header-server-validation sep-2243-server-no-xmcp-tool': TEST_TOOL,
    'http-custom-header-server-validation sep-2243-server-reject-invalid-param-chars': TEST_TOOL,
    'http-custom-header-server-validation sep-2243-server-reject-param-mismatch': TEST_TOOL,
    'http-custom-header-server-validation sep-2243-server-validate-param-match': TEST_TOOL,
    'input-required-result-basic-elicitation sep-2322-elicitation-incomplete': TEST_TOOL,
    'input-required-result-basic-list-roots sep-2322-list-roots-incomplete': TEST_TOOL,
    'input-required-result-basic-sampling sep-2322-sampling-incomplete': TEST_TOOL,
    'input-required-result-capability-check sep-2322-respect-client-capabilities': TEST_TOOL,
    'input-required-result-multi-round sep-2322-multi-round-r1': TEST_TOOL,
    'input-required-result-multiple-input-requests sep-2322-multiple-inputs-incomplete': TEST_TOOL,
    'input-required-result-non-tool-request sep-2322-non-tool-incomplete': TEST_PROMPT,
    'input-required-result-request-state sep-2322-request-state-incomplete': TEST_TOOL,
    'input-required-result-result-type sep-2322-result-type-included': TEST_TOOL,
    'input-required-result-tampered-state sep-2322-reject-tampered-state': TEST_TOOL,
    'json-schema-2020-12 json-schema-2020-12-tool-found': TEST_TOOL,
    'prompts-get-embedded-resource prompts-get-embedded-resource': TEST_PROMPT,
    'prompts-get-simple prompts-get-simple': TEST_PROMPT,
    'prompts-get-with-args prompts-get-with-args': TEST_PROMPT,
    'prompts-get-with-image prompts-get-with-image': TEST_PROMPT,
    'resources-read-binary resources-read-binary': TEST_RESOURCE,
    'resources-read-text resources-read-text': TEST_RESOURCE,
    'resources-templates-read resources-templates-read': TEST_RESOURCE,
    'server-stateless sep-2575-http-server-no-independent-requests-on-stream': TEST_TOOL,
    'server-stateless sep-2575-missing-capability-http-400': TEST_TOOL,
    'server-stateless sep-2575-server-no-log-without-loglevel': TEST_TOOL,
    'server-stateless sep-2575-server-rejects-undeclared-capability': TEST_TOOL,
    'tools-call-audio tools-call-audio': TEST_TOOL,
    'tools-call-embedded-resource tools-call-embedded-resource': TEST_TOOL,
    'tools-call-error tools-call-error': TEST_TOOL,
    'tools-call-image tools-call-image': TEST_TOOL,
    'tools-call-mixed-content tools-call-mixed-content': TEST_TOOL,
    'tools-call-simple-text tools-call-simple-text': TEST_TOOL,
    'tools-call-with-progress tools-call-with-progress': TEST_TOOL,
  },
};

/** Checks that must have passed in each suite, so that a suite that ran only in part fails. */
const REQUIRED: Record<keyof typeof EXPECTED_FAILURES, string[]> = {
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    ...['server-stateless', 'caching', 'http-header-validation', 'sep-2164-resource-not-found'],
    ...['tools-list', 'resources-list', 'prompts-list', 'dns-rebinding-protection'],
  ],
};

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const SUITES = {
  '2025-11-25': require.resolve('mcp-conformance-2025-11-25/dist/index.js'),
  '2026-07-28': require.resolve('mcp-conformance-2026-07-28/dist/index.js'),
};
const memoryd = useServer({ env: WORDS_ONLY });

/** Runs the suite of a revision against a URL. Returns `scenario check` of each check, by its status. */
async function runSuite(revision: keyof typeof SUITES, url: string): Promise<Map<Check['status'], string[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-mcp-suite-'));
  const options = ['server', '--url', url, '--suite', 'all', '--spec-version', revision, '--output-dir', folder];
  // The exit code is 1 if a check fails, which the checks tell in more detail.
  await run(process.execPath, [SUITES[revision], ...options], { maxBuffer: 2 ** 26 }).catch(() => undefined);
  const byStatus = new Map<Check['status'], string[]>();
  for (const run of readdirSync(folder)) {
    const scenario = run.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    for (const { id, status } of JSON.parse(readFileSync(join(folder, run, 'checks.json'), 'utf8')) as Check[]) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), `${scenario} ${id}`]);
    }
  }
  return byStatus;
}

// The suites speak HTTP only.
describe('memoryd over HTTP', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'memoryd over HTTP passes the official conformance suite of protocol revision %s, except for the listed checks',
    async (revision) => {
      const url = `http://127.0.0.1:${memoryd.server.port}/mcp`;
      for (const query of ['', '?tools=all&structured=true']) {
        const checks = await runSuite(revision, `${url}${query}`);
        expect([...new Set(checks.get('FAILURE'))].sort()).toEqual(Object.keys(EXPECTED_FAILURES[revision]).sort());
        const passed = new Set(checks.get('SUCCESS')?.map((check) => check.split(' ')[0]));
        expect([...passed]).toEqual(expect.arrayContaining(REQUIRED[revision]));
      }
    },
  );
});
