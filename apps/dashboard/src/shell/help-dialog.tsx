import { KEYS } from '../keys.ts';
import { Dialog } from '../parts/dialog.tsx';

/** Lists all keys, by the part of the dashboard in which they work. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  const rooms = [...new Set(KEYS.map(({ room }) => room))];
  return (
    <Dialog title="Keys" onClose={onClose}>
      {rooms.map((room) => (
        <section key={room} className="keys">
          <h3>{room}</h3>
          <dl>
            {KEYS.filter((key) => key.room === room).map(({ keys, does }) => (
              <div key={does}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
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
