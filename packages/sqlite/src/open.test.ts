import { storageContract } from '@memoryd/core/testing';
import { describe } from 'vitest';
import { openNewSqlite } from './open.fixture.ts';

describe('SQLite storage', () => storageContract(openNewSqlite()));
