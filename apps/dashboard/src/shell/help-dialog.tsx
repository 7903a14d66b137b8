import { KEYS } from '../keys.ts';
import { Dialog } from '../parts/dialog.tsx';

/** Lists all keys, by the part of the dashboard in which they work. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      {Object.entries(KEYS).map(([place, keys]) => (
        <section key={place} className="keys">
          <h3>{place}</h3>
          <dl>
            {keys.map(([names, effect]) => (
              <div key={effect}>
                <dt>
                  {names.split(', ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{effect}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p className="soft note">Keys have no effect while you type in a field.</p>
      <div className="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
