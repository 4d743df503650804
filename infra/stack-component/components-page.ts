import { escapeCell, replaceMarkedSection, wrapLines } from "#daemon/markdown.ts";
import { buildPackageSchema, type ObjectType, type PackageSchema, type Property } from "./package-schema.ts";

/**
 * Replaces the text between the comments `<!-- components: … -->` and `<!-- /components -->` with the schema's component tables.
 *
 * @throws {Error} if the text has no such comments.
 */
export function withComponents(text: string): string {
  return replaceMarkedSection(text, {
    page: "docs/components.md",
    mark: "components",
    marked: printComponents(buildPackageSchema()),
  });
}

function printComponents({ resources, types }: PackageSchema): string {
  const components = Object.entries(resources).flatMap(([type, { inputProperties, requiredInputs, ...outputs }]) => [
    `## ${type}`,
    outputs.description ?? "",
    "### Inputs",
    printList({ type: "object", properties: inputProperties, required: requiredInputs }),
    "### Outputs",
    printList(outputs),
  ]);
  const objects = Object.entries(types).flatMap(([type, object]) => [`### ${getLastPart(type)}`, printList(object)]);
  return [...components, "## Types", ...objects].join("\n\n");
}

function printList({ properties, required }: ObjectType): string {
  const lines = Object.entries(properties).flatMap(([name, property]) => {
    const notes = [formatType(property), required.includes(name) ? "always" : formatDefault(property)];
    const text = `${property.secret === true ? "Secret. " : ""}${property.description ?? ""}`;
    return wrapLines(`- \`${name}\` (${notes.filter((note) => note !== "").join(", ")}): ${escapeCell(text)}`);
  });
  return lines.join("\n");
}

function formatDefault({ default: value }: Property): string {
  return value === undefined ? "" : `\`${JSON.stringify(value)}\``;
}

function formatType({ type, $ref, items, additionalProperties }: Property): string {
  if ($ref === "pulumi.json#/Any") return "any";
  if ($ref !== undefined) return `[${getLastPart($ref)}](#${getLastPart($ref).toLowerCase()})`;
  if (items !== undefined) return `list of ${formatType(items)}`;
  return additionalProperties === undefined ? (type ?? "any") : `map of ${formatType(additionalProperties)}`;
}

/** Returns the last part of `#/types/gatehouse:index:Name`. */
function getLastPart(type: string): string {
  return type.slice(type.lastIndexOf(":") + 1);
}
