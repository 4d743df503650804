import { Document, Scalar, visit } from "yaml";
import { keyDeclarations } from "./declared-key.ts";

/** Where the keys begin in `Pulumi.yaml`; they end with the file. */
const beginning = /^config:$/m;

/**
 * A `Pulumi.yaml` with its `config:` printed anew from the schema of the stack's configuration.
 *
 * @throws {Error} when the text has no `config:`.
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

/** A description with a URL is quoted, although YAML would not take its colon for a key's. */
function quoteUrls(key: unknown, value: unknown): void {
  if (!(key instanceof Scalar) || key.value !== "description" || !(value instanceof Scalar)) return;
  if (String(value.value).includes("://")) value.type = Scalar.QUOTE_DOUBLE;
}
