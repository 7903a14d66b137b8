import { describe } from 'vitest';
import { storageContract } from '../../ports/storage.contract.ts';
import { openNewSqlite } from './open.fixture.ts';

describe('SQLite storage', () => storageContract(openNewSqlite()));
