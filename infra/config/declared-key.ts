import { z } from "zod";
import { declaredKeys } from "./config-schema.ts";

/** A key of a stack's configuration as `Pulumi.yaml` declares it. */
export type DeclaredKey = Readonly<{
  type: "string" | "integer" | "boolean" | "array" | "object";
  /** What the lists' elements are. */
  items?: Readonly<{ type: "string" }>;
  /** The schema's own default, or what stands for "not set": Pulumi knows no optional keys. */
  default: unknown;
  description: string;
}>;

/** What stands for "not set", where no number of the key's own does. */
const notSetByType = { string: "", array: [], object: {} } as const;

const jsonType = z.object({
  type: z.enum(["string", "integer", "boolean", "array", "object"]),
  items: z.object({ type: z.literal("string") }).optional(),
});

const declared = new Map(Object.entries(declaredKeys).map(([key, schema]) => [key, declarationOf(key, schema)]));

/** The keys as `Pulumi.yaml` declares them, in its order. */
export const keyDeclarations: ReadonlyMap<string, DeclaredKey> = new Map(
  [...declared].map(([key, { declaration }]) => [key, declaration]),
);

/** Whether that text is the declared default of a key that is not set; Pulumi gives it as if somebody had set it. */
export function isNotSet(key: string, text: string): boolean {
  return text === "" || declared.get(key)?.notSet === text;
}

function declarationOf(key: string, schema: z.ZodType) {
  const { type, items } = jsonTypeOf(key, schema);
  const { description, notSet } = z
    .object({ description: z.string(), notSet: z.number().optional() })
    .parse(schema.meta());
  const absent =
    notSet ?? (type === "string" || type === "array" || type === "object" ? notSetByType[type] : undefined);
  // A list or an object is given as a whole, so that an empty one says nothing else than the default.
  const value = type === "array" || type === "object" ? absent : (schema.safeParse(undefined).data ?? absent);
  if (value === undefined) throw new Error(`${key} has neither a default nor a value that stands for "not set"`);
  const declaration: DeclaredKey = { type, ...(items && { items }), default: value, description };
  return { declaration, notSet: value === absent && typeof absent !== "string" ? JSON.stringify(absent) : undefined };
}

/** The type in terms of JSON Schema, which are Pulumi's; that of the first where several forms of one type are allowed. */
function jsonTypeOf(key: string, schema: z.ZodType): z.output<typeof jsonType> {
  const { anyOf, ...own } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const parsed = jsonType.safeParse(anyOf?.[0] ?? own);
  if (!parsed.success) throw new Error(`${key} has a type that Pulumi.yaml can't declare`);
  return parsed.data;
}
