/**
 * The transaction nonces of one account, given out here rather than asked of the node for each transaction, so that any number of
 * transactions can be on their way at once. Synchronous, so that no two callers can get the same nonce.
 */
export type Nonces = Readonly<{
  /** The lowest nonce that the chain has not used and no transaction of ours holds. */
  acquire: () => number;
  /** Marks a nonce as used by a transaction that may be on its way. */
  hold: (nonce: number) => void;
  /** Gives a nonce back whose transaction certainly went nowhere. */
  release: (nonce: number) => void;
  /** Sets the chain's next nonce. Nonces below it are gone; a chain that went back makes lower ones free again. */
  rebase: (next: number) => void;
  /** Sets the next nonce of the chain and its pool. None held below it is given up: a pool may yet lose what has it. */
  startFrom: (next: number) => void;
  /** Sets the chain's next nonce and frees all from there on: what had them is to be signed again. */
  reset: (next: number) => void;
  /** Whether any transaction may be on its way. */
  anyHeld: () => boolean;
  /** The next nonce that `acquire` would return. */
  next: () => number;
}>;

/** Creates the nonces of an account that has sent nothing yet. */
export function createNonces(): Nonces {
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
    anyHeld: () => held.size > 0,
  };
}
