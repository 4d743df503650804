/** Address of the devnet's token that lacks EIP-3009 but supports EIP-2612; the same on every devnet chain. */
export const plainTokenAddress = "0xDEF759C4ea2DFBEe5c224c1a661428995381E418";

/** Address of the contract that creates contract accounts (ERC-1271), the same on every devnet chain. */
export const walletFactoryAddress = "0x4ce7AdC00D7C8c21160c0e1fcEf396d1477606c9";
