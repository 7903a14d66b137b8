import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/**
 * The part of the WebAssembly JavaScript interface (W3C) used here. TypeScript declares the interface only for
 * browsers.
 */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: Record<string, Record<string, unknown>>) => { exports: unknown };
};

/** Compiles a file of the built package, even if the caller runs from source. */
export function compile(file: '@memoryd/search/kernel' | '@memoryd/search/nearness'): object {
  return new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve(file)));
}

/** Instantiates a module with its own memory and returns its exports. */
export function instantiate(module: object, imports: Record<string, Record<string, unknown>> = {}): unknown {
  return new WebAssembly.Instance(module, imports).exports;
}
