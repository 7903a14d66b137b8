import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERRORS, type StoreRequest } from '@memoryd/contract';
import { openEngine, openMemory } from '@memoryd/engine';
import { WEIGHTS } from '@memoryd/search';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from '../packages/server/conformance/command-in-process.ts';
import { createTemporaryFolder } from '../packages/server/conformance/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));
const documents = files.filter((path) => path.endsWith('.md'));

const isReleased = read('CHANGELOG.md')
  .match(/^## .+$/gm)
  ?.some((title) => !title.endsWith('(unreleased)'));

describe('documents', () => {
  it.each(documents)('documents link only to existing files in %s', (path) => {
    // Code of Python such as `Agent[Guest](name)` looks like a link.
    const prose = read(path).replaceAll(/^```[\s\S]*?^```$/gm, '');
    const targets = [...prose.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] as string);
    const broken = targets.filter(
      (target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(path), target)),
    );
    expect(broken).toEqual([]);
  });

  it('documents are all linked from docs/README.md', () => {
    const index = read('docs/README.md');
    const pages = documents
      .filter((path) => /^docs\/(?!decisions\/)/.test(path))
      .map((path) => path.slice('docs/'.length));
    expect(pages.filter((page) => page !== 'README.md' && !index.includes(`](${page})`))).toEqual([]);
  });

  it('documents list every decision record with its title in docs/decisions/README.md', () => {
    const records = documents.filter((path) => /^docs\/decisions\/\d/.test(path)).sort();
    const expected = records.map((path) => {
      const [, number, title] = /^# (\d+)\. (.+)$/m.exec(read(path)) ?? [];
      return `${number}. [${title}](${basename(path)})`;
    });
    expect(read('docs/decisions/README.md').match(/^\d+\. .+$/gm)).toEqual(expected);
  });

  it('documents with an install command state that the packages are not on npm yet', () => {
    const installing = /npm install (-g )?(?:@|\.\/)?memoryd|^npx memoryd$|\/examples\/mcp\/\S+\.json/m;
    const saying = documents.filter((path) => path !== 'CONTRIBUTING.md' && /not\s+on\s+npm\s+yet/i.test(read(path)));
    expect(saying).toEqual(isReleased ? [] : documents.filter((path) => installing.test(read(path))));
  });

  it('documents with an install command of Python state that the packages are not on PyPI yet', () => {
    const installing = /pip install '?memoryd|uvx memoryd-server/;
    const saying = documents.filter((path) => path !== 'CONTRIBUTING.md' && /not\s+on\s+PyPI\s+yet/i.test(read(path)));
    expect(saying).toEqual(isReleased ? [] : documents.filter((path) => installing.test(read(path))));
  });

  it('documents list every source folder in ARCHITECTURE.md, and only existing folders', () => {
    const named = [...read('ARCHITECTURE.md').matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] as string);
    expect(named.filter((place) => !existsSync(join(root, place)))).toEqual([]);
    const folders = new Set(
      files.filter((path) => /^(packages|bench)\/.*\.ts$/.test(path)).map((path) => dirname(path)),
    );
    const isCovered = (folder: string) =>
      named.some((place) => folder === dirname(place) || `${folder}/`.startsWith(`${place}/`));
    expect([...folders].filter((folder) => !isCovered(folder))).toEqual([]);
  });

  it('documents name only existing scripts of package.json', () => {
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
    for (const path of documents) {
      const named = [...read(path).matchAll(/npm run ([\w:-]+)(?![\w:-]| --workspace)/g)].map(
        (match) => match[1] as string,
      );
      expect(
        named.filter((script) => !scripts.includes(script)),
        path,
      ).toEqual([]);
    }
  });

  it('documents list exactly the error codes of the contract in docs/reference/errors.md', () => {
    const listed = [...read('docs/reference/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (.+) \|$/gm)];
    expect(
      Object.fromEntries(listed.map(([, code, status, meaning]) => [code, { status: Number(status), meaning }])),
    ).toEqual(ERRORS);
  });
});

/** Minimum score that an example may show: the score of the word `likely`. */
const MIN_SHOWN_SCORE = 0.5;

