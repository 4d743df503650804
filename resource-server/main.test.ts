import { expect, it } from "vitest";
import { deriveResponseBounds } from "./main.ts";
import { resourceServerSettings } from "./settings.ts";

const mebibyte = 1_048_576;
const { shape } = resourceServerSettings.schema;
const bounds = (memory: object, heapMiB: number) =>
  deriveResponseBounds(
    { memory: shape.memory.parse(memory), upstream: shape.upstream.parse({}), listen: shape.listen.parse({}) },
    { processBytes: 512 * mebibyte, heapBytes: heapMiB * mebibyte },
  );

it("is a quarter of what the process may use, half of it for one address, and one request with its response for one client", () => {
  expect(bounds({}, 1_024)).toEqual({
    totalBytes: 128 * mebibyte,
    addressBytes: 64 * mebibyte,
    connectionBytes: 9 * mebibyte,
  });
});

it("always has room for one request and response of the largest size", () => {
  const least = { totalBytes: 9 * mebibyte, addressBytes: 9 * mebibyte, connectionBytes: 9 * mebibyte };
  expect(bounds({}, 16)).toEqual(least);
  expect(bounds({ totalBytes: 1 }, 1_024)).toEqual(least);
});
