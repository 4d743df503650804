import { hash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { compileContracts } from "#devnet/contracts/compiler.ts";
import { root } from "../../style/rooms.ts";
import committed from "../../../devnet/contracts/contracts.artifact.json" with { type: "json" };

/** The compiler's inputs, and its committed output. */
const parts = ["devnet/{contracts,token}/*.sol", "devnet/contracts/*.{ts,json}", "package-lock.json"];
const verifiedPath = join(root, "node_modules/.cache/verified-contracts");

// Compiling takes five seconds of CPU, so this happens only after a change.
test("compiles the sources to the committed artifact", () => {
  const texts = globSync(parts, { cwd: root })
    .toSorted()
    .map((path) => readFileSync(join(root, path), "utf8"));
  const state = hash("sha256", texts.join("\0"));
  if (existsSync(verifiedPath) && readFileSync(verifiedPath, "utf8") === state) return;
  expect(committed, "run npm run build:contracts and commit the result").toEqual(compileContracts());
  mkdirSync(dirname(verifiedPath), { recursive: true });
  writeFileSync(verifiedPath, state);
});
