import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../stack-config.ts";
import { keyDeclarations } from "./declared-key.ts";
import { withDeclaredKeys } from "./pulumi-yaml.ts";

const text = readFileSync(join(import.meta.dirname, "../../Pulumi.yaml"), "utf8");

it("Pulumi.yaml declares the keys as the schema has them; `npm run docs` prints it", () => {
  expect(withDeclaredKeys(text)).toBe(text);
});

it("a file without its keys is not guessed at", () => {
  expect(() => withDeclaredKeys("name: gatehouse\n")).toThrow(/no line `config:`/);
});

it("a stack that sets nothing is what the schema makes of nothing, with Pulumi's defaults given or not", () => {
  const { config } = parse(text) as { config: Record<string, { default: unknown }> };
  const given = Object.entries(config).map(([key, { default: value }]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  expect(parseConfig(Object.fromEntries(given))).toEqual(parseConfig({}));
});

it("a number that stands for not set is declared with its key, and a default of the schema's is the one declared", () => {
  expect(keyDeclarations.get("dockerSocketGroup")).toMatchObject({ type: "integer", default: -1 });
  expect(keyDeclarations.get("gatewayPort")).toMatchObject({ type: "integer", default: 8_545 });
  expect(keyDeclarations.get("nodeHealthCommand")).toMatchObject({ items: { type: "string" }, default: [] });
});
