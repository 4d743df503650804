import { expect, test } from "vitest";
import { compileContracts, compileToken } from "#devnet/contracts/compiler.ts";
import contracts from "../../../devnet/contracts/contracts.artifact.json" with { type: "json" };
import token from "../../../devnet/token/token.artifact.json" with { type: "json" };

test.each([
  ["token", token, compileToken],
  ["other contracts", contracts, compileContracts],
])("the committed artefact of the %s is what the source compiles to", (_, committed, compile) => {
  expect(committed, "run npm run build:contracts and commit the result").toEqual(compile());
});
