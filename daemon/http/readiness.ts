import { describeRejectedFiles, type ActiveFile } from "../files/active-files.ts";

export type ReadinessCheck = Readonly<{
  ok: boolean;
  message: string;
  /** The service is ready despite the failure, because the cause is outside it and affected clients get a proper response. */
  tolerated?: boolean;
}>;

/** Response of `/readyz`. Read from state; never waits for another process. */
export type Readiness = Readonly<{ ready: boolean; checks: Readonly<Record<string, ReadinessCheck>> }>;

/** Determines readiness: a service is ready when every check is ok or tolerated. */
export function evaluateReadiness(checks: Readonly<Record<string, ReadinessCheck>>): Readiness {
  return { ready: Object.values(checks).every((check) => check.ok || check.tolerated === true), checks };
}

/** Checks that the content of all hot-reloaded files is active; no check for a service without such files. */
export function checkFiles(files: readonly ActiveFile[]): Readonly<Record<string, ReadinessCheck>> {
  if (files.length === 0) return {};
  const rejected = describeRejectedFiles(files);
  if (rejected === undefined) return { files: { ok: true, message: "active" } };
  return { files: { ok: false, message: rejected, tolerated: true } };
}

/** State of a service's main port, for `/readyz`, which has its own port and is served longer. */
export type PortState = Readonly<{
  opened: () => void;
  check: () => ReadinessCheck;
}>;

/** Tracks the main port from before it opens until shutdown, when work in flight is drained and no more is accepted. */
export function trackPort(stop: AbortSignal): PortState {
  let isOpen = false;
  return {
    opened: () => (isOpen = true),
    check: () => {
      if (stop.aborted) return { ok: false, message: "stopping" };
      return isOpen ? { ok: true, message: "open" } : { ok: false, message: "not open yet" };
    },
  };
}
