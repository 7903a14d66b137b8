import type { ListFilter } from '../filter.ts';
import type { Selected } from '../memories/selection.tsx';
import { useService } from '../service.tsx';
import { EXPORT_FORMATS } from './export-formats.ts';
import { exportMemories } from './export-memories.ts';

interface ExportChoicesProps {
  selected: Selected;
  filter: ListFilter;
  /** Called when an export has started. */
  onChosen: () => void;
}

/** Buttons that export memories, one for each format of the file. */
export function ExportChoices({ selected, filter, onChosen }: ExportChoicesProps) {
  const { memory } = useService();
  return (
    <div className="actions">
      {EXPORT_FORMATS.map((format) => (
        <button
          key={format.extension}
          type="button"
          onClick={() => {
            exportMemories(memory, selected, filter, format);
            onChosen();
          }}
        >
          {format.label}
        </button>
      ))}
    </div>
  );
}
