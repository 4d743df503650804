import { parse, type DocumentNode, type MemberNode, type ValueNode } from "@humanwhocodes/momoa";

/** Parses JSON, JSON with comments or JSON5 with the position of each value. Returns undefined for other text, and for the rarest forms of JSON5. */
function parseJson5Tree(text: string): DocumentNode | undefined {
  try {
    return parse(text, { mode: "json5" });
  } catch {
    // The code that reads the values reports the syntax error.
    return undefined;
  }
}

/** Finds the value at a path; undefined if the path doesn't exist. */
export function findJson5Node(node: ValueNode | undefined, [key, ...rest]: readonly string[]): ValueNode | undefined {
  if (node === undefined || key === undefined) return node;
  if (node.type === "Array") return findJson5Node(node.elements[Number(key)]?.value, rest);
  if (node.type !== "Object") return undefined;
  return findJson5Node(node.members.findLast((member) => readJson5Key(member) === key)?.value, rest);
}

/** Reads a member's key, quoted or not, as it appears in the parsed value. */
export function readJson5Key({ name }: MemberNode): string {
  return name.type === "Identifier" ? name.name : name.value;
}

/** Describes the first key that an object has twice: parsers ignore all its values but the last. */
export function describeDuplicateKey(text: string): string | undefined {
  const tree = parseJson5Tree(text);
  return tree === undefined ? undefined : describeDuplicateKeyIn(tree.body);
}

function describeDuplicateKeyIn(node: ValueNode): string | undefined {
  if (node.type !== "Array" && node.type !== "Object") return undefined;
  const lines = new Map<string, number>();
  for (const part of node.type === "Array" ? node.elements : node.members) {
    if (part.type === "Member") {
      const key = readJson5Key(part);
      const { line, column } = part.name.loc.start;
      const firstLine = lines.get(key);
      if (firstLine !== undefined) {
        return `line ${line}, column ${column}: ${key} appears twice in one object (first on line ${firstLine}); remove one.`;
      }
      lines.set(key, line);
    }
    const found = describeDuplicateKeyIn(part.value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds the line (from 1) of the key or element at a path, or of its nearest existing parent; 1 if the text can't be parsed. */
export function findJson5Line(text: string, path: readonly string[]): number {
  const tree = parseJson5Tree(text);
  if (tree === undefined) return 1;
  for (let length = path.length; length > 0; length -= 1) {
    const parentNode = findJson5Node(tree.body, path.slice(0, length - 1));
    const key = path[length - 1] ?? "";
    const member =
      parentNode?.type === "Object" ? parentNode.members.findLast((each) => readJson5Key(each) === key) : undefined;
    const found = member?.name ?? (parentNode?.type === "Array" ? parentNode.elements[Number(key)] : undefined);
    if (found !== undefined) return found.loc.start.line;
  }
  return tree.body.loc.start.line;
}
