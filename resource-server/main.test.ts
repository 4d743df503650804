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

it("limits responses to a quarter of the process's memory, and to half of that per address", () => {
  expect(bounds({}, 1_024)).toEqual({
    totalBytes: 128 * mebibyte,
    addressBytes: 64 * mebibyte,
    connectionBytes: 9 * mebibyte,
  });
});

it("reserves memory for at least one request and response of the max size", () => {
  const minBounds = { totalBytes: 9 * mebibyte, addressBytes: 9 * mebibyte, connectionBytes: 9 * mebibyte };
  expect(bounds({}, 16)).toEqual(minBounds);
  expect(bounds({ totalBytes: 1 }, 1_024)).toEqual(minBounds);
});
