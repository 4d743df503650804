import type { ValueNode } from "@humanwhocodes/momoa";
import { json5Key, json5NodeAt, json5Tree } from "#daemon/files/json5-tree.ts";
import type { TextPosition } from "../conf/text-position.ts";

/** A parsed text in which values can be found by path, with their place. */
export type ConfigTree = Readonly<{
  /** The value at a path, and where it stands; undefined when it is not there. */
  find: (path: readonly string[]) => FoundValue | undefined;
  /** Where the value, or the nearest object around it, stands. */
  place: (path: readonly string[]) => TextPosition;
  /** Every property with its path, in the order of the text, duplicates included. */
  properties: () => readonly FoundProperty[];
  comments: () => readonly FoundComment[];
}>;

export type FoundValue = Readonly<{
  value: unknown;
  /** As it is written. */
  written: string;
  position: TextPosition;
}>;
export type FoundProperty = FoundValue & Readonly<{ path: readonly string[]; key: string; keyPosition: TextPosition }>;
export type FoundComment = Readonly<{ written: string; position: TextPosition }>;

/**
 * Parses JSON, JSON with comments or JSON5, of which the former two are parts. Undefined for what is none, and for the rarest forms of
 * JSON5, such as `+.5` or `true` as a key.
 */
export function configTree(text: string): ConfigTree | undefined {
  const parsed = json5Tree(text);
  if (parsed === undefined) return undefined;
  const { body, tokens = [] } = parsed;
  const written = (node: Readonly<{ loc: ValueNode["loc"] }>) => text.slice(node.loc.start.offset, node.loc.end.offset);
  const found = (node: ValueNode): FoundValue => {
    return { value: valueOf(node), written: written(node), position: placeOf(node) };
  };
  const collect = (node: ValueNode, path: readonly string[]): FoundProperty[] => {
    if (node.type === "Array")
      return node.elements.flatMap(({ value }, index) => collect(value, [...path, `${index}`]));
    if (node.type !== "Object") return [];
    return node.members.flatMap((member) => {
      const key = json5Key(member);
      const here = [...path, key];
      const property = { ...found(member.value), path: here, key, keyPosition: placeOf(member.name) };
      return [property, ...collect(member.value, here)];
    });
  };
  const place = (path: readonly string[]): TextPosition => {
    const node = json5NodeAt(body, path);
    return node === undefined ? place(path.slice(0, -1)) : placeOf(node);
  };
  return {
    place,
    find: (path) => {
      const node = json5NodeAt(body, path);
      return node === undefined ? undefined : found(node);
    },
    properties: () => collect(body, []),
    comments: () =>
      tokens
        .filter(({ type }) => type === "LineComment" || type === "BlockComment")
        .map((token) => ({ written: written(token), position: placeOf(token) })),
  };
}

function placeOf({ loc }: Readonly<{ loc: ValueNode["loc"] }>): TextPosition {
  return { line: loc.start.line, column: loc.start.column };
}

/** Scalars as they are; for objects and arrays only what kind they are, because rules ask no more. */
function valueOf(node: ValueNode): unknown {
  switch (node.type) {
    case "Object":
      return {};
    case "Array":
      return [];
    case "Null":
      return null;
    case "NaN":
      return Number.NaN;
    case "Infinity":
      return node.sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    default:
      return node.value;
  }
}
