import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadDefinitions } from "../service-definitions.ts";
import { renderSettingsReference } from "./settings-reference.ts";

describe("docs/settings.md", () => {
  it("matches the schemas; run `npm run docs` after a change", async () => {
    const committedPage = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
    expect(committedPage).toBe(renderSettingsReference(await loadDefinitions()));
  });
});
