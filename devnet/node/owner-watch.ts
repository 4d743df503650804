import { isRunning, type ProcessIdentity } from "./process-identity.ts";

/** Whether the process that a node belongs to is still there. */
export type OwnerWatch = Disposable & Readonly<{ gone: AbortSignal }>;

const intervalMs = 250;

/**
 * Watches the process that a node was prepared for. `ops` starts nodes that outlive it, so that nothing else tells a node that the stack it
 * belongs to was killed with -9. One that has ended before the node began is nobody's owner: a person started this node by hand.
 */
export async function watchOwner(owner: ProcessIdentity | undefined): Promise<OwnerWatch> {
  const gone = new AbortController();
  if (owner === undefined || !(await isRunning(owner))) return { gone: gone.signal, [Symbol.dispose]: () => undefined };
  const look = async () => {
    if (!(await isRunning(owner))) gone.abort(`process ${owner.pid}, which this node belongs to, is gone`);
  };
  // A look that fails, because no descriptor is left for one, says nothing; the next one may.
  const timer = setInterval(() => void look().catch(() => undefined), intervalMs).unref();
  return { gone: gone.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
