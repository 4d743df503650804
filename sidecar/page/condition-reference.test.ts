import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderConditionReference } from "./condition-reference.ts";

test("docs/conditions.md matches the code; run `npm run docs` after a change", () => {
  const committedPage = readFileSync(new URL("../../docs/conditions.md", import.meta.url), "utf8");
  expect(committedPage).toBe(renderConditionReference());
});
