import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../stack-config.ts";
import { keyDeclarations } from "./declared-key.ts";
import { withDeclaredKeys } from "./pulumi-yaml.ts";
import { toRawConfig } from "../testing/stack-configs.ts";

const text = readFileSync(join(import.meta.dirname, "../../Pulumi.yaml"), "utf8");

it("rejects a Pulumi.yaml without a `config:` line", () => {
  expect(() => withDeclaredKeys("name: gatehouse\n")).toThrow(/no line `config:`/);
});

it("parses Pulumi's explicit defaults and an empty configuration to the same stack", () => {
  const { config } = parse(text) as { config: Record<string, { default: unknown }> };
  const defaults = Object.fromEntries(Object.entries(config).map(([key, { default: value }]) => [key, value]));
  expect(parseConfig(toRawConfig(defaults))).toEqual(parseConfig({}));
});

it("declares the type and default of optional integers, ports and lists", () => {
  expect(keyDeclarations.get("dockerSocketGroup")).toMatchObject({ type: "integer", default: -1 });
  expect(keyDeclarations.get("gatewayPort")).toMatchObject({ type: "integer", default: 8_545 });
  expect(keyDeclarations.get("nodeHealthCommand")).toMatchObject({ items: { type: "string" }, default: [] });
});
