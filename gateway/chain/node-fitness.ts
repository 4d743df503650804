/**
 * Whether the node can answer for the network's chain: `behind`, it answers and does not have the network's head; `anotherChain`, it
 * answers for another chain; `down`, it does not answer.
 */
export type NodeFitness = "fit" | "behind" | "anotherChain" | "down";
