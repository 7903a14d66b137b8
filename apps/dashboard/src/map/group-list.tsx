import type { MapPoint } from '@memoryd/client';
import { formatNumber } from '../format.ts';
import type { Coloring, Group } from './coloring.ts';
import { type LoadText, TextList } from './texts.tsx';

interface GroupListProps {
  groups: readonly Group[];
  coloring: Coloring;
  points: readonly MapPoint[];
  /** Key of the group that is shown alone. */
  chosen: string | undefined;
  loadText: LoadText;
  onChoose: (key: string | undefined) => void;
  onSelect: (indexes: readonly number[]) => void;
}

/**
 * The groups with their colors: the legend of the map, and what it shows as a list. A chosen group is shown alone, with
 * its newest memories below its name.
 */
export function GroupList({ groups, coloring, points, chosen, loadText, onChoose, onSelect }: GroupListProps) {
  return (
    <section aria-label={`Groups by ${coloring}`}>
      <h2>{TITLES[coloring]}</h2>
      <ul className="map-groups">
        {groups.map(({ key, label, color, points: members }) => {
          const isChosen = key === chosen;
          return (
            <li key={key}>
              <div className="map-group">
                <button
                  type="button"
                  className="map-group-name"
                  aria-pressed={isChosen}
                  title={label}
                  onClick={() => onChoose(isChosen ? undefined : key)}
                >
                  <i style={{ background: `var(${color})` }} />
                  <span dir="auto">{label}</span>
                  <span className="soft">{formatNumber(members.length)}</span>
                </button>
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Select the ${formatNumber(members.length)} of ${label}`}
                  onClick={() => onSelect(members)}
                >
                  Select
                </button>
              </div>
              {isChosen && (
                <TextList ids={members.map((index) => (points[index] as MapPoint).id)} loadText={loadText} />
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const TITLES: Readonly<Record<Coloring, string>> = {
  cluster: 'Clusters',
  tag: 'First tags',
  session: 'Sessions',
  user: 'Users',
  tier: 'Tiers',
  age: 'Ages',
};
