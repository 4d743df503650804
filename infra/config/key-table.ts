import { z } from "zod";

/** What a table says of one property, however deep it stands. */
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

const between = /(?<=<!-- keys:[^\n]*-->\n\n)[\s\S]*?(?=\n\n<!-- \/keys -->)/;

/**
 * Puts a table of some keys of the stack's configuration, with all that stands in them, in place of the one that a text has between the comments
 * `<!-- keys: … -->` and `<!-- /keys -->`.
 *
 * @throws {Error} when the text has no such comments.
 */
export function withKeyTable(text: string, keys: Readonly<Record<string, z.ZodType>>): string {
  if (!between.test(text)) throw new Error("the page has no comments <!-- keys: … --> and <!-- /keys -->");
  const rows = Object.entries(keys).flatMap(([key, schema]) =>
    rowsOf(key, z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })),
  );
  return text.replace(between, () => printed([["key", "type", "default", "what it is"], ...rows]));
}

function rowsOf(key: string, schema: unknown): readonly Row[] {
  const own = property.parse(schema);
  const row: Row = [
    `\`${key}\``,
    typeOf(own),
    own.default === undefined ? "" : `\`${JSON.stringify(own.default)}\``,
    own.description ?? "",
  ];
  const inner = group.safeParse(schema);
  if (!inner.success) return [row];
  return [row, ...Object.entries(inner.data.properties).flatMap(([name, one]) => rowsOf(`${key}.${name}`, one))];
}

function typeOf({ type = "", enum: choices, minimum, maximum }: z.output<typeof property>): string {
  if (choices !== undefined) return choices.map((choice) => `\`${String(choice)}\``).join(", ");
  return minimum === undefined ? type : `${type}, ${minimum} to ${maximum}`;
}

function printed(rows: readonly Row[]): string {
  const [header = ["", "", "", ""], ...rest] = rows;
  const widths = header.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(header), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rest.map(line)].join("\n");
}
