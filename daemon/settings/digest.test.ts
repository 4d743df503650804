import { expect, it } from "vitest";
import { z } from "zod";
import { secret } from "../secrets/secret.ts";
import { digestSettings, defineSettings } from "./settings.ts";
import { section } from "./section.ts";

const definition = defineSettings("shop", [], {
  listen: section({ port: z.int().default(1) }),
  name: z.string().optional(),
  key: secret(z.string()).optional(),
});
const digest = (environment: Readonly<Record<string, string>>) => digestSettings(definition, environment);

it("is the same for identical settings, in any order and among other variables", () => {
  const first = digest({ GATEHOUSE_SHOP_LISTEN_PORT: "2", GATEHOUSE_SHOP_NAME: "a" });
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  expect(digest({ PATH: "/bin", GATEHOUSE_SHOP_NAME: "a", GATEHOUSE_SHOP_LISTEN_PORT: "2" })).toBe(first);
  expect(digest({ GATEHOUSE_SHOP_NAME: "" })).toBe(digest({}));
});

it("changes with a value or a secret file path, but not with a secret value", () => {
  expect(digest({ GATEHOUSE_SHOP_NAME: "a" })).not.toBe(digest({ GATEHOUSE_SHOP_NAME: "b" }));
  expect(digest({ GATEHOUSE_SHOP_KEY_FILE: "/a" })).not.toBe(digest({ GATEHOUSE_SHOP_KEY_FILE: "/b" }));
  expect(digest({ GATEHOUSE_SHOP_KEY: "one" })).toBe(digest({ GATEHOUSE_SHOP_KEY: "another" }));
});
