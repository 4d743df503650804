import { expect, test } from "vitest";
import { findAnvil } from "./anvil-process.ts";

test("names the missing package of a machine without anvil, and the commands that install it", () => {
  expect(() => findAnvil("aix", "ppc64")).toThrow(
    "no anvil for this machine: the npm package @foundry-rs/anvil-aix-ppc64 is not installed; run npm ci in the repository, or npm install @foundry-rs/anvil",
  );
});
