/** Address of the devnet's token, the same on every devnet chain. */
export const tokenAddress = "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2";
