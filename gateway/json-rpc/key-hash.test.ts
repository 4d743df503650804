import { describe, expect, it } from "vitest";
import { buildCallKey } from "./call.ts";
import { hashCall, hashKey, hashParts } from "./key-hash.ts";

describe("the hash of a key", () => {
  it("is the same, whether its parts were hashed or the whole of it", () => {
    for (const method of ["m", "eth_getBalance", "x".repeat(255), "x".repeat(300)]) {
      for (const length of [0, 1, 100, 239, 240, 241, 242, 255, 256, 257, 495, 496, 511, 512, 513, 2_000]) {
        const params = `[${"0123456789abcdef".repeat(200).slice(0, length)}]`;
        const key = buildCallKey(method, params);
        hashParts(key, method, params);
        const ofParts = hashKey(key);
        hashKey("another");
        const message = Buffer.from(`{"params":${params}}`);
        const paramsAt = message.indexOf("[");
        if (method.length < 256)
          expect(hashCall(method, message, paramsAt, message.length - 1), "in a message").toBe(ofParts);
        expect(hashKey(buildCallKey(method, params)), `${method.length} and ${length} characters`).toBe(ofParts);
      }
    }
  });

  it("tells keys apart that differ in their method, their length or either end", () => {
    const keys = ["a [1]", "b [1]", "a [2]", "a [1,1]", `a [${"0".repeat(600)}1]`, `a [1${"0".repeat(600)}]`];
    expect(new Set(keys.map(hashKey)).size).toBe(keys.length);
  });
});
