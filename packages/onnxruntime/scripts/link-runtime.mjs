// Links the code and binaries of the installed onnxruntime-node into this package.
import { cpSync, linkSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
const target = fileURLToPath(new URL('..', import.meta.url));

/** GPU libraries (121 MB), which are not loaded on a CPU, and a second copy of the library for macOS. */
const EXCLUDED = /^(DirectML|dxcompiler|dxil)\.dll$|\.\d+\.\d+\.\d+\.dylib$/;

for (const folder of ['bin', 'dist']) {
  rmSync(join(target, folder), { recursive: true, force: true });
  for (const entry of readdirSync(join(source, folder), { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && !EXCLUDED.test(entry.name)) linkFile(join(entry.parentPath, entry.name));
  }
}

/** Links a file, or copies it if the two packages are on different file systems. */
function linkFile(path) {
  const destination = join(target, path.slice(source.length));
  mkdirSync(dirname(destination), { recursive: true });
  try {
    linkSync(path, destination);
  } catch (error) {
    if (error.code !== 'EXDEV' && error.code !== 'EPERM') throw error;
    cpSync(path, destination);
  }
}
