/** One thing that has to be right before a service takes traffic. */
export type ReadinessCheck = Readonly<{
  ok: boolean;
  message: string;
  /** The service is fit for traffic all the same: what is wrong lies behind it, and it has an answer for who meets that. */
  tolerated?: boolean;
}>;

/** What `/readyz` answers. Read from state; never waits for another process. */
export type Readiness = Readonly<{ ready: boolean; checks: Readonly<Record<string, ReadinessCheck>> }>;

/** Ready when every check is, or is tolerated. */
export function readinessOf(checks: Readonly<Record<string, ReadinessCheck>>): Readiness {
  return { ready: Object.values(checks).every((check) => check.ok || check.tolerated === true), checks };
}
