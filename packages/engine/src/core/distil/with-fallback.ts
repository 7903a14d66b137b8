import {
  type DecliningDistiller,
  type DistilGroup,
  type Distilled,
  type Distiller,
  DistillerUnavailable,
} from '../../ports/distiller.ts';
import type { Clock, Telemetry } from '../../ports/runtime.ts';
import { selectAgreeing } from './agreement.ts';

/** How long a distiller that can distil nothing just now is left alone: every group would wait as long for nothing. */
const REST_MS = 60_000;

interface FallbackParts {
  telemetry: Telemetry;
  clock: Clock;
}

/**
 * Asks a distiller, and another one wherever the first fails: what that makes says so (`replacedDistiller`), unless the sources do
 * not agree as it needs; the failure is reported as `distiller_failed`. After a failure that would meet every group the first rests for a minute.
 */
export function withFallback(
  first: Distiller,
  fallback: Distiller,
  { telemetry, clock }: FallbackParts,
): DecliningDistiller {
  let resting: { since: number; because: string } | undefined;

  // The group was selected for the first distiller, and may hold what the other one must not quote side by side.
  async function instead(because: string, group: DistilGroup, signal: AbortSignal): Promise<Distilled | undefined> {
    const agreeing = selectAgreeing(group.sources, { onlyEnglish: false, quoted: fallback.quotes });
    if (agreeing.length < group.sources.length) return undefined;
    return { ...(await fallback.distil(group, signal)), replacedDistiller: { name: first.name, because } };
  }

  function report(error: unknown): string {
    const { message, option = null } =
      error instanceof DistillerUnavailable ? error : { message: 'failed by a defect' };
    telemetry.report({
      level: 'warn',
      component: 'consolidation',
      event: 'distiller_failed',
      facts: { distiller: first.name, used: fallback.name, message, ...(option && { option }) },
      error,
    });
    return message;
  }

  return {
    name: first.name,
    quotes: first.quotes,
    async distil(group, signal) {
      // Either way: the clock may have been set back.
      if (resting && Math.abs(clock.now() - resting.since) < REST_MS) return instead(resting.because, group, signal);
      resting = undefined;
      try {
        return await first.distil(group, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const because = report(error);
        if (error instanceof DistillerUnavailable && error.forAll) resting = { since: clock.now(), because };
        return instead(because, group, signal);
      }
    },
  };
}
