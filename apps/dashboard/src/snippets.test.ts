import { describe, expect, it } from 'vitest';
import { getMcpConfig, getRecallCurl, getStoreCode, getStoreCurl } from './snippets.ts';

const open = { url: 'http://10.0.0.7:8090/memory', hasKey: false };
const locked = { ...open, hasKey: true };

describe('code snippets', () => {
  it('store a memory with curl, with the text quoted for the shell', () => {
    expect(getStoreCurl(open, { content: "Ada's tea" })).toBe(
      `curl -s 'http://10.0.0.7:8090/memory/store' \\
  -H 'Content-Type: application/json' \\
  -d '{
  "content": "Ada'\\''s tea"
}'`,
    );
  });

  it('code snippets read the API key from MEMORYD_API_KEY if the service requires a key', () => {
    const header = '-H "Authorization: Bearer $MEMORYD_API_KEY"';
    expect(getStoreCurl(locked, { content: 'x' })).toContain(`\\\n  ${header} \\\n  -d`);
    expect(getRecallCurl(locked, { query: 'x' })).toMatch(/\/recall\?query=x' \\\n {2}-H "[^"]+"$/);
    expect(getRecallCurl(open, { query: 'x' })).toBe("curl -s 'http://10.0.0.7:8090/memory/recall?query=x'");
    expect(getStoreCode(locked, { content: 'x' }, { query: 'y' })).toContain('apiKey: process.env.MEMORYD_API_KEY');
    expect(getStoreCode(open, { content: 'x' }, { query: 'y' })).not.toContain('apiKey');
  });

  it('code snippets contain an MCP configuration with the URL of the service', () => {
    const memoryd = { type: 'http', url: 'http://10.0.0.7:8090/memory/mcp' };
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the agent replaces the variable
    const headers = { Authorization: 'Bearer ${MEMORYD_API_KEY}' };
    expect(JSON.parse(getMcpConfig(open))).toEqual({ mcpServers: { memoryd } });
    expect(JSON.parse(getMcpConfig(locked))).toEqual({ mcpServers: { memoryd: { ...memoryd, headers } } });
  });
});
