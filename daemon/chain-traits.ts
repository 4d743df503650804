/** Unusual traits of a chain and its nodes. */
export type ChainTraits = Readonly<{
  /** Whether a transaction is charged for its full gas limit instead of the gas used. */
  chargesGasLimit: boolean;
  /** Max number of calls per batch that the chain's nodes accept; undefined if they set no limit below geth's. */
  batchCallsMax: number | undefined;
}>;

const defaultTraits: ChainTraits = { chargesGasLimit: false, batchCallsMax: undefined };

/** The public family of chains: the mainnet, and the newer and the older testnet. */
const publicFamily: ChainTraits = { chargesGasLimit: true, batchCallsMax: 20 };
const publicFamilyIds: ReadonlySet<number> = new Set([1_672, 688_689, 688_688]);

/** Returns the traits of a chain by its id, or the usual traits for an unknown chain. */
export function findChainTraits(chainId: number | undefined): ChainTraits {
  return chainId !== undefined && publicFamilyIds.has(chainId) ? publicFamily : defaultTraits;
}
