import { expect, test } from "vitest";
import { tokenAddress } from "../token/address.ts";
import { plainTokenAddress } from "./addresses.ts";
import { computeDeployedAddress } from "./deployment.ts";

test("the tokens' addresses are where the deployer's first contracts come to be", () => {
  expect([tokenAddress, plainTokenAddress]).toEqual([computeDeployedAddress(0), computeDeployedAddress(1)]);
});
