import {
  type DecliningDistiller,
  type DistilGroup,
  type Distilled,
  type Distiller,
  DistillerUnavailable,
} from '../ports/distiller.ts';
import type { Clock, Telemetry } from '../ports/runtime.ts';
import { selectAgreeing } from './agreement.ts';

/** Pause after a failure that affects every group, so that the following groups do not wait for the same failure. */
const COOLDOWN_MS = 60_000;

interface FallbackParts {
  telemetry: Telemetry;
  clock: Clock;
}

/**
 * Creates a distiller that uses a fallback if the first distiller fails. The result names the replaced distiller
 * (`replacedDistiller`). A group whose sources do not agree as the fallback requires is declined. Failures are reported
 * as `distiller_failed`. After a failure that affects every group, the first distiller is not called for a minute.
 */
export function withFallback(
  first: Distiller,
  fallback: Distiller,
  { telemetry, clock }: FallbackParts,
): DecliningDistiller {
  let cooldown: { since: number; because: string } | undefined;

  // The group was selected for the first distiller, and may contain sources that the fallback must not quote side by
  // side.
  async function distilWithFallback(
    because: string,
    group: DistilGroup,
    signal: AbortSignal,
  ): Promise<Distilled | undefined> {
    const agreeing = selectAgreeing(group.sources, { onlyEnglish: false, quoted: fallback.quotes });
    if (agreeing.length < group.sources.length) return undefined;
    return { ...(await fallback.distil(group, signal)), replacedDistiller: { name: first.name, because } };
  }

  function report(error: unknown): string {
    const { message, option = null } = error instanceof DistillerUnavailable ? error : { message: 'unexpected error' };
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
      // The absolute difference also ends the pause if the clock was set back.
      if (cooldown && Math.abs(clock.now() - cooldown.since) < COOLDOWN_MS)
        return distilWithFallback(cooldown.because, group, signal);
      cooldown = undefined;
      try {
        return await first.distil(group, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const because = report(error);
        if (error instanceof DistillerUnavailable && error.forAll) cooldown = { since: clock.now(), because };
        return distilWithFallback(because, group, signal);
      }
    },
  };
}