describe('the examples of recall', () => {
  const folder = createTemporaryFolder();
  let engine: Awaited<ReturnType<typeof openEngine>>;
  beforeAll(async () => {
    engine = await openEngine(join(folder, 'memory.db'), { consolidationIntervalSeconds: 0 });
  });
  afterAll(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  const pages = documents
    .map((path) => ({ path, ...getExamples(read(path)) }))
    .filter(({ queries }) => queries.length > 0);

  it('the examples of recall are found in the pages for beginners', () => {
    const found = pages.map(({ path }) => path);
    const packages = ['ai-sdk', 'client', 'engine', 'langchain', 'server'].map((name) => `packages/${name}/README.md`);
    const guides = ['agents', 'command-line', 'users'].map((name) => `docs/guide/${name}.md`);
    expect(found).toEqual(expect.arrayContaining(['README.md', 'docs/quick-start.md', ...guides, ...packages]));
  });

  it.each(pages)(
    'the examples of recall in $path find a memory of the page with a score of at least .5',
    async ({ path, texts, queries }) => {
      const memory = engine.namespace(path.toLowerCase().replaceAll(/[^a-z]+/g, '-'));
      for (const content of texts) await memory.store({ content });
      for (const query of queries) {
        const getScore = async () => (await memory.recall({ query })).results[0]?.score ?? 0;
        // Recall uses words only while the model loads.
        await expect.poll(getScore, { message: query }).toBeGreaterThanOrEqual(MIN_SHOWN_SCORE);
      }
    },
  );

  it('show only results with such a score', () => {
    const shown = /"score": ?([\d.]+)|^([01]\.\d\d) (?:likely|possible|weak) /gm;
    for (const path of documents) {
      const scores = [...read(path).matchAll(shown)].map(([, json, headline]) => Number(json ?? headline));
      expect(
        scores.filter((score) => score < MIN_SHOWN_SCORE),
        path,
      ).toEqual([]);
    }
  });

  it('the examples in `memoryd --help` print such a score', async () => {
    const { stdout } = await runInProcess(['--help']);
    const [store = [], recall = []] = [...stdout.matchAll(/^ {2}memoryd (store|recall) --user ada '(.+)'$/gm)].map(
      ([, command = '', text = '']) => [command, '--user', 'ada', text],
    );
    expect([store[0], recall[0]]).toEqual(['store', 'recall']);
    const at = ['--db-path', join(folder, 'help.db')];
    expect(await runInProcess([...store, ...at])).toMatchObject({ code: 0 });
    const getScore = async () => Number(/^[\d.]+/.exec((await runInProcess([...recall, ...at])).stdout)?.[0] ?? 0);
    await expect.poll(getScore).toBeGreaterThanOrEqual(MIN_SHOWN_SCORE);
  });
});

/** Ways to store a text in an example: a command, a pipe, JSON and code. */
const STORES = [
  /memoryd store [^\n|]*?'([^']+)'/g,
  /echo '([^'{]+)' \| memoryd store/g,
  /"content": ?"([^"]+)"/g,
  /content: ['"`]([^'"`]+)['"`]/g,
];

/** Ways to ask in an example: a command, a request and code. */
const QUERIES = [
  /memoryd recall (?:--user \w+ )?(?:'([^']+)'|(\w+))/g,
  /[?&']query=([^&'\s]+)/g,
  /(?:\{ query|prompt): '([^']+)'/g,
  /\.(?:invoke|context)\('([^']+)'/g,
];

/** Returns the texts that the code blocks of a page store, and their queries. */
function getExamples(page: string): { texts: string[]; queries: string[] } {
  const code = [...page.matchAll(/^```(?:sh|ts)\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');
  const find = (patterns: readonly RegExp[]) =>
    patterns.flatMap((pattern) => [...code.matchAll(pattern)].map(([, quoted, word]) => quoted ?? word ?? ''));
  const queries = find(QUERIES).map((query) => decodeURIComponent(query.replaceAll('+', ' ')));
  return { texts: find(STORES), queries: [...new Set(queries)] };
}

interface LockedPackage {
  engines?: { node?: string };
  hasInstallScript?: true;
  integrity?: string;
  link?: true;
  version?: string;
}

function getLocked(folder: string): [path: string, LockedPackage][] {
  const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as { packages: Record<string, LockedPackage> };
  return Object.entries(packages).filter(([path]) => path.includes('node_modules/'));
}

