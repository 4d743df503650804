import type { Clock } from "#daemon/clock.ts";
import type { NodeFitness } from "./chain/node-fitness.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionType } from "#status/condition.ts";

/** How long the RPC has to be silent before it counts as down: one slow answer is no outage. */
const silentForMs = 3_000;

/** What the node is compared with. */
export type NodeFitnessOptions = Readonly<{ hasReferences: boolean }>;

/** Conditions of which one that is False says, beside references, that the node does not have the network's head. */
const saysBehind: readonly ConditionType[] = ["HeightAdvancing", "HeightCurrent"];

/**
 * Whether the gateway may ask the node, read from the board; what is not known yet speaks for it. Without references nobody knows more of the
 * chain than the node does: then it is never behind.
 */
export function nodeFitness(
  { hasReferences }: NodeFitnessOptions,
  { board, clock }: Readonly<{ board: ConditionBoard; clock: Clock }>,
): NodeFitness {
  const answering = board.get("RpcAnswering");
  if (answering?.status === "False" && clock.wallMs() - Date.parse(answering.since) >= silentForMs) return "down";
  if (board.get("ChainIdExpected")?.status === "False") return "anotherChain";
  return hasReferences && saysBehind.some((type) => board.get(type)?.status === "False") ? "behind" : "fit";
}
