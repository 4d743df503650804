import { expect, test } from "vitest";
import { tokenAddress } from "../token/address.ts";
import { plainTokenAddress } from "./addresses.ts";
import { computeDeployedAddress } from "./deployment.ts";

test("expects the tokens at the addresses of the deployer's first two contracts", () => {
  expect([tokenAddress, plainTokenAddress]).toEqual([computeDeployedAddress(0), computeDeployedAddress(1)]);
});