describe.each(['', 'bench/peers/'])('the lock file %spackage-lock.json', (folder) => {
  it('contains the hash of every package, and no registry URLs', () => {
    expect(getLocked(folder).filter(([, { link, integrity }]) => !link && !integrity)).toEqual([]);
    expect(read(`${folder}package-lock.json`)).not.toMatch(/"resolved": "http/);
  });
});

describe('npm install', () => {
  it('runs no install scripts, and only core-js and onnxruntime-node have one', () => {
    expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
    const scripted = getLocked('').filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(scripted.map(([path]) => path)).toEqual(['node_modules/core-js', 'node_modules/onnxruntime-node']);
  });

  it('installs only onnxruntime-common as a dependency of @memoryd/onnxruntime', () => {
    const { dependencies } = JSON.parse(read('packages/onnxruntime/package.json')) as Record<string, object>;
    expect(Object.keys(dependencies ?? {})).toEqual(['onnxruntime-common']);
  });

  it('requires a supported Node version for every package, and installs Node 24 for the tests', () => {
    const manifests = files.filter((path) => /^packages\/[^/]+\/package\.json$/.test(path));
    const engines = manifests.map((path) => (JSON.parse(read(path)) as LockedPackage).engines?.node);
    expect(new Set(engines)).toEqual(new Set(['^22.12.0 || ^24.0.0 || >=26.0.0']));
    const bundled = getLocked('').filter(([path]) => /^node_modules\/node-(linux|darwin|win)-/.test(path));
    expect(bundled.map(([, { version }]) => version)).toEqual(bundled.map(() => expect.stringMatching(/^24\./)));
    // On other platforms, the tests run on the installed Node.
    const hasBundledNode = existsSync(join(root, `node_modules/node-${process.platform}-${process.arch}`));
    if (hasBundledNode) expect(process.versions.node).toMatch(/^24\./);
  });

  it('npm install can link the memoryd command before the build', () => {
    const { bin } = JSON.parse(read('packages/server/package.json')) as { bin: Record<string, string> };
    expect(files).toContain(join('packages/server', bin.memoryd as string));
  });
});

describe('the example of what holds', () => {
  it('returns at each time of the table the text in the table, as the picture shows', async () => {
    const rows = [...read('docs/concepts.md').matchAll(/^\| (\d{4}-\d\d-\d\d) \| (Ada lives in (\w+)\.) \|$/gm)];
    const picture = [
      ...read('docs/pictures/what-holds.svg').matchAll(/<text class="strong"[^>]* y="276"[^>]*>(\w+)</g),
    ];
    expect(picture.map(([, town]) => town)).toEqual(rows.map(([, , , town]) => town));
    expect(rows).toHaveLength(4);
    const folder = createTemporaryFolder();
    const memory = await openMemory(join(folder, 'memory.db'), { embedder: 'none' });
    const store = async (town: string, fields: Partial<StoreRequest>) =>
      (await memory.store({ content: `Ada lives in ${town}.`, ...fields })).id;
    const leeds = await store('Leeds', { created_at: '2022-01-01' });
    const bristol = await store('Bristol', { created_at: '2023-01-01', supersedes: leeds });
    await store('Bath', { created_at: '2024-03-01', valid_to: '2024-09-01', supersedes: bristol });
    for (const [, as_of = '', text] of rows) {
      const { results } = await memory.recall({ query: 'Where does Ada live?', as_of });
      expect(
        results.map(({ content }) => content),
        as_of,
      ).toEqual([text]);
    }
    await memory.close();
    rmSync(folder, { recursive: true });
  });
});

describe('pictures in the documentation', () => {
  const pictures = files.filter((path) => /^docs\/pictures\/.*\.svg$/.test(path));
  it.each(pictures)(
    'pictures in the documentation have a title, a description, a dark mode and no external resources: %s',
    (path) => {
      const picture = read(path);
      expect(picture).toMatch(/<title id="title">[^<]+<\/title>\s+<desc id="desc">[^<]+<\/desc>/);
      expect(picture).toContain('prefers-color-scheme: dark');
      expect(picture).toContain('<rect class="paper"');
      expect(picture.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|href|@import|<script/);
    },
  );

  it('pictures in the documentation show the current weights of the score', () => {
    const weights = read('docs/pictures/score.svg').matchAll(/>([a-z]+)<\/text>\s+<text[^>]*>(−?[\d.]+)<\/text>/g);
    expect(
      Object.fromEntries([...weights].map(([, name, weight]) => [name, Number(weight?.replace('−', '-'))])),
    ).toEqual(WEIGHTS.evidence);
  });
});

describe('docs/comparison.md', () => {
  it('contains only measured figures from bench/README.md', () => {
    const [, section = ''] = /## Figures that we measured\n([\s\S]*?)\n## /.exec(read('docs/comparison.md')) ?? [];
    const figures = section.replaceAll(/\d+\.\d+\.\d+/g, '').match(/\.\d{2,}|\d[\d.,]* m?s\b/g) ?? [];
    expect(figures.length).toBeGreaterThan(10);
    const measured = read('bench/README.md');
    const isMeasured = (figure: string) =>
      measured.includes(figure) || measured.includes(`memoryd ${figure.replace(' ms', '')}`);
    expect(figures.filter((figure) => !isMeasured(figure))).toEqual([]);
  });

  it('cites every listed source, and lists every cited source', () => {
    const [body = '', sources = ''] = read('docs/comparison.md').split('## Sources');
    const listed = [...sources.matchAll(/^(\d+)\. /gm)].map(([, number]) => number);
    const named = new Set([...body.matchAll(/\[(\d+)\]/g)].map(([, number]) => number));
    expect([...named].sort()).toEqual(listed.sort());
  });
});
