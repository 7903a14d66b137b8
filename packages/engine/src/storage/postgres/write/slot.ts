import { raw } from '../../sql/sql.ts';

/**
 * Which of the 16 slots of a count a connection adds to. A count is the sum of its slots, so that connections that store
 * at once do not wait for each other.
 */
export const OWN_SLOT = raw('pg_backend_pid() % 16');
