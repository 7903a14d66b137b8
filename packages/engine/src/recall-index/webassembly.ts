import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** What is used of the WebAssembly JavaScript interface (W3C), whose types come with those of browsers only. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: Record<string, Record<string, unknown>>) => { exports: unknown };
};

/** Compiles a file of the built package, whether or not the caller runs from source. */
export function compile(file: '@memoryd/engine/recall-index/kernel' | '@memoryd/engine/recall-index/nearness'): object {
  return new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve(file)));
}

/** Returns the exports of a compiled module in a memory of their own. */
export function instantiate(module: object, imports: Record<string, Record<string, unknown>> = {}): unknown {
  return new WebAssembly.Instance(module, imports).exports;
}
