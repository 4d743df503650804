import type { ImportEdge } from "./rooms.ts";

export type Floors = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Assigns each import to the deepest directory that contains both paths, between the children that lead to them. */
export function findMinimums(edges: readonly Pick<ImportEdge, "from" | "to">[]): Floors {
  const floors = new Map<string, Map<string, Set<string>>>();
  for (const { from, to } of edges) {
    const a = from.split("/");
    const b = to.split("/");
    let depth = 0;
    while (depth < Math.min(a.length, b.length) - 1 && a[depth] === b[depth]) depth += 1;
    const [importer = "", imported = ""] = [a[depth], b[depth]];
    if (importer === imported) continue;
    const folder = a.slice(0, depth).join("/") || ".";
    const floor = floors.get(folder) ?? new Map<string, Set<string>>();
    floors.set(folder, floor.set(importer, (floor.get(importer) ?? new Set()).add(imported)));
  }
  return floors;
}

/** Finds the children of a directory that import each other, directly or indirectly; each cycle once, sorted. */
export function findCircles(floor: ReadonlyMap<string, ReadonlySet<string>>): readonly string[][] {
  const reached = new Map([...floor.keys()].map((child) => [child, findReachable(floor, child)]));
  const circles = new Map<string, string[]>();
  for (const [child, others] of reached) {
    if (!others.has(child)) continue;
    const circle = [...others].filter((other) => reached.get(other)?.has(child)).toSorted();
    circles.set(circle.join(" "), circle);
  }
  return [...circles.values()];
}

function findReachable(floor: ReadonlyMap<string, ReadonlySet<string>>, child: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const toVisit = [...(floor.get(child) ?? [])];
  for (let next = toVisit.pop(); next !== undefined; next = toVisit.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    toVisit.push(...(floor.get(next) ?? []));
  }
  return reached;
}
