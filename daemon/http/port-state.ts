import type { ReadinessCheck } from "./readiness.ts";

/** How the port stands that a service takes its work at, for `/readyz`, which has a port of its own and is served longer. */
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
