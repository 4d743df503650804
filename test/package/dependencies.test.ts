import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../style/rooms.ts";

type LockedPackage = Readonly<{
  license?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  peer?: boolean;
}>;

type Explained = Readonly<{ name: string; why: string; licence: string; script: string }>;

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Readonly<{
  packages: Readonly<Record<string, LockedPackage>>;
}>;

/** What `npm ci --omit=dev --omit=optional --omit=peer` installs; the entry without a path is the project itself. */
const installed = Object.entries(lock.packages)
  .filter(([path, { dev, devOptional, optional, peer }]) => path !== "" && !(dev ?? devOptional ?? optional ?? peer))
  .map(([path, { license = "", hasInstallScript = false }]) => ({
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    licence: license,
    script: hasInstallScript ? "yes" : "no",
  }));

const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
const explained: readonly Explained[] = [...page.matchAll(/^\| `(.+)$/gm)].map(([row]) => {
  const [, name = "", why = "", licence = "", , script = ""] = row.split("|").map((cell) => cell.trim());
  return { name: name.replaceAll("`", ""), why, licence, script };
});

describe("docs/dependencies.md", () => {
  it("explains every package of a production install once, and no other", () => {
    const names = [...new Set(installed.map(({ name }) => name))];
    expect(explained.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect(explained.filter(({ why }) => why.length < 3)).toEqual([]);
    expect(page).toContain(`**${names.length} packages, `);
  });

  it("tells their licences, and which of them run a script when they are installed", () => {
    const told = new Map(explained.map(({ name, licence, script }) => [name, { licence, script }]));
    const wrong = installed.filter(
      ({ name, licence, script }) => told.get(name)?.licence !== licence || told.get(name)?.script !== script,
    );
    expect(wrong).toEqual([]);
  });
});
