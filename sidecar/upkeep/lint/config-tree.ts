import { findNodeAtLocation, parseTree, type Node } from "jsonc-parser";
import { positionAt, type TextPosition } from "../observe/text-position.ts";

/** A parsed text in which values can be found by path, with their place. */
export type ConfigTree = Readonly<{
  /** The value at a path, and where it stands; undefined when it is not there. */
  find: (path: readonly string[]) => FoundValue | undefined;
  /** Where the value, or the nearest object around it, stands. */
  place: (path: readonly string[]) => TextPosition;
  /** Every property with its path, in the order of the text, duplicates included. */
  properties: () => readonly FoundProperty[];
}>;

export type FoundValue = Readonly<{ value: unknown; position: TextPosition }>;
export type FoundProperty = FoundValue & Readonly<{ path: readonly string[]; key: string; keyPosition: TextPosition }>;

/** Parses JSON or JSON with comments. */
export function configTree(text: string): ConfigTree {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const nodeAt = (path: readonly string[]) => (root === undefined ? undefined : findNodeAtLocation(root, [...path]));
  const place = (path: readonly string[]): TextPosition => {
    const node = nodeAt(path);
    if (node !== undefined) return positionAt(text, node.offset);
    return path.length === 0 ? { line: 1, column: 1 } : place(path.slice(0, -1));
  };
  return {
    place,
    find: (path) => {
      const node = nodeAt(path);
      return node === undefined ? undefined : { value: valueOf(node), position: positionAt(text, node.offset) };
    },
    properties: () => (root === undefined ? [] : collect(text, root, [])),
  };
}

function collect(text: string, node: Node, path: readonly string[]): FoundProperty[] {
  if (node.type === "array") {
    return (node.children ?? []).flatMap((child, index) => collect(text, child, path.concat(String(index))));
  }
  if (node.type !== "object") return [];
  return (node.children ?? []).flatMap((property) => {
    const [key, value] = property.children ?? [];
    if (key === undefined || value === undefined) return [];
    const name = String(key.value);
    const here = path.concat(name);
    const keyPosition = positionAt(text, key.offset);
    const found = {
      path: here,
      key: name,
      value: valueOf(value),
      position: positionAt(text, value.offset),
      keyPosition,
    };
    const inner = collect(text, value, here);
    return [found as FoundProperty].concat(inner);
  });
}

/** Scalars as they are; for objects and arrays only what kind they are, because rules ask no more. */
function valueOf(node: Node): unknown {
  if (node.type === "object") return {};
  if (node.type === "array") return [];
  return node.value as unknown;
}
