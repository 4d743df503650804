import { expect, test } from "vitest";
import { compileContracts } from "#devnet/contracts/compiler.ts";
import committed from "../../../devnet/contracts/contracts.artifact.json" with { type: "json" };

test("compiles the sources to the committed artifact", () => {
  expect(committed, "run npm run build:contracts and commit the result").toEqual(compileContracts());
});
