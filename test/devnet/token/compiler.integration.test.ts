import { expect, test } from "vitest";
import { compileToken } from "#devnet/token/compiler.ts";
import committed from "../../../devnet/token/token.artifact.json" with { type: "json" };

test("the committed artefact is what the source compiles to", () => {
  expect(committed, "run npm run build:token and commit the result").toEqual(compileToken());
});
