import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DockerfileParser } from 'dockerfile-ast';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../packages/server/conformance/http.ts';
import { eventually, freePort } from '../packages/server/conformance/process.ts';
import { SETTING_NAMES } from '../packages/server/src/settings/names.ts';

const project = fileURLToPath(new URL('..', import.meta.url));

/** One line of a Dockerfile, such as `RUN npm ci`. */
interface Step {
  keyword: string;
  text: string;
}

/** A build stage: the lines from one `FROM` to the next. */
interface Stage {
  name: string;
  from: string;
  steps: Step[];
}

const stages = readStages();
const [last] = stages.slice(-1) as [Stage];
const getTexts = (keyword: string) => last.steps.filter((step) => step.keyword === keyword).map(({ text }) => text);
const environment = Object.fromEntries(
  getTexts('ENV').flatMap((text) => [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
) as Record<string, string>;

function readStages(): Stage[] {
  const found: Stage[] = [];
  for (const instruction of DockerfileParser.parse(
    readFileSync(join(project, 'Dockerfile'), 'utf8'),
  ).getInstructions()) {
    const keyword = instruction.getKeyword();
    const text = instruction.getTextContent().slice(keyword.length).trim();
    const [from = '', , name = ''] = text.split(' ');
    if (keyword === 'FROM') found.push({ name, from, steps: [] });
    else found.at(-1)?.steps.push({ keyword, text });
  }
  return found;
}

describe('the Docker image', () => {
  it('contains only build results of earlier stages, and no compilers', () => {
    expect(stages.map(({ name }) => name)).toEqual(['build', 'dependencies', '']);
    expect(last.from).toMatch(/-slim$/);
    const ours = getTexts('COPY').filter((text) => !text.startsWith('--from='));
    expect(ours).toEqual(['LICENSE ./']);
  });

  it('runs in production mode as a non-root user, with its data in a volume', () => {
    expect(environment.NODE_ENV).toBe('production');
    expect(getTexts('USER')).toEqual(['1000:1000']);
    expect(getTexts('VOLUME')).toEqual([environment.XDG_DATA_HOME]);
    const known = SETTING_NAMES.map(({ env }) => env);
    const settings = Object.keys(environment).filter((name) => name.startsWith('SERVICE_'));
    expect(settings.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('the Docker image has a health check', () => {
    expect(getTexts('HEALTHCHECK').join()).toContain('/health');
    expect(getTexts('EXPOSE')).toEqual([environment.SERVICE_PORT]);
  });

  it('contains every package that the server depends on', () => {
    const copied = getTexts('COPY').join(' ');
    const needed = (folder: string): string[] => {
      const { dependencies = {} } = JSON.parse(readFileSync(join(project, folder, 'package.json'), 'utf8')) as {
        dependencies?: Record<string, string>;
      };
      const siblings = Object.keys(dependencies).filter((name) => name.startsWith('@memoryd/'));
      return [folder, ...siblings.flatMap((name) => needed(name.replace('@memoryd/', 'packages/')))];
    };
    for (const folder of needed('packages/server')) expect(copied).toContain(`/build/${folder} ${folder}`);
  });
});

/** Whether to run the steps. They take minutes and need root, to become another user. */
const isEnabled = process.env.MEMORYD_TEST_IMAGE !== undefined && process.getuid?.() === 0;
// biome-ignore lint/suspicious/noConsole: the test run must show skipped tests
if (!isEnabled) console.log('skipped: the steps of the Dockerfile; run as root with MEMORYD_TEST_IMAGE set');

describe.runIf(isEnabled)('the Dockerfile steps, run in a separate folder for each stage,', () => {
  let work: string;
  const getRoot = ({ name }: Pick<Stage, 'name'>) => join(work, name || 'image');
  /** Converts a path of the image to a path of this machine. */
  const toLocalPath = (path: string) => join(getRoot(last), path);
  const uid = 1000;
  const key = 'k'.repeat(40);
  let running: ReturnType<typeof start> | undefined;
  let port: number;

  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), 'memoryd-image-'));
    chmodSync(work, 0o755);
    for (const stage of stages) runStage(stage);
  }, 1_500_000);
  afterAll(async () => {
    await running?.end();
    rmSync(work, { recursive: true, force: true });
  }, 600_000);

  function runStage(stage: Stage): void {
    let folder = getRoot(stage);
    mkdirSync(folder);
    for (const { keyword, text } of stage.steps) {
      if (keyword === 'WORKDIR') folder = join(getRoot(stage), text);
      mkdirSync(folder, { recursive: true });
      if (keyword === 'COPY') copy(text, folder);
      if (keyword === 'RUN') run(text.replaceAll(/(?<= )\//g, `${getRoot(stage)}/`), folder);
    }
  }

  function copy(text: string, folder: string): void {
    const [, stage, source = '', target = ''] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(text) ?? [];
    if (source === '.') {
      copyContext(folder);
      return;
    }
    const from = stage === undefined ? join(project, source) : join(getRoot({ name: stage }), source);
    cpSync(from, join(folder, target, target.endsWith('/') ? source : ''), { recursive: true, verbatimSymlinks: true });
  }

  /** Copies the build context: all files of the repository except those in .dockerignore. */
  function copyContext(folder: string): void {
    const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: project });
    const ignored = readFileSync(join(project, '.dockerignore'), 'utf8').trim().split('\n');
    const isIgnored = (path: string) => ignored.some((name) => path === name || path.startsWith(`${name}/`));
    for (const path of files.toString().split('\n')) {
      if (path === '' || isIgnored(path) || !existsSync(join(project, path))) continue;
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(project, path), join(folder, path));
    }
  }

  function run(command: string, cwd: string): void {
    const { HOME = '', PATH = '' } = process.env;
    const env = { HOME, PATH, npm_config_prefer_offline: 'true' };
    execFileSync('bash', ['-c', command], { cwd, env, stdio: 'pipe', maxBuffer: 64 * 1024 * 1024, timeout: 600_000 });
  }

  /** Returns the environment of the image and the variables of its start. */
  function getEnvironment() {
    const given = { SERVICE_PORT: String(port), SERVICE_API_KEY: key, SERVICE_HOST: '127.0.0.1' };
    const data = toLocalPath(environment.XDG_DATA_HOME ?? '');
    return { PATH: process.env.PATH ?? '', ...environment, XDG_DATA_HOME: data, ...given };
  }

  /** Starts the entry point of the image. `end` stops it as Docker does, and returns its exit code. */
  function start() {
    const [command = '', ...args] = JSON.parse(getTexts('ENTRYPOINT')[0] ?? '') as string[];
    const paths = args.map((arg) => (arg.startsWith('/') ? toLocalPath(arg) : arg));
    const child = spawn(command, paths, {
      uid,
      gid: uid,
      cwd: toLocalPath('app'),
      env: getEnvironment(),
      stdio: 'ignore',
    });
    const exited = once(child, 'exit').then(([code]) => code as number | null);
    return {
      end() {
        child.kill('SIGTERM');
        return exited;
      },
    };
  }

  function checkHealth(): number | null {
    const text = getTexts('HEALTHCHECK')[0] ?? '';
    const [command = '', ...args] = JSON.parse(text.slice(text.indexOf('['))) as string[];
    return spawnSync(command, args, { uid, gid: uid, cwd: toLocalPath('app'), env: getEnvironment() }).status;
  }

  it('the Dockerfile steps, run in a separate folder for each stage, build a healthy service that requires a key, recalls by meaning and writes only to its volume', async () => {
    port = await freePort();
    expect(checkHealth()).toBe(1);
    running = start();
    await eventually('the service', 30_000, () => (checkHealth() === 0 ? true : undefined));
    expect((await send(port, { path: '/stats' })).status).toBe(401);
    const headers = { authorization: `Bearer ${key}` };
    const call = (method: string, path: string, json?: object) =>
      send<Record<string, unknown>>(port, { method, path, headers, ...(json && { json }) });
    expect((await call('POST', '/store', { content: 'Ada is allergic to peanuts' })).status).toBe(200);
    expect((await call('GET', '/recall?query=what+food+should+she+avoid')).body).toMatchObject({ total: 1 });
    expect((await call('GET', '/health')).body).toMatchObject({ embedder: 'ready' });
    expect(existsSync(toLocalPath('data/memoryd/memory.db'))).toBe(true);
    expect((await call('GET', '/docs')).status).toBe(200);
    const written = execFileSync('find', [getRoot(last), '-user', String(uid), '-type', 'f'], { encoding: 'utf8' });
    expect(written.split('\n').filter((path) => path !== '' && !path.startsWith(toLocalPath('data/')))).toEqual([]);
    expect(await running.end()).toBe(0);
  });

  it('install no development dependencies', () => {
    for (const name of ['typescript', 'vitest', '@biomejs/biome', 'assemblyscript']) {
      expect(existsSync(toLocalPath(`app/node_modules/${name}`)), name).toBe(false);
    }
  });
});
