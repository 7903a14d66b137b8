import { raw } from './sql.ts';

/**
 * The frame of a window: the rows up to the one before the row before. Where their texts fit into a page, the row before
 * may be the page's last, and the row itself shows that another page follows.
 */
export const BEFORE_THE_LAST = raw('ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING');
