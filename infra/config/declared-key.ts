import { z } from "zod";
import { declaredKeys } from "./config-schema.ts";

export type DeclaredKey = Readonly<{
  type: "string" | "integer" | "boolean" | "array" | "object";
  items?: Readonly<{ type: "string" }>;
  /** The schema's own default, or the value that means "not set": Pulumi has no optional keys. */
  default: unknown;
  description: string;
}>;

/** Values that mean "not set", by type; for numbers, the key's metadata specifies this value. */
const notSetByType = { string: "", array: [], object: {} } as const;

const jsonType = z.object({
  type: z.enum(["string", "integer", "boolean", "array", "object"]),
  items: z.object({ type: z.literal("string") }).optional(),
});

const declared = new Map(Object.entries(declaredKeys).map(([key, schema]) => [key, buildDeclaration(key, schema)]));

export const keyDeclarations: ReadonlyMap<string, DeclaredKey> = new Map(
  [...declared].map(([key, { declaration }]) => [key, declaration]),
);

/** Whether a text is the declared default of an unset key: Pulumi passes defaults as if they had been set. */
export function isNotSet(key: string, text: string): boolean {
  return text === "" || declared.get(key)?.notSet === text;
}

function buildDeclaration(key: string, schema: z.ZodType) {
  const { type, items } = findJsonType(key, schema);
  const { description, notSet } = z
    .object({ description: z.string(), notSet: z.number().optional() })
    .parse(schema.meta());
  const absent =
    notSet ?? (type === "string" || type === "array" || type === "object" ? notSetByType[type] : undefined);
  // A list or object is set as a whole, so an empty one means the same as the default.
  const value = type === "array" || type === "object" ? absent : (schema.safeParse(undefined).data ?? absent);
  if (value === undefined) throw new Error(`${key} has neither a default nor a value that means "not set"`);
  const declaration: DeclaredKey = { type, ...(items && { items }), default: value, description };
  return { declaration, notSet: value === absent && typeof absent !== "string" ? JSON.stringify(absent) : undefined };
}

/** Returns the JSON Schema type, which Pulumi also uses; for a union, returns the type of the first member. */
function findJsonType(key: string, schema: z.ZodType): z.output<typeof jsonType> {
  const { anyOf, ...own } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const parsed = jsonType.safeParse(anyOf?.[0] ?? own);
  if (!parsed.success) throw new Error(`${key} has a type that Pulumi.yaml can't declare`);
  return parsed.data;
}
