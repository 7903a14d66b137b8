import { storageContract } from '@memoryd/suites';
import { describe } from 'vitest';
import { openNewSqlite } from './open.fixture.ts';

describe('SQLite storage', () => storageContract(openNewSqlite()));
