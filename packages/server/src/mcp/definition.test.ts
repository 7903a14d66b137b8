import { SCOPES } from '@memoryd/contract';
import { MODEL_TOOLS } from '@memoryd/contract/tools';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getDefinition } from './definition.ts';
import { chooseTools, MCP_TOOLS } from './tools.ts';

const NAMES = MCP_TOOLS.map(({ listed }) => listed.name);

describe('the instructions of the MCP server', () => {
  it('the instructions of the MCP server name the listed tools and no other tool, in at most 1,200 characters', () => {
    fc.assert(
      fc.property(fc.subarray([...MCP_TOOLS]), fc.constantFrom(...SCOPES), fc.boolean(), (tools, scope, structured) => {
        const definition = getDefinition({ version: '1', scope, tools, structured });
        const listed = definition.tools.map(({ name }) => name);
        const named = NAMES.filter((name) => definition.instructions.includes(`\`${name}\``));
        expect(named).toEqual(listed);
        expect(definition.instructions.length).toBeLessThanOrEqual(1200);
      }),
    );
  });
});

describe('a choice of tools', () => {
  const choose = (text?: string) => chooseTools(text)?.map(({ listed }) => listed.name);

  it('a choice of tools is by default that for models, all of them, or some names in any order', () => {
    expect(choose()?.sort()).toEqual(
      Object.values(MODEL_TOOLS)
        .map(({ name }) => name)
        .sort(),
    );
    expect(choose('all')).toEqual(NAMES);
    expect(choose(NAMES.slice(0, 2).toReversed().join(', '))).toEqual(NAMES.slice(0, 2));
  });

  it.each(['', 'dance', `${NAMES[0]},`, `${NAMES[0]},dance`, 'ALL'])('rejects the tool choice "%s"', (text) => {
    expect(chooseTools(text)).toBeUndefined();
  });
});
