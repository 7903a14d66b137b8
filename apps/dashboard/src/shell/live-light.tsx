import { formatTime } from '../format.ts';
import { useWatch } from '../watch.tsx';

/** Shows whether the page is updated live, or since when the service is unreachable. */
export function LiveLight() {
  const { unreachableSince, streamState, isPaused } = useWatch();
  if (isPaused) return null;
  if (unreachableSince !== undefined) {
    return <span className="live live-unreachable">Unreachable since {formatTime(unreachableSince)}</span>;
  }
  const label = { connecting: 'Connecting', live: 'Live', stopped: 'Live updates stopped' }[streamState];
  return <span className={`live live-${streamState}`}>{label}</span>;
}

/** States above a view that the service is unreachable. The view keeps what it has loaded. */
export function OutageNotice() {
  const { unreachableSince } = useWatch();
  return (
    <div role="status" className="outage-place">
      {unreachableSince !== undefined && (
        <p className="outage">
          Service unreachable since {formatTime(unreachableSince)}; retrying. The page shows what it has loaded before.
        </p>
      )}
    </div>
  );
}
