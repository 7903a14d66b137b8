import type { Memory } from '@memoryd/client';
import { formatDateTime, formatValue } from '../format.ts';
import { PROPERTY_LABELS } from '../parts/draft-diff.tsx';
import { Tags, TierLabel } from '../parts/labels.tsx';
import { Fact } from './facts.tsx';
import type { FormField } from './memory-form.tsx';

interface MemoryViewProps {
  memory: Memory;
  isForgetting: boolean;
  /** Starts to edit a field; undefined if the memory is read-only here. */
  onEdit: ((field: FormField) => void) | undefined;
}

/** The text and the properties of a memory. A click on one starts to edit it. */
export function MemoryView({ memory, isForgetting, onEdit }: MemoryViewProps) {
  const { content, tags, tier, metadata } = memory;
  const editText = () => {
    // A person who selects a part of the text wants to copy it.
    if (getSelection()?.isCollapsed !== false) onEdit?.('content');
  };
  return (
    <>
      <TierLabel tier={tier} />
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the button “Edit” and the key `e` do the same */}
      <p
        className={['memory-text', isForgetting && 'forgetting', onEdit && 'editable'].filter(Boolean).join(' ')}
        dir="auto"
        onClick={onEdit && editText}
      >
        {content}
      </p>
      <Tags tags={tags} />
      <dl className="details">
        <Property name="Importance" field="importance" onEdit={onEdit}>
          {String(memory.importance)}
        </Property>
        {memory.valid_from !== null && (
          <Property name={PROPERTY_LABELS.valid_from} field="valid_from" onEdit={onEdit}>
            {formatDateTime(memory.valid_from)}
          </Property>
        )}
        {memory.valid_to !== null && (
          <Property name={PROPERTY_LABELS.valid_to} field="valid_to" onEdit={onEdit}>
            {formatDateTime(memory.valid_to)}
          </Property>
        )}
        <Property name={PROPERTY_LABELS.expires_at} field="expires_at" onEdit={onEdit}>
          {memory.expires_at === null ? 'Never' : formatDateTime(memory.expires_at)}
        </Property>
        {Object.entries(metadata).map(([name, value]) => (
          <Property key={name} name={name} field="metadata" onEdit={onEdit}>
            {formatValue(value)}
          </Property>
        ))}
      </dl>
    </>
  );
}

interface PropertyProps extends Pick<MemoryViewProps, 'onEdit'> {
  name: string;
  field: FormField;
  children: string;
}

function Property({ name, field, onEdit, children }: PropertyProps) {
  return (
    <Fact name={name}>
      {onEdit ? (
        <button type="button" className="property" title={`Edit ${name}`} onClick={() => onEdit(field)}>
          {children}
        </button>
      ) : (
        children
      )}
    </Fact>
  );
}
