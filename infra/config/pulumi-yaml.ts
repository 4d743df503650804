import { Document, Scalar, visit } from "yaml";
import { z } from "zod";
import { formatTable, withMarked } from "#daemon/markdown.ts";
import { keyDeclarations } from "./declared-key.ts";

/** Where the keys start in `Pulumi.yaml`; they run to the end of the file. */
const beginning = /^config:$/m;

/**
 * Replaces the `config:` section of a `Pulumi.yaml` with the keys declared by the configuration schema.
 *
 * @throws {Error} if the text has no `config:`.
 */
export function withDeclaredKeys(text: string): string {
  const at = text.search(beginning);
  if (at === -1) throw new Error("Pulumi.yaml has no line `config:`, under which its keys stand");
  const config = Object.fromEntries(
    [...keyDeclarations].map(([key, { type, items, default: value, description }]) => [
      key,
      { type, ...(items && { items }), default: value, description },
    ]),
  );
  const document = new Document({ config }, { aliasDuplicateObjects: false });
  visit(document, { Pair: (_key, { key, value }) => quoteUrls(key, value) });
  return text.slice(0, at) + document.toString({ lineWidth: 0 });
}

/** Quotes descriptions with a URL, although YAML would not parse the URL's colon as a key separator. */
function quoteUrls(key: unknown, value: unknown): void {
  if (!(key instanceof Scalar) || key.value !== "description" || !(value instanceof Scalar)) return;
  if (String(value.value).includes("://")) value.type = Scalar.QUOTE_DOUBLE;
}

/** Table row for one property, at any depth. */
type Row = readonly [key: string, type: string, fallback: string, purpose: string];

const property = z.object({
  type: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  description: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});
const group = z.object({ properties: z.record(z.string(), z.unknown()) });

/**
 * Replaces the table between the comments `<!-- keys: … -->` and `<!-- /keys -->` with one of the given keys and all their nested
 * properties.
 *
 * @throws {Error} if the text has no such comments.
 */
export function withKeyTable(text: string, keys: Readonly<Record<string, z.ZodType>>): string {
  const rows = Object.entries(keys).flatMap(([key, schema]) =>
    listRows(key, z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })),
  );
  const table = formatTable(["key", "type", "default", "what it is"], rows);
  return withMarked(text, { page: "the page", mark: "keys", marked: table.join("\n") });
}

function listRows(key: string, schema: unknown): readonly Row[] {
  const own = property.parse(schema);
  const row: Row = [
    `\`${key}\``,
    formatType(own),
    own.default === undefined ? "" : `\`${JSON.stringify(own.default)}\``,
    own.description ?? "",
  ];
  const inner = group.safeParse(schema);
  if (!inner.success) return [row];
  return [row, ...Object.entries(inner.data.properties).flatMap(([name, one]) => listRows(`${key}.${name}`, one))];
}

function formatType({ type = "", enum: choices, minimum, maximum }: z.output<typeof property>): string {
  if (choices !== undefined) return choices.map((choice) => `\`${String(choice)}\``).join(", ");
  return minimum === undefined ? type : `${type}, ${minimum} to ${maximum}`;
}
