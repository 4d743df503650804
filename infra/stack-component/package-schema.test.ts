import { describe, expect, it } from "vitest";
import { configSchema, secretKeys } from "../config/config-schema.ts";
import { buildPackageSchema, componentType, type Property } from "./package-schema.ts";

const { resources, types } = buildPackageSchema();
const component = resources[componentType]!;
const objects = [
  [componentType, component.properties],
  [`${componentType} inputs`, component.inputProperties],
  ...Object.entries(types).map(([name, { properties }]) => [name, properties] as const),
] as const;
const properties = objects.flatMap(([owner, owned]) =>
  Object.entries(owned).map(([name, property]) => ({ path: `${owner}.${name}`, property })),
);

/** Every type that a property refers to, at any depth. */
function refsIn({ $ref, items, additionalProperties }: Property): readonly string[] {
  const inner = [items, additionalProperties].flatMap((property) => (property === undefined ? [] : refsIn(property)));
  return $ref === undefined ? inner : [$ref, ...inner];
}

describe("the component's schema", () => {
  it("has every configuration key as an input, except those of image builds", () => {
    const builds = new Set(["baseImage", "imageArchitecture"]);
    const keys = Object.keys(configSchema.shape).filter((key) => !builds.has(key));
    expect(Object.keys(component.inputProperties).toSorted()).toEqual([...keys, "prefix"].toSorted());
    expect(component.requiredInputs).toEqual(["gatehouseImage"]);
  });

  it("describes every input, output and property", () => {
    expect(properties.length).toBeGreaterThan(100);
    expect(properties.filter(({ property }) => property.description === undefined).map(({ path }) => path)).toEqual([]);
  });

  it("defines exactly the types that it references", () => {
    const named = properties.flatMap(({ property }) => refsIn(property)).filter((ref) => ref !== "pulumi.json#/Any");
    expect([...new Set(named)].toSorted()).toEqual(
      Object.keys(types)
        .map((name) => `#/types/${name}`)
        .toSorted(),
    );
  });

  it("marks exactly the secret keys as secret", () => {
    const secret = Object.entries(component.inputProperties).filter(([, property]) => property.secret === true);
    expect(secret.map(([name]) => name).toSorted()).toEqual([...secretKeys].toSorted());
  });

  it("types its inputs", () => {
    expect(component.inputProperties).toMatchObject({
      chainId: { type: "integer", default: 1_672 },
      devAccounts: { type: "boolean", default: false },
      publishAddress: { type: "string", default: "127.0.0.1" },
      nodeHealthCommand: { type: "array", items: { type: "string" } },
      routes: { type: "object", additionalProperties: { $ref: "pulumi.json#/Any" } },
      settings: { type: "object", additionalProperties: { type: "object" } },
      limits: { type: "object", additionalProperties: { $ref: "#/types/gatehouse:index:Limits" } },
      restore: { $ref: "#/types/gatehouse:index:Restore" },
    });
    expect(types["gatehouse:index:Restore"]).toMatchObject({
      properties: { strip: { type: "integer", default: 0 } },
      required: ["url", "sha256"],
    });
  });
});
