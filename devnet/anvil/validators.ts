import type { Hex } from "viem";

/**
 * The four validators that take turns proposing the devnet's blocks. A devnet value: the specification mentions proposers and validators,
 * but not how they are chosen.
 */
export const validatorAddresses: readonly Hex[] = [
  "0x000000000000000000000000000000000000de01",
  "0x000000000000000000000000000000000000de02",
  "0x000000000000000000000000000000000000de03",
  "0x000000000000000000000000000000000000de04",
];

/** Finds the validator that proposes a block: it becomes the block's `miner` and receives the priority fees. */
export function findProposer(blockNumber: number): Hex {
  const proposer = validatorAddresses[blockNumber % validatorAddresses.length];
  if (proposer === undefined) throw new RangeError(`block numbers are whole and not negative, found ${blockNumber}`);
  return proposer;
}
