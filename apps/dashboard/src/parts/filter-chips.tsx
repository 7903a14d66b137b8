import { type TargetedEvent, useState } from 'preact/compat';
import {
  type Condition,
  FIELDS,
  type Field,
  getInputError,
  parseCondition,
  parseConditions,
  TIERS,
  withCondition,
  withoutCondition,
} from '../filter.ts';
import { capitalize, formatDateTime } from '../format.ts';

interface FilterChipsProps {
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

/** The active filters with buttons to remove them, and a form that adds a filter. */
export function FilterChips({ params, onChange }: FilterChipsProps) {
  const conditions = parseConditions(params);
  return (
    <div className="filters">
      {conditions.length > 0 && (
        <ul className="chips" aria-label="Filters">
          {conditions.map((condition) => (
            <li key={`${condition.name}=${condition.value}`}>
              <Chip condition={condition} onRemove={() => onChange(withoutCondition(params, condition))} />
            </li>
          ))}
        </ul>
      )}
      <AddFilter onAdd={(condition) => onChange(withCondition(params, condition))} />
    </div>
  );
}

function Chip({ condition: { name, value }, onRemove }: { condition: Condition; onRemove: () => void }) {
  const label = FIELDS.find((field) => field.name === name)?.label ?? name.replace('metadata.', '');
  // The address may contain an invalid time, which is shown unchanged.
  const isTime = isTimeField(name) && !Number.isNaN(Date.parse(value));
  const shown = isTime ? formatDateTime(value) : value;
  return (
    <span className="chip">
      <span className="chip-name">{label}</span> {shown}
      <button type="button" onClick={onRemove} aria-label={`Remove filter ${label} ${shown}`}>
        ×
      </button>
    </span>
  );
}

function isTimeField(name: string): boolean {
  return name === 'since' || name === 'until';
}

function AddFilter({ onAdd }: { onAdd: (condition: Condition) => void }) {
  const [field, setField] = useState<Field['name']>('tag');
  const [text, setText] = useState('');
  const [inputError, setInputError] = useState<string>();
  const add = (event: Event) => {
    event.preventDefault();
    const condition = parseCondition(field, field === 'tier' ? text || TIERS[0] : text);
    setInputError(getInputError(field, text));
    if (!condition) return;
    onAdd(condition);
    setText('');
  };
  const type = (typed: string) => {
    setText(typed);
    setInputError(undefined);
  };
  const selectField = (name: Field['name']) => {
    setField(name);
    type('');
  };
  return (
    <form className="add-filter" onSubmit={add}>
      <select
        aria-label="Filter by"
        value={field}
        onChange={(event) => selectField(event.currentTarget.value as Field['name'])}
      >
        {FIELDS.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <ConditionInput field={field} value={text} onChange={type} />
      <button type="submit">Add filter</button>
      {inputError !== undefined && (
        <p className="input-error" role="alert">
          {inputError}
        </p>
      )}
    </form>
  );
}

interface ConditionInputProps {
  field: Field['name'];
  value: string;
  onChange: (value: string) => void;
}

function ConditionInput({ field, value, onChange }: ConditionInputProps) {
  if (field === 'tier') {
    return (
      <select aria-label="Tier" value={value || TIERS[0]} onChange={(event) => onChange(event.currentTarget.value)}>
        {TIERS.map((tier) => (
          <option key={tier} value={tier}>
            {capitalize(tier)}
          </option>
        ))}
      </select>
    );
  }
  const { label, placeholder } = FIELDS.find(({ name }) => name === field) as Field;
  const props = {
    'aria-label': label,
    required: true,
    value,
    onChange: (event: TargetedEvent<HTMLInputElement>) => onChange(event.currentTarget.value),
  };
  return isTimeField(field) ? (
    <input key={field} type="datetime-local" {...props} />
  ) : (
    <input key={field} type="text" placeholder={placeholder} {...props} />
  );
}
