import { distillerContract } from '@memoryd/suites';
import { describe } from 'vitest';
import { extractive } from '../src/distil/extractive.ts';

describe('extractive distiller', () => {
  distillerContract(() => extractive);
});
