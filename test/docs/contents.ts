import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const root = join(import.meta.dirname, "../..");

export type Entry = Readonly<{ title: string; page: string }>;

export type Part = Readonly<{ title: string; entries: readonly Entry[] }>;

export function readContents(): readonly Part[] {
  const [, ...parts] = readFileSync(join(root, "docs/README.md"), "utf8").split(/^## /m);
  return parts.map((part) => ({
    title: /^.*/.exec(part)?.[0] ?? "",
    entries: [...part.matchAll(/^- \[(.+)\]\((.+\.md)\)/gm)].map(([, title = "", link = ""]) => ({
      title,
      page: posix.join("docs", link),
    })),
  }));
}

export function listPagesBelow(readme: string): readonly Entry[] {
  const folder = posix.dirname(readme);
  return globSync("*.md", { cwd: join(root, folder), exclude: ["README.md"] })
    .toSorted()
    .map((file) => ({ title: readHeading(posix.join(folder, file)), page: posix.join(folder, file) }));
}

function readHeading(page: string): string {
  return /^# (.+)$/m.exec(readFileSync(join(root, page), "utf8"))?.[1] ?? page;
}
