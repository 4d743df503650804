/** Traits of a chain, and of the nodes that serve it, that differ from most others'. */
export type ChainTraits = Readonly<{
  /** Whether a transaction pays for its whole gas limit, and not for what it used. */
  chargesGasLimit: boolean;
  /** Most calls in one batch that its nodes take; undefined where they set no limit below geth's. */
  batchCallsMax: number | undefined;
}>;

const usual: ChainTraits = { chargesGasLimit: false, batchCallsMax: undefined };

/** The public family: its mainnet, and its newer and its older testnet. */
const publicFamily: ChainTraits = { chargesGasLimit: true, batchCallsMax: 20 };
const publicFamilyIds: ReadonlySet<number> = new Set([1_672, 688_689, 688_688]);

/** Returns the traits of a chain by its id, those of most chains for one that is not known. */
export function findChainTraits(chainId: number | undefined): ChainTraits {
  return chainId !== undefined && publicFamilyIds.has(chainId) ? publicFamily : usual;
}
