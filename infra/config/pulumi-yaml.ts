import { Document, Scalar, visit } from "yaml";
import { keyDeclarations } from "./declared-key.ts";

/** Start of the keys in `Pulumi.yaml`, which run to the end of the file. */
const configHeader = /^config:$/m;

/**
 * Replaces the `config:` section of a `Pulumi.yaml` with the keys declared by the configuration schema.
 *
 * @throws {Error} if the text has no `config:`.
 */
export function withDeclaredKeys(text: string): string {
  const at = text.search(configHeader);
  if (at === -1) throw new Error("Pulumi.yaml has no line `config:` before its keys");
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

/** Quotes descriptions that contain a URL, although YAML would not parse the URL's colon as a key separator. */
function quoteUrls(key: unknown, value: unknown): void {
  if (!(key instanceof Scalar) || key.value !== "description" || !(value instanceof Scalar)) return;
  if (String(value.value).includes("://")) value.type = Scalar.QUOTE_DOUBLE;
}
