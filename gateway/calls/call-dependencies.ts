import type { ListenerName } from "../catalogue/method.ts";
import type { Head, NodeFitness } from "../chain/head.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { RememberedChecks } from "../limits/checked-params.ts";
import type { Meter } from "../observe/meter.ts";
import type { Policy, PolicySource } from "../policy.ts";
import type { NodeReads } from "../reads/node-reads.ts";

/** Dependencies shared by all calls of a gateway. */
export type CallDependencies = Readonly<{
  policy: PolicySource;
  limiter: RateLimiter;
  gate: LoadGate;
  head: Head;
  checks: RememberedChecks;
  reads: NodeReads;
  nodeFitness: () => NodeFitness;
  meter: Meter;
  /** Returns the OpenRPC document for a listener as JSON text. */
  openRpc: (policy: Policy, listener: ListenerName) => string;
  /** Returns the milliseconds of a monotonic clock. */
  now: () => number;
}>;
