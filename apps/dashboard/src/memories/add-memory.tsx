import { useState } from 'preact/compat';
import { AddMemoryForm } from '../parts/add-memory-form.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { openMemory } from '../route.ts';

/** A button that opens a form for a new memory. The stored memory opens beside the table. */
export function AddMemory() {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" className="primary" onClick={() => setIsOpen(true)}>
        + Add
      </button>
      {isOpen && (
        <Dialog title="New memory" onClose={() => setIsOpen(false)}>
          <AddMemoryForm
            onStored={(id) => {
              setIsOpen(false);
              openMemory(id);
            }}
          />
          <button type="button" onClick={() => setIsOpen(false)}>
            Cancel
          </button>
        </Dialog>
      )}
    </>
  );
}
