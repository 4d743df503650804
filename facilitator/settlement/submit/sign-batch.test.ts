import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createNonceAllocator } from "./sign-batch.ts";

test("assigns ascending nonces from the chain's next nonce", () => {
  const nonces = createNonceAllocator();
  expect(nonces.known(), "before the chain was queried").toBeUndefined();
  nonces.rebase(7);
  expect([nonces.acquire(), nonces.acquire(), nonces.acquire()]).toEqual([7, 8, 9]);
  expect([nonces.next(), nonces.known()]).toEqual([10, 10]);
});

test("assigns the lowest nonce that is neither reserved nor used, in any order of operations", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("take" as const) }),
    fc.record({ do: fc.constantFrom("hold", "release", "rebase", "startFrom", "reset"), nonce: fc.nat(30) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const nonces = createNonceAllocator();
      const heldNonces = new Set<number>();
      let floor = 0;
      for (const next of steps) {
        if (next.do === "take") {
          let lowestNonce = floor;
          while (heldNonces.has(lowestNonce)) lowestNonce += 1;
          const nonce = nonces.acquire();
          expect(nonce).toBe(lowestNonce);
          heldNonces.add(nonce);
          continue;
        }
        const kept = [{ nonce: next.nonce + 1 }];
        nonces[next.do](next.nonce, kept);
        if (next.do === "hold") heldNonces.add(next.nonce);
        if (next.do === "release") heldNonces.delete(next.nonce);
        if (next.do === "startFrom" || next.do === "reset") floor = next.nonce;
        if (next.do === "reset") {
          heldNonces.clear();
          for (const { nonce } of kept) heldNonces.add(nonce);
        }
        if (next.do === "rebase") {
          floor = next.nonce;
          for (const nonce of heldNonces) if (nonce < floor) heldNonces.delete(nonce);
        }
      }
    }),
  );
});
