import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, root, roomOf, sourceFiles, type ImportEdge } from "./rooms.ts";

/** What a room may import of others: whole rooms, or single files where a room has one public entry. */
const mayImport: Readonly<Record<string, readonly RegExp[]>> = {
  daemon: [/^package\.json$/],
  sidecar: [/^daemon\//],
  facilitator: [/^daemon\//],
  "resource-server": [/^daemon\//, /^facilitator\/facilitator\.ts$/],
  client: [],
  devnet: [/^daemon\//],
  cli: [
    /^daemon\//,
    /^(sidecar|sidecar\/engine-proxy|sidecar\/gateway-alone|sidecar\/restore|sidecar\/volume-snapshot|facilitator|resource-server|devnet|devnet\/\w+)\/(main|settings)\.ts$/,
    // running-node: the stack ends a node that its own `ops` does not end in time.
    /^devnet\/(prepared-node|token\/address|node\/running-node)\.ts$/,
    /^client\/(pay|paying-fetch|exit-status)\.ts$/,
    /^sidecar\/(upkeep\/(plan|lint|resume|adopt)|restore\/restore|volume-snapshot\/volume-snapshot)-command\.ts$/,
    // Where a running sidecar is asked is told by its settings, and by nothing else of the upkeep.
    /^sidecar\/upkeep\/control-places\.ts$/,
  ],
  infra: [
    // mask: no URL in a message shows its password. loopback: what can't be reached from a container is told as the services tell it.
    /^daemon\/(settings[a-z-]*|setting-types|url-authority|version|loopback|mask)\.ts$/,
    /^(sidecar|sidecar\/engine-proxy|sidecar\/restore|sidecar\/volume-snapshot|facilitator|resource-server|devnet|devnet\/\w+)\/settings\.ts$/,
    /^resource-server\/route-problems\.ts$/,
    // Types alone: an alert on a condition, a reason, an outcome or a limit that the sidecar does not have must not compile.
    /^sidecar\/(tell\/condition-reasons|gateway\/observe\/meter)\.ts$/,
    // What an image's tag says of the version is read as the sidecar reads it.
    /^sidecar\/upkeep\/observe\/node-version\.ts$/,
  ],
  policies: [/^sidecar\/upkeep\/(lint\/lint-config|observe\/node-version|plan\/monitor-keys)\.ts$/],
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
