import type { ReadinessCheck } from "#daemon/http/readiness.ts";

/**
 * Makes what follows whether payments can be judged: once they could, a failure is tolerated. What verifies and settles is the same for all
 * replicas, a facilitator or the chain, so that a load balancer that took out each would have none left to say 503 with Retry-After, to name
 * prices and to deliver what is paid. Before that it is not tolerated, so that a rollout with a wrong URL or key stops at its first replica.
 */
export function onceFit(): (check: ReadinessCheck) => ReadinessCheck {
  let wasFit = false;
  return (check) => {
    wasFit ||= check.ok;
    return wasFit && !check.ok ? { ...check, tolerated: true } : check;
  };
}
