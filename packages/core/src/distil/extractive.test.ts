import { describe } from 'vitest';
import { distillerContract } from '../ports/distiller.contract.ts';
import { extractive } from './extractive.ts';

describe('extractive distiller', () => {
  distillerContract(() => extractive);
});
