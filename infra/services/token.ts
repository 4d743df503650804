/** An EIP-3009 token that payments may be made in: its contract and its EIP-712 domain. */
export type Token = Readonly<{ address: string; name: string; version: string }>;
