import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeTestDirectory } from "../testing/test-directory.ts";
import { section } from "./section.ts";
import { defineSettings, resolveSettings } from "./settings.ts";
import { yesOrNo } from "./types.ts";

const definition = defineSettings("demo", [], {
  private: section({ enabled: yesOrNo.default(false), port: z.coerce.number().default(8_547) }),
  callers: section({ keysPath: z.string().optional().meta({ needs: "private.enabled" }) }),
  window: section({ cron: z.string().optional(), zone: z.string().default("UTC").meta({ needs: "cron" }) }),
});
const listUnused = (env: Readonly<Record<string, string>>, file?: string) =>
  resolveSettings(definition, { env, file }).unused.map(({ name, message }) => `${name}: ${message}`);

test("reports settings without effect, because the one that they need is off by default", () => {
  expect(
    listUnused({
      GATEHOUSE_DEMO_PRIVATE_PORT: "1",
      GATEHOUSE_DEMO_CALLERS_KEYS_PATH: "k",
      GATEHOUSE_DEMO_WINDOW_ZONE: "CET",
    }),
  ).toEqual([
    "GATEHOUSE_DEMO_PRIVATE_PORT: has no effect, because GATEHOUSE_DEMO_PRIVATE_ENABLED is not set; set it to true, or to false to leave this unused, or remove this setting.",
    "GATEHOUSE_DEMO_CALLERS_KEYS_PATH: has no effect, because GATEHOUSE_DEMO_PRIVATE_ENABLED is not set; set it to true, or to false to leave this unused, or remove this setting.",
    "GATEHOUSE_DEMO_WINDOW_ZONE: has no effect, because GATEHOUSE_DEMO_WINDOW_CRON is not set; set it, or remove this setting.",
  ]);
});

test("names the line of a settings file", async () => {
  const file = join(await makeTestDirectory(), "demo.json5");
  writeFileSync(file, "{\n  private: { port: 1 },\n}\n");
  expect(listUnused({}, file)).toEqual([expect.stringContaining(`${file}: line 2: private.port: has no effect`)]);
});

test("accepts them if the setting that they need is given, even if it is off", () => {
  const settings = { GATEHOUSE_DEMO_PRIVATE_PORT: "1", GATEHOUSE_DEMO_CALLERS_KEYS_PATH: "k" };
  expect(listUnused({ ...settings, GATEHOUSE_DEMO_PRIVATE_ENABLED: "true" })).toEqual([]);
  expect(listUnused({ ...settings, GATEHOUSE_DEMO_PRIVATE_ENABLED: "false" })).toEqual([]);
  expect(listUnused({ GATEHOUSE_DEMO_WINDOW_ZONE: "CET", GATEHOUSE_DEMO_WINDOW_CRON: "0 3 * * *" })).toEqual([]);
});
