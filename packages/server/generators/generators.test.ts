import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from '../conformance/under-test.ts';
import { type Exit, getCodeBlocks, getProgramFiles, Project } from './project.ts';

const OPERATOR = 'o'.repeat(32);

const INSTALLED = ['package.json', 'requirements.txt'].map((name) =>
  readFileSync(new URL(`installed/${name}`, import.meta.url), 'utf8'),
);

/** Options of the TypeScript compiler. They cover the generated client and the program that uses it. */
const STRICT = {
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: ['node'],
};

/** A generator, named as its section of the guide and the folder of its program. */
interface Generator {
  name: string;
  /** Files of the project before it compiles. */
  files?: Record<string, string>;
  compile: string;
  run: string;
}

function createTypeScriptGenerator(name: string, options: object = STRICT): Generator {
  const files = { 'tsconfig.json': JSON.stringify({ compilerOptions: options, exclude: ['*.config.ts'] }) };
  return { name, files, compile: 'tsc --project .', run: 'node program.ts' };
}

const GENERATORS = [
  createTypeScriptGenerator('openapi-typescript'),
  // The runtime that hey-api copies into each client assigns undefined to optional properties.
  createTypeScriptGenerator('hey-api', { ...STRICT, exactOptionalPropertyTypes: false }),
  createTypeScriptGenerator('orval'),
  { name: 'openapi-python-client', compile: 'mypy --strict .', run: 'python program.py' } satisfies Generator,
];

/** Output of each program. Grace and the room 2 have memories that its filters leave out. */
const OUTPUT = [
  'recalled: The light switch of the kitchen is behind the door.',
  'listed: The stove of the kitchen burns gas.',
  'listed: The light switch of the kitchen is behind the door.',
  'imported: 2',
  'backup: SQLite format 3',
  'error: NOT_FOUND',
].join('\n');

/** Forgets memories with a filter whose value is None, and prints the response. */
const FORGET_NONE = `
import os
from memoryd_client import Client
from memoryd_client.api.memories import forget_memories
from memoryd_client.models import MetadataFilter

client = Client(base_url=os.environ["MEMORYD_URL"])
print(forget_memories.sync(client=client, user_id="joan", metadata=MetadataFilter.from_dict({"room": None})))
`;

describe('clients generated from the OpenAPI document', () => {
  const service = useServer({ env: { ...WORDS_ONLY, SERVICE_API_KEY: OPERATOR } });

  async function addKey(namespace: string, scope: 'write' | 'operate'): Promise<string> {
    const headers = { authorization: `Bearer ${OPERATOR}` };
    const key = { method: 'POST', path: '/keys', headers, json: { namespace, scope } };
    return (await service.ok<{ key: string }>(key)).key;
  }

  describe.each(GENERATORS)('$name', ({ name, files = {}, compile, run }) => {
    const blocks = getCodeBlocks(name);
    const [install = '', generate = ''] = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ code }) => code.trim().split('\n'));
    const open = useServer({ env: WORDS_ONLY });
    let project: Project;
    let generated: Exit;

    beforeAll(async () => {
      const { text } = await service.send({ path: '/openapi.json' });
      project = new Project(name, text);
      for (const [file, content] of Object.entries(files)) project.write(file, content);
      generated = await project.run(generate);
    });

    it(`${name} generates a client without a warning`, () => {
      expect(generated.code, generated.output).toBe(0);
      expect(generated.output).not.toMatch(/warn|error|unsupported|unable|skip|⚠/i);
    });

    it(`${name} generates a client that compiles strictly, with the program that uses it`, async () => {
      const { code, output } = await project.run(compile);
      expect(code, output).toBe(0);
    });

    it(`the program for ${name} stores, recalls and lists with filters, exports, imports and handles an error`, async () => {
      const { code, output } = await project.run(run, {
        MEMORYD_URL: `http://127.0.0.1:${service.server.port}`,
        MEMORYD_API_KEY: await addKey(name, 'operate'),
        MEMORYD_COPY_API_KEY: await addKey(`${name}-copy`, 'write'),
      });
      expect(code, output).toBe(0);
      expect(output.trim()).toBe(OUTPUT);
    });

    if (name === 'openapi-python-client') {
      it('the Python client forgets nothing for a metadata filter with None', async () => {
        await open.store({ content: 'The sink is full.', user_id: 'joan', metadata: { room: 1 } });
        project.write('forget_none.py', FORGET_NONE);
        const env = { MEMORYD_URL: `http://127.0.0.1:${open.server.port}` };
        const { code, output } = await project.run('python forget_none.py', env);
        expect(code, output).toBe(0);
        expect(output).toContain('INVALID_REQUEST');
        expect((await open.memories('user_id=joan')).memories).toHaveLength(1);
      });
    }

    it(`the program for ${name} runs without a key against a service without keys`, async () => {
      const { code, output } = await project.run(run, { MEMORYD_URL: `http://127.0.0.1:${open.server.port}` });
      expect(code, output).toBe(0);
      // The copy is the same namespace, which has these memories.
      expect(output.trim()).toBe(OUTPUT.replace('imported: 2', 'imported: 0'));
    });

    it(`the guide shows the installed versions for ${name}, and code of its program`, () => {
      const versions = [...install.matchAll(/(\S+?)(?:==|@)(\d\S*)/g)].map(([, product, version]) => [
        product,
        version,
      ]);
      expect(versions.length).toBeGreaterThan(0);
      for (const [product, version] of versions) {
        const pinned = [`"${product}": "${version}"`, `${product}==${version}`];
        expect(
          pinned.some((text) => INSTALLED.join('\n').includes(text)),
          `${product} ${version}`,
        ).toBe(true);
      }
      const code = blocks.filter(({ language }) => language !== 'sh');
      expect(code.length).toBeGreaterThan(0);
      for (const block of code) {
        expect(
          getProgramFiles(name).some((text) => text.includes(block.code)),
          block.code,
        ).toBe(true);
      }
    });
  });
});
