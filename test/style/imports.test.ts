import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, root, roomOf, sourceFiles, type ImportEdge } from "./rooms.ts";

/** What a room may import of others: whole rooms, or single files where a room has one public entry. */
const mayImport: Readonly<Record<string, readonly RegExp[]>> = {
  daemon: [/^package\.json$/],
  x402: [],
  node: [/^daemon\//],
  status: [/^daemon\//],
  health: [/^(daemon|status)\//],
  gateway: [/^(daemon|status|health)\//],
  "engine-proxy": [/^daemon\//],
  sidecar: [/^(daemon|node|status|health)\//, /^gateway\/(guarded-node\.ts|settings\/)/],
  facilitator: [/^(daemon|x402)\//],
  "resource-server": [/^(daemon|x402)\//, /^facilitator\/facilitator\.ts$/],
  client: [/^x402\//],
  devnet: [/^daemon\//],
  policies: [/^node\/(versions|lint\/lint-config|conf\/monitor-keys)\.ts$/],
  infra: [
    // mask: no URL in a message shows its password. loopback: what a container can't reach is recognized as the services recognize it.
    /^daemon\/(settings\/[a-z-]+|mask|version|http\/(loopback|url-authority))\.ts$/,
    /^(sidecar|sidecar\/restore|sidecar\/volume-snapshot|engine-proxy|facilitator|resource-server|devnet|devnet\/\w+)\/settings\.ts$/,
    /^resource-server\/routes\/route-problems\.ts$/,
    // Types alone: an alert on a condition, a reason, an outcome or a limit that does not exist must not compile.
    /^(status\/condition-reasons|gateway\/observe\/meter)\.ts$/,
    // An image's tag is read for the node's version as the sidecar reads it.
    /^node\/versions\.ts$/,
  ],
  cli: [
    /^daemon\//,
    /^(sidecar|sidecar\/restore|sidecar\/volume-snapshot|gateway|engine-proxy|facilitator|resource-server|devnet|devnet\/\w+)\/(main|settings)\.ts$/,
    // running-node: the stack ends a node that its own `ops` does not end in time.
    /^devnet\/(prepared-node|token\/address|node\/running-node)\.ts$/,
    /^client\/(pay|paying-fetch|exit-status)\.ts$/,
    /^node\/lint\/lint-command\.ts$/,
    /^sidecar\/(upkeep\/(plan|control\/(resume|adopt))|restore\/restore|volume-snapshot\/volume-snapshot)-command\.ts$/,
    // The settings say where a running sidecar answers commands; nothing else of the upkeep does.
    /^sidecar\/upkeep\/control\/control-places\.ts$/,
  ],
  test: [/./],
};

const edges = sourceFiles()
  .flatMap(importsOf)
  .filter((edge) => !edge.to.startsWith("npm:"));
const show = (edge: ImportEdge) => `${edge.from}:${edge.line} imports ${edge.to}`;

describe("imports", () => {
  it("cross rooms only where the architecture's table allows it", () => {
    const forbidden = edges.filter((edge) => {
      const room = roomOf(edge.from);
      if (room === "" || room === roomOf(edge.to)) return false;
      return !(mayImport[room] ?? []).some((pattern) => pattern.test(edge.to));
    });
    expect(forbidden.map(show)).toEqual([]);
  });

  it("lead to files that exist", () => {
    expect(edges.filter((edge) => !existsSync(join(root, edge.to))).map(show)).toEqual([]);
  });

  it("make no circle", () => {
    const targets = new Map<string, string[]>();
    for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
    const finished = new Set<string>();
    const circles: string[] = [];
    const walk = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" -> "));
      if (trail.includes(file) || finished.has(file)) return;
      for (const next of targets.get(file) ?? []) walk(next, [...trail, file]);
      finished.add(file);
    };
    for (const file of targets.keys()) walk(file, []);
    expect(circles).toEqual([]);
  });
});
