import type { ValueNode } from "@humanwhocodes/momoa";
import { readJson5Key, findJson5Node } from "#daemon/files/json5-tree.ts";
import { listComments, parseText, type ParsedText } from "../conf/parsed-text.ts";
import type { TextPosition } from "../conf/problem.ts";

export type ConfigTree = Readonly<{
  /** Returns the value at a path and its position; undefined if there is none. */
  find: (path: readonly string[]) => FoundValue | undefined;
  location: (path: readonly string[]) => TextPosition;
  /** Lists every property with its path, in the order of the text, including duplicates. */
  properties: () => readonly FoundProperty[];
  comments: () => readonly FoundComment[];
}>;

export type FoundValue = Readonly<{
  value: unknown;
  written: string;
  position: TextPosition;
}>;
export type FoundProperty = FoundValue & Readonly<{ path: readonly string[]; key: string; keyPosition: TextPosition }>;
export type FoundComment = Readonly<{ written: string; position: TextPosition }>;

/** Makes a parsed text searchable. For the rare JSON5 forms without known positions, every value is reported at line 1, column 1. */
export function buildConfigTree(parsed: ParsedText): ConfigTree {
  if (parsed.root !== undefined) return createTree(parsed, parsed.root, getPlace);
  const read = parseText(JSON.stringify(parsed.value));
  if (!read.ok || read.parsed.root === undefined) throw new Error("JSON that JSON.stringify wrote can't be parsed");
  return createTree(read.parsed, read.parsed.root, () => ({ line: 1, column: 1 }));
}

type Located = Readonly<{ loc: ValueNode["loc"] }>;

function createTree(parsed: ParsedText, root: ValueNode, placed: (node: Located) => TextPosition): ConfigTree {
  const written = ({ loc }: Located) => parsed.text.slice(loc.start.offset, loc.end.offset);
  const found = (node: ValueNode): FoundValue => {
    return { value: getValue(node), written: written(node), position: placed(node) };
  };
  const collect = (node: ValueNode, path: readonly string[]): FoundProperty[] => {
    if (node.type === "Array")
      return node.elements.flatMap(({ value }, index) => collect(value, [...path, `${index}`]));
    if (node.type !== "Object") return [];
    return node.members.flatMap((member) => {
      const key = readJson5Key(member);
      const here = [...path, key];
      const property = { ...found(member.value), path: here, key, keyPosition: placed(member.name) };
      return [property, ...collect(member.value, here)];
    });
  };
  const location = (path: readonly string[]): TextPosition => {
    const node = findJson5Node(root, path);
    return node === undefined ? location(path.slice(0, -1)) : placed(node);
  };
  return {
    location,
    find: (path) => {
      const node = findJson5Node(root, path);
      return node === undefined ? undefined : found(node);
    },
    properties: () => collect(root, []),
    comments: () => listComments(parsed).map((token) => ({ written: written(token), position: placed(token) })),
  };
}

function getPlace({ loc }: Located): TextPosition {
  return { line: loc.start.line, column: loc.start.column };
}

/** Returns scalars unchanged, but objects and arrays as empty ones, because the rules need no more. */
function getValue(node: ValueNode): unknown {
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
