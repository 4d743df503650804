/** One thing that has to be right before a service takes traffic. */
export type ReadinessCheck = Readonly<{
  ok: boolean;
  message: string;
  /** The service is fit for traffic all the same: what is wrong lies behind it, and it has an answer for who meets that. */
  tolerated?: boolean;
}>;

/** Answer of `/readyz`. Read from state; never waits for another process. */
export type Readiness = Readonly<{ ready: boolean; checks: Readonly<Record<string, ReadinessCheck>> }>;

/** Judges readiness: a service is ready when every check is ok or tolerated. */
export function judgeReadiness(checks: Readonly<Record<string, ReadinessCheck>>): Readiness {
  return { ready: Object.values(checks).every((check) => check.ok || check.tolerated === true), checks };
}

/** State of the port at which a service takes its work, for `/readyz`, which has its own port and is served longer. */
export type PortState = Readonly<{
  /** Says that the port is open. */
  opened: () => void;
  check: () => ReadinessCheck;
}>;

/** Follows that port from before it is open until the stop, when work under way is finished and none is taken any more. */
export function followPort(stop: AbortSignal): PortState {
  let isOpen = false;
  return {
    opened: () => (isOpen = true),
    check: () => {
      if (stop.aborted) return { ok: false, message: "stopping" };
      return isOpen ? { ok: true, message: "open" } : { ok: false, message: "not open yet" };
    },
  };
}
