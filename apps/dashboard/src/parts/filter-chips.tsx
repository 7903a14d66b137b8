import { type FormEvent, useState } from 'react';
import {
  type Condition,
  FIELDS,
  type Field,
  getRefusal,
  parseCondition,
  parseConditions,
  TIERS,
  withCondition,
  withoutCondition,
} from '../filter.ts';
import { moment } from '../format.ts';

interface FilterChipsProps {
  asked: URLSearchParams;
  onChange: (asked: URLSearchParams) => void;
}

/** The conditions that hold, each to be taken away, and a way to add one. */
export function FilterChips({ asked, onChange }: FilterChipsProps) {
  const conditions = parseConditions(asked);
  return (
    <div className="filters">
      {conditions.length > 0 && (
        <ul className="chips" aria-label="Filters">
          {conditions.map((condition) => (
            <li key={`${condition.name}=${condition.value}`}>
              <Chip condition={condition} onRemove={() => onChange(withoutCondition(asked, condition))} />
            </li>
          ))}
        </ul>
      )}
      <AddFilter onAdd={(condition) => onChange(withCondition(asked, condition))} />
    </div>
  );
}

function Chip({ condition: { name, value }, onRemove }: { condition: Condition; onRemove: () => void }) {
  const label = FIELDS.find((field) => field.name === name)?.label ?? name.replace('metadata.', '');
  // What an address says may be no time at all.
  const isTime = (name === 'since' || name === 'until') && !Number.isNaN(Date.parse(value));
  const shown = isTime ? moment(value) : value;
  return (
    <span className="chip">
      <span className="chip-name">{label}</span> {shown}
      <button type="button" onClick={onRemove} aria-label={`Remove filter ${label} ${shown}`}>
        ×
      </button>
    </span>
  );
}

function AddFilter({ onAdd }: { onAdd: (condition: Condition) => void }) {
  const [field, setField] = useState<Field['name']>('tag');
  const [typed, setTyped] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const add = (event: FormEvent) => {
    event.preventDefault();
    const condition = parseCondition(field, field === 'tier' ? typed || TIERS[0] : typed);
    setRefusal(getRefusal(field, typed));
    if (!condition) return;
    onAdd(condition);
    setTyped('');
  };
  const type = (text: string) => {
    setTyped(text);
    setRefusal(undefined);
  };
  const choose = (chosen: Field['name']) => {
    setField(chosen);
    type('');
  };
  return (
    <form className="add-filter" onSubmit={add}>
      <select aria-label="Filter by" value={field} onChange={(event) => choose(event.target.value as Field['name'])}>
        {FIELDS.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <ConditionInput field={field} value={typed} onChange={type} />
      <button type="submit">Add filter</button>
      {refusal !== undefined && (
        <p className="refusal" role="alert">
          {refusal}
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
      <select aria-label="Tier" value={value || TIERS[0]} onChange={(event) => onChange(event.target.value)}>
        {TIERS.map((tier) => (
          <option key={tier}>{tier}</option>
        ))}
      </select>
    );
  }
  const { label, hint } = FIELDS.find(({ name }) => name === field) as Field;
  const isTime = field === 'since' || field === 'until';
  return (
    <input
      aria-label={label}
      type={isTime ? 'datetime-local' : 'text'}
      placeholder={hint}
      required
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
