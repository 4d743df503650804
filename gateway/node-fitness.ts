import type { Clock } from "#daemon/clock.ts";
import type { NodeFitness } from "./chain/node-fitness.ts";
import type { NodeFacts } from "#health/node-facts.ts";

/** How long the RPC has to be silent before it counts as down: one slow answer is no outage. */
const silentForMs = 3_000;

/** What the node is compared with. */
export type NodeFitnessOptions = Readonly<{ hasReferences: boolean }>;

/**
 * Whether the gateway may ask the node, by what its watches found; what is not known yet speaks for it. Without references nobody knows more of the
 * chain than the node does: then it is never behind.
 */
export function nodeFitness(
  { hasReferences }: NodeFitnessOptions,
  { facts, clock }: Readonly<{ facts: NodeFacts; clock: Clock }>,
): NodeFitness {
  const { rpc, chain, height, lag } = facts;
  if (rpc?.fault !== undefined && clock.monotonicMs() - rpc.sinceMs >= silentForMs) return "down";
  if (chain === "another") return "anotherChain";
  const isBehind = [height, lag].some((side) => typeof side === "object");
  return hasReferences && isBehind ? "behind" : "fit";
}
