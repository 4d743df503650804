/**
 * Transaction nonces of one account, assigned locally rather than queried from the node for each transaction, so that any number of
 * transactions can be in flight. Synchronous, so that no two callers can get the same nonce.
 */
export type Nonces = Readonly<{
  /** Returns the lowest nonce that neither the chain nor our own transactions have used. */
  acquire: () => number;
  /** Marks a nonce as used by a transaction that may have been sent. */
  hold: (nonce: number) => void;
  /** Releases a nonce whose transaction was certainly not broadcast. */
  release: (nonce: number) => void;
  /** Sets the chain's next nonce. Nonces below it are used; if the chain went back, the lower ones become free again. */
  rebase: (next: number) => void;
  /** Sets the next nonce of the chain and its pool. Keeps held nonces below it, because the pool may still drop their transactions. */
  startFrom: (next: number) => void;
  /** Sets the chain's next nonce and frees all nonces from there on; their transactions must be signed again. */
  reset: (next: number) => void;
  /** Returns how many transactions may be in flight. */
  heldCount: () => number;
  /** Returns the next nonce that `acquire` would return. */
  next: () => number;
}>;

/** Creates the nonces of an account that has sent no transactions. */
export function createNonceAllocator(): Nonces {
  const held = new Set<number>();
  let floor = 0;
  const next = () => {
    let nonce = floor;
    while (held.has(nonce)) nonce += 1;
    return nonce;
  };
  return {
    next,
    acquire: () => {
      const nonce = next();
      held.add(nonce);
      return nonce;
    },
    hold: (nonce) => void held.add(nonce),
    release: (nonce) => void held.delete(nonce),
    rebase: (chainNext) => {
      floor = chainNext;
      for (const nonce of held) if (nonce < floor) held.delete(nonce);
    },
    startFrom: (poolNext) => {
      floor = poolNext;
    },
    reset: (chainNext) => {
      floor = chainNext;
      held.clear();
    },
    heldCount: () => held.size,
  };
}
