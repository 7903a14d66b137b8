import { defineConfig } from 'orval';

export default defineConfig({
  memoryd: {
    input: 'openapi.json',
    output: {
      target: 'memoryd.ts',
      client: 'fetch',
      baseUrl: { runtime: 'process.env.MEMORYD_URL' },
      // One function for each content type of a request body, such as importMemoriesWithJson.
      override: { splitByContentType: true },
    },
  },
});
