import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createNonceAllocator } from "./sign-batch.ts";

test("nonces follow one another from the chain's next one", () => {
  const nonces = createNonceAllocator();
  expect(nonces.known(), "before the chain was asked").toBeUndefined();
  nonces.rebase(7);
  expect([nonces.acquire(), nonces.acquire(), nonces.acquire()]).toEqual([7, 8, 9]);
  expect([nonces.next(), nonces.known()]).toEqual([10, 10]);
});

test("one that was given back is given out again, before later ones", () => {
  const nonces = createNonceAllocator();
  nonces.rebase(7);
  for (let taken = 0; taken < 3; taken += 1) nonces.acquire();
  nonces.release(8);
  expect([nonces.acquire(), nonces.acquire()]).toEqual([8, 10]);
});

test("after a restart the nonces of journalled transactions are not given out", () => {
  const nonces = createNonceAllocator();
  nonces.hold(7);
  nonces.hold(9);
  nonces.rebase(7);
  expect([nonces.acquire(), nonces.acquire()]).toEqual([8, 10]);
});

test("what a pool counts stays held until the chain has it", () => {
  const nonces = createNonceAllocator();
  for (const nonce of [5, 6, 7]) nonces.hold(nonce);
  nonces.startFrom(8);
  expect(nonces.acquire()).toBe(8);
  nonces.rebase(5);
  expect(nonces.acquire()).toBe(9);
});

test("a chain that went back starts over", () => {
  const nonces = createNonceAllocator();
  nonces.rebase(7);
  nonces.acquire();
  nonces.reset(3);
  expect(nonces.heldCount()).toBe(0);
  expect(nonces.acquire()).toBe(3);
});

test("whatever happens, no nonce is given out that is held or gone", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("take" as const) }),
    fc.record({ do: fc.constantFrom("hold", "release", "rebase", "startFrom"), nonce: fc.nat(30) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const nonces = createNonceAllocator();
      const held = new Set<number>();
      let floor = 0;
      for (const next of steps) {
        if (next.do === "take") {
          const nonce = nonces.acquire();
          expect(held.has(nonce) || nonce < floor).toBe(false);
          held.add(nonce);
          continue;
        }
        nonces[next.do](next.nonce);
        if (next.do === "hold") held.add(next.nonce);
        if (next.do === "release") held.delete(next.nonce);
        if (next.do === "startFrom") floor = next.nonce;
        if (next.do === "rebase") {
          floor = next.nonce;
          for (const nonce of held) if (nonce < floor) held.delete(nonce);
        }
      }
    }),
  );
});
