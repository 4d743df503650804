import { expect, test } from "vitest";
import { tokenAddress } from "./address.ts";
import { deployedAddress } from "./deployment.ts";

test("the token's address is where the deployer's first contract comes to be", () => {
  expect(tokenAddress).toBe(deployedAddress);
});
