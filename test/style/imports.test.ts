import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, root, roomOf, sourceFiles, type ImportEdge } from "./rooms.ts";

/** While files move from room to room: the union of the places that they leave and of those that they come to. */
const mayImport: Readonly<Record<string, readonly RegExp[]>> = {
  daemon: [/^package\.json$/],
  x402: [/^facilitator\//],
  node: [/^daemon\//, /^(daemon|sidecar|status|health|gateway|node)\//],
  status: [/^daemon\//, /^(daemon|sidecar|status|health|gateway|node)\//],
  health: [/^(daemon|status)\//, /^(daemon|sidecar|status|health|gateway|node)\//],
  gateway: [
    /^(daemon|status|health)\//,
    /^sidecar\/settings\/node\.ts$/,
    /^(daemon|sidecar|status|health|gateway|node)\//,
  ],
  "engine-proxy": [/^daemon\//, /^(daemon|sidecar|status|health|gateway|node)\//],
  sidecar: [
    /^daemon\//,
    /^(daemon|node|status|health)\//,
    /^gateway\/(guarded-node\.ts|settings\/)/,
    /^(daemon|sidecar|status|health|gateway|node)\//,
  ],
  facilitator: [/^daemon\//, /^(daemon|x402)\//, /^x402\//],
  "resource-server": [/^daemon\//, /^facilitator\/facilitator\.ts$/, /^(daemon|x402)\//],
  client: [/^x402\//],
  devnet: [/^daemon\//],
  policies: [
    /^sidecar\/upkeep\/(lint\/lint-config|observe\/node-version|plan\/monitor-keys)\.ts$/,
    /^node\/(versions|lint\/lint-config|conf\/monitor-keys)\.ts$/,
  ],
  infra: [
    /^daemon\/(settings[a-z-]*|setting-types|url-authority|version|loopback|mask)\.ts$/,
    /^(sidecar|sidecar\/engine-proxy|sidecar\/restore|sidecar\/volume-snapshot|facilitator|resource-server|devnet|devnet\/\w+)\/settings\.ts$/,
    /^resource-server\/route-problems\.ts$/,
    /^sidecar\/(tell\/condition-reasons|gateway\/observe\/meter)\.ts$/,
    /^sidecar\/upkeep\/observe\/node-version\.ts$/,
    /^daemon\/(settings\/[a-z-]+|mask|version|http\/(loopback|url-authority))\.ts$/,
    /^(sidecar|sidecar\/restore|sidecar\/volume-snapshot|engine-proxy|facilitator|resource-server|devnet|devnet\/\w+)\/settings\.ts$/,
    /^resource-server\/routes\/route-problems\.ts$/,
    /^(status\/condition-reasons|gateway\/observe\/meter)\.ts$/,
    /^node\/versions\.ts$/,
    /^(sidecar\/)?(tell|status|gateway)\//,
  ],
  cli: [
    /^daemon\//,
    /^(sidecar|sidecar\/engine-proxy|sidecar\/gateway-alone|sidecar\/restore|sidecar\/volume-snapshot|facilitator|resource-server|devnet|devnet\/\w+)\/(main|settings)\.ts$/,
    /^devnet\/(prepared-node|token\/address|node\/running-node)\.ts$/,
    /^client\/(pay|paying-fetch|exit-status)\.ts$/,
    /^sidecar\/(upkeep\/(plan|lint|resume|adopt)|restore\/restore|volume-snapshot\/volume-snapshot)-command\.ts$/,
    /^sidecar\/upkeep\/control-places\.ts$/,
    /^(sidecar|sidecar\/restore|sidecar\/volume-snapshot|gateway|engine-proxy|facilitator|resource-server|devnet|devnet\/\w+)\/(main|settings)\.ts$/,
    /^node\/lint\/lint-command\.ts$/,
    /^sidecar\/(upkeep\/(plan|control\/(resume|adopt))|restore\/restore|volume-snapshot\/volume-snapshot)-command\.ts$/,
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
