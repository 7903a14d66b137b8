import { type TargetedEvent, useCallback, useState } from 'preact/compat';
import {
  type Condition,
  describeCondition,
  ENDED,
  FIELDS,
  type Field,
  getInputError,
  isTimeField,
  parseCondition,
  parseConditions,
  parseListFilter,
  TIERS,
  withCondition,
  withoutCondition,
} from '../filter.ts';
import { focusOnMount } from '../focus.ts';
import { capitalize, formatDateTime, formatNumber } from '../format.ts';
import { useResource } from '../resource.ts';
import { getAddressInScope, getScope, goTo } from '../route.ts';
import type { Memories } from '../service.tsx';
import { Menu } from './menu.tsx';
import './filter-chips.css';

interface FilterChipsProps {
  view: string;
  params: URLSearchParams;
  /** Whether a change replaces the history entry. */
  replace?: boolean;
}

/** The active filters with buttons to remove them, and a menu that adds a filter. A change closes the open memory. */
export function FilterChips({ view, params, replace = false }: FilterChipsProps) {
  const conditions = parseConditions(params);
  const change = (changed: URLSearchParams) => {
    changed.delete('open');
    // The user and the agent of the scope are filters, too.
    goTo(getAddressInScope(getScope(changed), view, changed), { replace });
  };
  return (
    <div className="filters">
      {conditions.length > 0 && (
        <ul className="chips" aria-label="Filters">
          {conditions.map((condition) => (
            <li key={`${condition.name}=${condition.value}`}>
              <Chip
                condition={condition}
                onRemove={() => change(withoutCondition(params, condition))}
                onReplace={(other) => change(withCondition(params, other))}
              />
            </li>
          ))}
        </ul>
      )}
      <Menu label="+ Filter" title="Add a filter">
        {(close) => (
          <AddFilter
            params={params}
            onAdd={(condition) => {
              change(withCondition(params, condition));
              close();
            }}
          />
        )}
      </Menu>
    </div>
  );
}

interface ChipProps {
  condition: Condition;
  onRemove: () => void;
  onReplace: (condition: Condition) => void;
}

function Chip({ condition, onRemove, onReplace }: ChipProps) {
  const { label, isExcluded, opposite } = describeCondition(condition);
  const shown = describeValue(condition);
  const not = isExcluded ? 'not ' : '';
  return (
    <span className={isExcluded ? 'chip chip-not' : 'chip'}>
      {opposite ? (
        <button
          type="button"
          className="chip-name"
          onClick={() => onReplace(opposite)}
          aria-label={`${label} is ${not}${shown}: ${isExcluded ? 'include' : 'exclude'} instead`}
          title={isExcluded ? 'Include instead' : 'Exclude instead'}
        >
          {label} {isExcluded ? <b>not</b> : 'is'}
        </button>
      ) : (
        <span className="chip-name">{label}</span>
      )}{' '}
      {shown}
      <button type="button" onClick={onRemove} aria-label={`Remove filter ${label} ${not}${shown}`}>
        ×
      </button>
    </span>
  );
}

function describeValue({ name, value }: Condition): string {
  // The address may contain an invalid time, which is shown unchanged.
  if (isTimeField(name) && !Number.isNaN(Date.parse(value))) return formatDateTime(value);
  if (name === 'current') return 'holds now';
  return value === '' ? 'none' : value;
}

interface AddFilterProps {
  params: URLSearchParams;
  onAdd: (condition: Condition) => void;
}

function AddFilter({ params, onAdd }: AddFilterProps) {
  const [name, setName] = useState<Field['name']>('tag');
  const [isExcluded, setIsExcluded] = useState(false);
  const [text, setText] = useState('');
  const [inputError, setInputError] = useState<string>();
  const field = FIELDS.find((one) => one.name === name) as Field;
  const not = isExcluded && field.canExclude === true;
  const add = (value: string) => {
    const condition = parseCondition(name, value, not);
    setInputError(getInputError(name, value));
    if (condition) onAdd(condition);
  };
  const type = (typed: string) => {
    setText(typed);
    setInputError(undefined);
  };
  return (
    <form
      className="add-filter"
      onSubmit={(event) => {
        event.preventDefault();
        add(text || (getChoices(name)[0]?.value ?? ''));
      }}
    >
      <select
        ref={focusOnMount}
        aria-label="Filter by"
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value as Field['name']);
          type('');
        }}
      >
        {FIELDS.filter((one) => one.name !== 'ended').map(({ name: value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      {field.canExclude && (
        <select
          aria-label="Condition"
          value={String(not)}
          onChange={(event) => setIsExcluded(event.currentTarget.value === 'true')}
        >
          <option value="false">is</option>
          <option value="true">is not</option>
        </select>
      )}
      <ConditionInput field={field} value={text} onChange={type} />
      <button type="submit">Add filter</button>
      {inputError !== undefined && (
        <p className="input-error" role="alert">
          {inputError}
        </p>
      )}
      {field.hasFacet && getChoices(name).length === 0 && (
        <FacetValues key={name} field={name} prefix={text.trim()} params={params} onChoose={add} />
      )}
    </form>
  );
}

interface FacetValuesProps {
  field: Field['name'];
  prefix: string;
  params: URLSearchParams;
  onChoose: (value: string) => void;
}

/** The most frequent values of a field among the memories that match the filters, each with its count. */
function FacetValues({ field, prefix, params, onChoose }: FacetValuesProps) {
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => {
      const filter = parseListFilter(params);
      return memory.facets({ ...filter, field, limit: 12, ...(prefix !== '' && { prefix }) }, { signal });
    },
    [field, prefix, params],
  );
  const { value, error } = useResource(load);
  // The input works without the counts.
  if (error !== undefined) return <p className="soft facet-note">The values could not be counted.</p>;
  const values = value?.values.filter((one) => one.value !== '') ?? [];
  const counted = value?.counted_count;
  return (
    <>
      <ul className="facets" aria-label="Values" aria-busy={value === undefined}>
        {values.map((one) => (
          <li key={one.value}>
            <button type="button" onClick={() => onChoose(one.value)}>
              <span dir="auto">{one.value}</span> <span className="soft">{formatNumber(one.count)}</span>
            </button>
          </li>
        ))}
      </ul>
      {value !== undefined && values.length === 0 && <p className="soft facet-note">No values</p>}
      {counted !== undefined && (
        <p className="soft facet-note">Counted in the newest {formatNumber(counted)} memories.</p>
      )}
    </>
  );
}

/** Returns the values of a field that has few. */
function getChoices(field: Field['name']): { value: string; label: string }[] {
  if (field === 'tier') return TIERS.map((tier) => ({ value: tier, label: capitalize(tier) }));
  if (field !== 'current') return [];
  return [
    { value: 'true', label: 'Holds now' },
    { value: ENDED, label: 'Ended' },
  ];
}

interface ConditionInputProps {
  field: Field;
  value: string;
  onChange: (value: string) => void;
}

function ConditionInput({ field: { name, label, placeholder }, value, onChange }: ConditionInputProps) {
  const choices = getChoices(name);
  if (choices.length > 0) {
    return (
      <select
        aria-label={label}
        value={value || choices[0]?.value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    );
  }
  const props = {
    'aria-label': label,
    required: true,
    value,
    onChange: (event: TargetedEvent<HTMLInputElement>) => onChange(event.currentTarget.value),
  };
  return isTimeField(name) ? (
    <input key={name} type="datetime-local" {...props} />
  ) : (
    <input key={name} type="text" autoComplete="off" placeholder={placeholder} {...props} />
  );
}
