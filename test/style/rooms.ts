import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

export type ImportEdge = Readonly<{ from: string; to: string; line: number }>;

export function listSourceFiles(): string[] {
  return globSync("**/*.ts", {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === "dist" || name.startsWith("."),
  })
    .map((path) => path.split(sep).join("/"))
    .toSorted();
}

export function findRoom(path: string): string {
  return path.includes("/") ? (path.split("/")[0] ?? "") : "";
}

const specifier = /(?:\bfrom\s+|\bimport\s*\(\s*|^import\s+)"([^"]+)"/g;

export function readImports(path: string): ImportEdge[] {
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  return lines.flatMap((text, index) =>
    [...text.matchAll(specifier)].map((match) => ({
      from: path,
      to: resolveSpecifier(path, match[1] ?? ""),
      line: index + 1,
    })),
  );
}

function resolveSpecifier(from: string, name: string): string {
  if (name.startsWith("#")) return name.slice(1);
  if (name.startsWith("."))
    return relative(root, resolve(root, dirname(from), name))
      .split(sep)
      .join("/");
  return `npm:${name}`;
}
