import type { MemoryFilter } from '../../ports/storage-memories.ts';
import { filteredAttributes } from '../attributes.ts';
import { IN_TIER } from '../conditions.ts';
import { NOT_EXPIRED } from './row.ts';

/** A condition on `memory m`: the tables it needs, and the values of its named parameters. */
export interface Condition {
  from: string;
  where: string;
  values: Record<string, unknown>;
}

// A cross join keeps its order: from the memories that have an attribute, not from all memories of the namespace.
const FROM_ATTRIBUTE = 'attribute a CROSS JOIN memory m ON m.ordinal = a.ordinal';

/** What makes a memory of a namespace live at a time and passes a filter. */
export function liveAndPassing(namespace: string, filter: MemoryFilter, now: number): Condition {
  const where = ['m.namespace = @namespace', IN_TIER, NOT_EXPIRED];
  const values: Record<string, unknown> = { namespace, now };
  const compare = (column: string, operator: string, name: string, value: unknown) => {
    if (value === undefined) return;
    where.push(`m.${column} ${operator} @${name}`);
    values[name] = value;
  };
  compare('tier', '=', 'tier', filter.tier);
  compare('session_id', '=', 'sessionId', filter.sessionId);
  compare('source', '=', 'source', filter.source);
  compare('created_at', '>=', 'since', filter.since);
  compare('created_at', '<=', 'until', filter.until);
  const attributes = filteredAttributes(filter);
  attributes.forEach(([name, value], i) => {
    const its = `a.namespace = @namespace AND a.name = @name${i} AND a.value = @value${i}`;
    // Not a join for each, of which SQLite takes 64.
    where.push(i === 0 ? its : `EXISTS (SELECT 1 FROM attribute a WHERE ${its} AND a.ordinal = m.ordinal)`);
    values[`name${i}`] = name;
    values[`value${i}`] = value;
  });
  return { from: attributes.length > 0 ? FROM_ATTRIBUTE : 'memory m', where: where.join(' AND '), values };
}
